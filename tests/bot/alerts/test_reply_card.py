"""The card of a reply in each of its states, as a person can read it: `--snapshot-update` accepts a change."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from bot.alerts import interested, kinds, rendering
from bot.alerts.links import Links
from bot.blockkit import card_blocks
from sandbox.slack import blockkit
from shared.api.events import Event, EventLead
from shared.domain.alert import Alert
from tests.kit.picture import picture

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
REPLY = "Yes, Thursday works.\n\n<!channel> <https://bank.example|a form> *bold*\n\nOn Tue, Sam wrote:\n> Do you have time?\n> Sam"
AT = (NOON + timedelta(minutes=3)).timestamp()
CLAIMED: dict[str, Any] = {"claimed_by": "U1", "claimed_name": "ann", "claimed_at": AT}
DONE: dict[str, Any] = {"handled_name": "ann", "handled_at": AT}
LINK = Links(public_url="https://bot.example.com", secrets=("secret",)).to_mail(
    "al_1", since=NOON.timestamp()
)
STATES: dict[str, dict[str, Any]] = {
    "unclaimed": {},
    "unclaimed, without a public address": {"mail_link": ""},
    "its turn is somebody's": {
        "rota": "sales",
        "owner": "U1",
        "owner_name": "ann",
        "waiting_since": NOON.timestamp(),
    },
    "reminded": {"nudges": 1},
    "escalated, found late, of a workspace": {"nudges": 2, "found": True, "workspace": "emea"},
    "snoozed": {"snoozed_name": "ann", "snoozed_until": (NOON + timedelta(days=1)).timestamp()},
    "claimed": CLAIMED,
    "assigned, with a reminder, sequence paused": {
        **CLAIMED,
        "assigned_name": "ben",
        "snoozed_name": "ann",
        "snoozed_until": (NOON + timedelta(hours=2)).timestamp(),
        "standing": '{"sequence": "paused"}',
    },
    "done": {**CLAIMED, **DONE},
    "not interested": {**DONE, "closed_reason": "no budget"},
}


def alert(kind: str = "reply.interested", **state: Any) -> Alert:
    lead = EventLead(
        email="ada@acme.example", first_name="Ada", last_name="Lovelace", company="Acme", title="CTO"
    )
    event = Event(kind=kind, lead=lead, sequence="Q3 founders", step=2, reply=REPLY, inbox="s@mail.example")
    return Alert(
        **{"id": "al_1", "event": event, "received_at": NOON.timestamp(), "mail_link": LINK, **state}
    )


def shown(message: card_blocks.Message) -> str:
    assert blockkit.problems(message.blocks) == []
    return picture(message.text, message.blocks)


@pytest.mark.parametrize("name", STATES)
def test_a_card_says_who_wrote_who_has_it_what_and_what_can_be_done(
    name: str, snapshot: SnapshotAssertion
) -> None:
    assert shown(card_blocks.render(kinds.card(alert(**STATES[name])))) == snapshot


def test_a_reply_that_is_not_known_to_be_interested(snapshot: SnapshotAssertion) -> None:
    assert shown(card_blocks.render(kinds.card(alert("lead.replied")))) == snapshot


def test_a_bundle_shows_each_reply_with_its_own_state(snapshot: SnapshotAssertion) -> None:
    snoozed = alert(snoozed_name="ann", snoozed_until=AT)
    some = [alert(), alert(**CLAIMED), snoozed, alert(**DONE)]
    cards = [kinds.listed(kinds.card(replace(one, id=f"al_{n}"))) for n, one in enumerate(some)]
    assert shown(card_blocks.render_list(cards)) == snapshot


@pytest.mark.parametrize("name", ["unclaimed", "claimed", "done"])
def test_the_details_show_the_whole_reply_and_every_act(name: str, snapshot: SnapshotAssertion) -> None:
    given_alert = alert(**STATES[name])
    details = interested.details(given_alert)
    assert picture("", card_blocks.render_view(details)) == snapshot
    # Nothing that the card offers is missing.
    offered = {one.label for one in interested.buttons(given_alert) if not one.label.startswith("Details")}
    assert offered <= {one.label for one in details.buttons}


@settings(max_examples=8, deadline=None)
@given(
    reply=st.text(max_size=80) | st.text(min_size=1, max_size=30).map(lambda t: t * 400),
    name=st.text(max_size=40) | st.text(min_size=1, max_size=9).map(lambda t: t * 300),
    state=st.sampled_from(list(STATES)),
)
def test_nothing_that_a_lead_writes_breaks_a_limit_in_any_state(reply: str, name: str, state: str) -> None:
    lead = EventLead(email=f"{name}@x.example", first_name=name, company=name)
    event = Event(kind="reply.interested", lead=lead, sequence=name, reply=reply, inbox=name)
    hostile = replace(alert(**STATES[state]), event=event)
    card = kinds.card(hostile)
    assert hostile.state == "unclaimed" or "@ann" in card.title, "a long name hides nobody"
    for message in (card_blocks.render(card), card_blocks.render_condensed(kinds.condensed(hostile))):
        called = rendering.with_mention(message, "S0SALES")
        assert blockkit.problems(called.blocks) == []
        assert card_blocks.size(called.blocks) <= 13_200
        assert "<!channel>" not in called.text
