from __future__ import annotations

from datetime import UTC, datetime

from bot.alerts import rendering
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
