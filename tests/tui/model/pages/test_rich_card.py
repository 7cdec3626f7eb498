"""A card in the dashboard."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from shared.commands.status import Status
from shared.domain.card import Button, Card, Column, Fact, Row, Table, Tone
from tui.model.pages import rich_card
from tui.theme.palette import UNICODE

HOSTILE = "\x1b]0;owned\x07[red]<b>\u202egnp\nx"


def test_a_card_from_outside_is_only_text() -> None:
    card = Card(
        title=HOSTILE,
        tone=Tone.BAD,
        text=(HOSTILE,),
        facts=(Fact(label=HOSTILE, value=HOSTILE, tone=Tone.WARN),),
        quote=HOSTILE,
        table=Table(
            columns=(Column(title=HOSTILE), Column(title="Share", bar=True), Column(title="N", numeric=True)),
            rows=(Row(cells=(HOSTILE, 0.5, 12.0)), Row(cells=(None, None, None))),
            total=9,
        ),
        buttons=(Button(label="x", action=Status()),),
        footer=HOSTILE,
    )
    out = StringIO()
    Console(file=out, width=100, color_system=None).print(rich_card.render(card, glyphs=UNICODE))
    words = out.getvalue()
    assert "\x1b" not in words
    assert "\u202e" not in words
    assert "[red]" in words
    assert "2 of 9 shown" in words
    assert "50.0%" in words
