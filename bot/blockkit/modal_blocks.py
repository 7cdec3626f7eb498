"""An answer as a modal shows it: tables and charts stand in messages alone, so they become lines. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bot.blockkit import card_blocks, card_list, charts, elements, plainer
from bot.blockkit.elements import Block, cut
from shared.domain.card import Card, Row, Table
from shared.text.sanitize import visible, visible_lines

ROWS = (40, 20, 10, 5)
"""How many rows are tried, until they fit."""
NAME, DETAILS = 100, 300
QUOTE, QUOTES = 2_800, 12
"""Characters of each part of a quote, and how many parts are shown."""


def render(card: Card, *, items: Sequence[Card] = ()) -> list[Block]:
    """The blocks of a view; everything that a message would show."""
    bare = replace(card, table=None, charts=(), quote="")
    message = card_list.render_with(bare, items) if items else card_blocks.render(bare)
    for rows in ROWS if card.table and card.table.rows else ():
        with_rows = card_blocks.with_block(message, _rows(card.table, rows=rows))
        if with_rows is not message:
            message = with_rows
            break
    shown = [chart for chart in card.charts if not (card.table and chart.bars)]
    for chart in plainer.older_blocks(charts.draw(shown)):
        message = card_blocks.with_block(message, chart)
    return _with_quote(message.blocks, card.quote)


def _with_quote(blocks: list[Block], quote: str) -> list[Block]:
    """The blocks with all that a view can hold of a quote, above the buttons.

    https://docs.slack.dev/reference/views: 100 blocks.
    """
    text = visible_lines(quote).strip()
    parts = [text[at : at + QUOTE] for at in range(0, len(text), QUOTE)]
    drawn = [
        card_blocks.rich({"type": "rich_text_quote", "elements": [elements.text_element(part)]})
        for part in parts[:QUOTES]
    ]
    rest = sum(map(len, parts[QUOTES:]))
    drawn += [card_blocks.rich(_section(elements.text_element(f"{rest:,} more characters")))] if rest else []
    at = next((n for n, block in enumerate(blocks) if block["type"] == "actions"), len(blocks))
    return [*blocks[:at], *drawn, *blocks[at:]]


def _rows(table: Table | None, *, rows: int) -> Block:
    """The first rows, a line each."""
    assert table
    lines = [_line(table, row) for row in table.rows[:rows]]
    remaining = max(table.total or 0, len(table.rows)) - len(lines)
    more = [_section(elements.text_element(f"and {remaining} more"))] if remaining > 0 else []
    return card_blocks.rich(*lines, *more)


def _line(table: Table, row: Row) -> dict[str, Any]:
    """The first cell, and what the others say: figures with what they count."""
    first, *others = zip(table.columns, row.cells, strict=False)
    named = [
        f"{column.title if column.numeric else ''} {card_blocks.shown(cell, bar=False)}".strip()
        for column, cell in others
        if cell is not None and not column.bar
    ]
    name = cut(visible(card_blocks.shown(first[1], bar=False)).strip(), NAME) or "–"
    details = cut(visible(" · ".join(named)), DETAILS)
    return _section(
        elements.text_element(card_blocks.MARKS[row.tone] + name, bold=True),
        *([elements.text_element(f"  {details}\n")] if details else []),
    )


def _section(*words: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text_section", "elements": list(words)}
