"""The blocks of every card in each of its states, beside what they were: `--snapshot-update` accepts a change.

A drawing that changes shows as a difference of the file under `__snapshots__`, to be read before it is accepted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from bot.alerts import kinds, notes, reminders, rendering
from bot.blockkit import card_blocks
from bot.blockkit.actions import OnAlert
from bot.blockkit.card_blocks import Message
from bot.commands import canned_replies
from bot.commands.alerts import alert_actions
from bot.slack.permissions import Person, Standing
from sandbox.slack import blockkit
from shared.api.errors import NotFound, Unauthorized
from shared.api.events import Event, EventLead
from shared.commands.errors import error_card
from shared.domain.alert import Alert
from shared.domain.card import Card
from shared.store.alerts import Due
from shared.store.messages import Post

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
REPLY = "Yes, Thursday works.\n\n<!channel> <https://bank.example|a form> *bold*\n-- \nAda"
LEAD = EventLead(email="ada@acme.example", first_name="Ada", company="Acme")
GUS = Person(id="U1", name="gus", is_guest=True)
ADA = Event(
    kind="reply.interested",
    lead=EventLead(email="ada1@acme.example", first_name="Ada 1", company="Acme"),
    sequence="Q3 founders",
    step=2,
    reply="Yes, call me.",
    inbox="sam@mail.example",
)
ROW = Alert(
    id="al_1", workspace="default", kind="reply.interested", received_at=NOON.timestamp(), waiting_since=1.0,
    snoozed_name="ben", event=ADA,
)  # fmt: skip
DUE = Due(alert=ROW, channel="C1", what="remind", mention="S1")
POST = Post(
    id=1, dedupe="", tried_until=None, workspace="default", channel="C1", kind="reminder", alert_id="al_1", note="", bundle="",
    thread_ts="1.0", ts="2.0", version=0, attempts=1, lookups=0, created_at=0.0, condensed=True, mention="S1", alert=ROW,
)  # fmt: skip
SIX = NOON.timestamp() + 360


def reply(**changes: Any) -> Card:
    """An interested reply, and what has become of it."""
    event = Event(
        kind="reply.interested",
        lead=LEAD,
        sequence="Q3 founders",
        step=2,
        reply=REPLY,
        inbox="s@mail.example",
    )
    return kinds.card(replace(Alert(id="al_1", event=event, received_at=NOON.timestamp()), **changes))


def other(kind: str, **fields: Any) -> Card:
    event = Event(kind=kind, lead=LEAD, sequence="Q3 founders", step=2, inbox="s@mail.example", **fields)
    return kinds.card(Alert(id="al_3", event=event, received_at=NOON.timestamp()))


def reminder(what: str, **changes: Any) -> Message:
    """Messages with a mention, before and after the reply is handled."""
    kind = {"remind": "reminder", "escalate": "escalation", "back": "back"}[what]
    note = notes.write_note(reminders.reminder_card(replace(DUE, what=what), now=SIX))
    post = replace(POST, kind=kind, note=note, alert=replace(ROW, **changes))
    return rendering.message([post], several=False)


WHOLE: Mapping[str, Callable[[], Card]] = {
    "out of office": lambda: other("reply.ooo", return_date="2026-12-01", reply="I am away."),
    "bounce": lambda: other("lead.bounced", bounce_type="hard", reason="550 5.1.1"),
    "unknown kind": lambda: other("brand.new"),
    "many wait": lambda: reminders.summary_card([DUE] * 12, now=SIX),
    "until when": lambda: alert_actions.snooze_choices(
        OnAlert(verb="snooze", alert="al_1"), now=NOON, zone=UTC
    ),
    "refused": lambda: Standing(person=GUS).refusal("pause"),
    "key refused": lambda: error_card(
        Unauthorized("The API key is missing or revoked.", status=401, endpoint="GET /sequences"), "ref-1"
    ),
    "gone": lambda: error_card(
        NotFound("No such sequence.", status=404, endpoint="PATCH /sequences"), "ref-2"
    ),
    "greeting": lambda: canned_replies.GREETING,
    "old button": lambda: canned_replies.UNKNOWN,
}
BRIEF: Mapping[str, Callable[[], Message]] = {
    "reminder": lambda: reminder("remind"),
    "escalation": lambda: reminder("escalate"),
    "back from a snooze": lambda: reminder("back"),
    "reminder, claimed": lambda: reminder("remind", waiting_since=None, claimed_at=1.0, claimed_name="ben"),
    "reminder, handled": lambda: reminder("remind", waiting_since=None, handled_at=1.0, handled_name="ben"),
    "reminder, snoozed": lambda: reminder(
        "remind", waiting_since=None, snoozed_until=1.0, snoozed_name="ben"
    ),
    "condensed": lambda: card_blocks.render_condensed(
        kinds.condensed(
            Alert(id="al_1", event=Event(kind="reply.ooo", lead=LEAD), received_at=NOON.timestamp())
        )
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_card_is_drawn_as_it_was(name: str, snapshot: SnapshotAssertion) -> None:
    drawn = card_blocks.render(WHOLE[name]())
    assert blockkit.problems(drawn.blocks) == []
    assert shown(drawn) == snapshot


@pytest.mark.parametrize("name", BRIEF)
def test_a_line_is_drawn_as_it_was(name: str, snapshot: SnapshotAssertion) -> None:
    drawn = BRIEF[name]()
    assert blockkit.problems(drawn.blocks) == []
    assert shown(drawn) == snapshot


def shown(message: Message) -> str:
    """The message as it travels, one block a line."""
    return "\n".join(
        (message.text, *(json.dumps(block, ensure_ascii=False, sort_keys=True) for block in message.blocks))
    )
