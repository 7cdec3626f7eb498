from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.alerts import interested, kinds, rendering
from bot.alerts.model import Alert, Mark
from bot.blockkit import card_blocks, card_list
from sandbox.slack import blockkit
from shared.api.events import Event, EventLead
from shared.commands.replies import Replies
from shared.domain.card import Button, Card, Chart, Column, Fact, Row, Table, Tone

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_a_note_is_read_back_as_the_card_it_was() -> None:
    card = Card(
        title="Digest",
        tone=Tone.WARN,
        text=("a", "b"),
        facts=(Fact(label="L", value="v", tone=Tone.BAD, at=NOON),),
        table=Table(columns=(Column(title="C", numeric=True),), rows=(Row(cells=(1.5,), tone=Tone.GOOD),)),
        charts=(Chart(title="14 days", labels=("a", "b"), series=(("Sends", (1, None)),), bars=True),),
        buttons=(Button(label="open", action=Replies()),),
        footer="f",
    )
    assert rendering.read_note(rendering.write_note(card)) == card


def in_state(**state: Any) -> Alert:
    lead = EventLead(email="ada@acme.example", first_name="Ada", last_name="Lovelace", company="Acme")
    event = Event(
        kind="reply.interested",
        lead=lead,
        sequence="Q3 founders",
        step=2,
        reply="Yes",
        inbox="sam@mail.example",
    )
    return Alert(id="al_1", event=event, received_at=NOON, **state)


ANN = Mark(name="ann", at=NOON + timedelta(minutes=3))
STATES: dict[str, tuple[dict[str, Any], str, tuple[str, ...], list[str]]] = {
    "open": (
        {},
        "🟢 ",
        (),
        ["Claim", "Assign …", "Not interested …", "Pause sequence", "Mark done", "Snooze until …"],
    ),
    "reminded": (
        {"nudges": 1},
        "🟠 ",
        ("Still unclaimed: a reminder was sent",),
        ["Claim", "Assign …", "Not interested …", "Pause sequence", "Mark done", "Snooze until …"],
    ),
    "claimed": (
        {"claim": ANN},
        "",
        ("✓ Claimed by @ann after 3 min",),
        [
            "Mark done",
            "Remind me in 2 h",
            "Take over",
            "Pause sequence",
            "Release",
            "Assign …",
            "Not interested …",
        ],
    ),
    "snoozed": (
        {"snooze": ANN},
        "",
        ("Snoozed by @ann",),
        ["Claim", "Unsnooze", "Mark done", "Assign …"],
    ),
    "handled": ({"handled": ANN, "claim": ANN}, "", ("✓ Done by @ann after 3 min",), ["Reopen"]),
    "paused": (
        {"claim": ANN, "standing": {"sequence": "paused"}},
        "",
        ("✓ Claimed by @ann after 3 min", "This sequence is paused"),
        [
            "Mark done",
            "Remind me in 2 h",
            "Take over",
            "Resume sequence",
            "Release",
            "Assign …",
            "Not interested …",
        ],
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_icon_text_and_buttons_depend_on_the_alerts_state(state: str) -> None:
    given_state, mark, words, labels = STATES[state]
    card = kinds.card(in_state(**given_state))
    assert card.text == words
    assert [button.label for button in card.buttons] == [*labels, "View lead", "Remove lead …"]
    drawn = card_blocks.render(card).blocks
    title, quote = drawn[0]["elements"]
    assert title["elements"][0]["text"] == f"{mark}Ada Lovelace at Acme is interested"
    assert (quote["type"], quote["elements"][0]["text"]) == ("rich_text_quote", "Yes")
    assert [block["type"] for block in drawn[-2:]] == ["actions", "context"]
    assert "<!date^" in json.dumps(drawn[-1]), "in the zone of whoever reads it"


@pytest.mark.parametrize("letters", [1_499, 1_500, 1_501, 20_000])
def test_a_long_reply_is_cut_between_words_and_says_how_much_is_missing(letters: int) -> None:
    reply = ("word " * letters)[:letters].strip()
    shown, note = interested.excerpt(reply)
    assert len(shown) <= interested.QUOTED
    missing = len(reply) - len(shown.removesuffix("…"))
    assert bool(note) == (missing > 0)
    assert not note or abs(int(note.split()[0].replace(",", "")) - missing) <= 1


@settings(max_examples=25, deadline=None)
@given(
    reply=st.text(max_size=80) | st.text(min_size=1, max_size=30).map(lambda t: t * 400),
    name=st.text(max_size=40) | st.text(min_size=1, max_size=9).map(lambda t: t * 300),
    state=st.sampled_from(list(STATES)),
)
def test_nothing_that_a_lead_writes_breaks_a_limit_in_any_state(reply: str, name: str, state: str) -> None:
    alert = in_state(**STATES[state][0])
    lead = EventLead(email=f"{name}@x.example", first_name=name, company=name)
    event = Event(kind="reply.interested", lead=lead, sequence=name, reply=reply, inbox=name)
    hostile = Alert(id="al_1", event=event, received_at=NOON, claim=alert.claim, snooze=alert.snooze)
    for message in (card_blocks.render(kinds.card(hostile)), card_list.render_line(kinds.condensed(hostile))):
        called = rendering.with_mention(message, "S0SALES")
        assert blockkit.problems(called.blocks) == []
        assert card_blocks.size(called.blocks) <= 13_200
        assert "<!channel>" not in called.text
