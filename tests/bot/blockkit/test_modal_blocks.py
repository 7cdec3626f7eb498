"""What a message shows, a modal shows too, though tables are for messages only."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.blockkit import card_blocks
from bot.interactions import forms
from sandbox.slack import blockkit
from shared.commands.stats import Stats
from shared.domain.card import Button, Card, Column, Row, Table, Tone
from tests.bot.blockkit.test_card_blocks import cards


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(card=cards, items=st.lists(cards, max_size=3))
def test_any_answer_is_a_view_that_slack_takes(card: Card, items: list[Card]) -> None:
    view = forms.answer_view(card, items=items)
    assert blockkit.problems(view["blocks"], surface="modal") == []


def test_a_tables_rows_are_lines_that_say_what_each_figure_is() -> None:
    columns = (Column(title="Group"), Column(title="Sends", numeric=True), Column(title="", bar=True))
    table = Table(columns=columns, rows=(Row(cells=("Spring", 1200, 0.5), tone=Tone.BAD),), total=3)
    card = Card(title="Stats", table=table, buttons=(Button(label="More", action=Stats()),))
    kinds = [block["type"] for block in card_blocks.render_view(card)]
    assert kinds == ["header", "rich_text", "actions"]
    words = [
        piece["text"]
        for section in card_blocks.render_view(card)[1]["elements"]
        for piece in section["elements"]
    ]
    assert words == ["🔴 Spring", "  Sends 1,200\n", "and 2 more"]
