"""An answer as a modal. Modals can't have tables, so their rows become lines of text. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.blockkit import card_blocks, card_list, elements, tables
from bot.blockkit.elements import Block
from shared.domain.card import Card
from shared.text.sanitize import visible_lines

ROWS = (40, 20, 10, 5)
"""How many rows are tried, until they fit."""
QUOTE, QUOTES = 2_800, 12
"""Characters of each part of a quote, and how many parts are shown."""


def render(card: Card, *, items: Sequence[Card] = ()) -> list[Block]:
    """The blocks of a view; everything that a message would show."""
    bare = replace(card, table=None, quote="")
    message = card_list.render_with(bare, items) if items else card_blocks.render(bare)
    table = card.table if card.table and card.table.rows else None
    for rows in ROWS if table else ():
        assert table
        with_rows = card_blocks.with_block(message, tables.draw_lines(table, rows=rows, remaining=True))
        if with_rows is not message:
            message = with_rows
            break
    return _with_quote(message.blocks, card.quote)


def _with_quote(blocks: list[Block], quote: str) -> list[Block]:
    """The blocks with all that a view can hold of a quote, above the buttons.

    https://docs.slack.dev/reference/views: 100 blocks.
    """
    text = visible_lines(quote).strip()
    parts = [text[at : at + QUOTE] for at in range(0, len(text), QUOTE)]
    drawn = [
        elements.rich({"type": "rich_text_quote", "elements": [elements.text_element(part)]})
        for part in parts[:QUOTES]
    ]
    rest = sum(map(len, parts[QUOTES:]))
    drawn += (
        [
            elements.rich(
                {
                    "type": "rich_text_section",
                    "elements": [elements.text_element(f"{rest:,} more characters")],
                }
            )
        ]
        if rest
        else []
    )
    at = next((n for n, block in enumerate(blocks) if block["type"] == "actions"), len(blocks))
    return [*blocks[:at], *drawn, *blocks[at:]]
