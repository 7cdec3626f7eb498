"""Several Cards in one message, or one Card in a few lines, within Slack's limits. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from slack_sdk.models.blocks import DividerBlock

from bot.blockkit import elements
from bot.blockkit.card_blocks import (
    FALLBACK,
    MOST_BLOCKS,
    ROW_OF_BUTTONS,
    TOTAL,
    Message,
    actions,
    context,
    escape,
    fallback,
    render,
    row_of,
    size,
)
from bot.blockkit.elements import VALUE, Block, cut, draw_button, rich, value_of
from bot.blockkit.tables import MARKS
from shared.domain.card import Card
from shared.text.sanitize import visible, visible_lines

ITEM_BUTTONS = 2
"""Buttons of an item in a list."""
ITEM_BUTTON = 100
"""Characters of a button in a list, as they travel: `claim al_…` and its label."""


def render_with(card: Card, items: Sequence[Card]) -> Message:
    """The Card, and a paragraph with buttons for each of the items, as many as fit."""
    head = render(card)
    drawn = list(head.blocks)
    for number, item in enumerate(items):
        more = _entry(item, number)
        rest = context(f"and {len(items) - number} more")
        if len(drawn) + len(more) >= MOST_BLOCKS or size([*drawn, *more]) > TOTAL - 200:
            return Message(text=head.text, blocks=[*drawn, *([rest] if rest else [])])
        drawn += more
    return Message(text=head.text, blocks=drawn)


def _entry(item: Card, number: int) -> list[Block]:
    lines = _item(replace(item, buttons=()), number, sizes=_LIST_SIZES[0])
    short = [button for button in item.buttons if len(value_of(button)) <= VALUE]
    drawn = [draw_button(button, n) for n, button in enumerate(short[:ROW_OF_BUTTONS])]
    apart: list[Block] = [DividerBlock().to_dict()] if number else []
    return [*apart, *lines, *([row_of(drawn)] if drawn else [])]


def render_small(card: Card) -> Message:
    """A Card that tells a channel what was done: its title in bold, the rest in a few words; all of its buttons."""
    words = [elements.text_element(cut(visible(card.title).strip(), 150) or "Done", bold=True)]
    for line in filter(None, (cut(visible_lines(text).strip(), 600) for text in card.text)):
        words += elements.rich_elements(f"\n{line}")
    details = " · ".join(
        (
            *(f"{fact.label} {fact.value}" for fact in card.facts),
            *(fact.value for fact in card.details),
            *filter(None, (card.footer,)),
        )
    )
    parts = (
        rich({"type": "rich_text_section", "elements": words}),
        context(details),
        actions(card.buttons),
    )
    small = Message(text=fallback(card), blocks=[part for part in parts if part])
    return small if size(small.blocks) <= TOTAL else render(card)


def render_line(card: Card) -> Message:
    return Message(text=fallback(card), blocks=_item(card, 0, sizes=(120, 400, 0)))


def render_list(cards: Sequence[Card]) -> Message:
    """Many Cards in one message, a paragraph each, with its first buttons."""
    drawn: list[Block] = []
    for sizes in _LIST_SIZES:
        drawn = [block for n, card in enumerate(cards) for block in _item(card, n, sizes=sizes)]
        if size(drawn) <= TOTAL:
            break
    text = f"{len(cards)} alerts: {'; '.join(card.title for card in cards)}"
    return Message(text=escape(cut(visible(text), FALLBACK)), blocks=drawn)


_LIST_SIZES = ((120, 200, 160), (100, 120, 80), (80, 60, 40), (60, 30, 0), (20, 0, 0))
"""Letters of title, facts and quote of an item; the last fits for twenty items of any alphabet."""


def _item(card: Card, number: int, *, sizes: tuple[int, int, int]) -> list[Block]:
    title, details, quoted = sizes
    facts = " · ".join(
        visible(part)
        for part in (*card.text, *(fact.value for fact in (*card.facts, *card.details)[:3]))
        if part
    )
    shown = [
        elements.text_element(MARKS[card.tone] + (cut(visible(card.title).strip(), title) or "…"), bold=True)
    ]
    shown += (
        [elements.text_element(f"\n“{cut(visible(card.quote), quoted)}”")] if card.quote and quoted else []
    )
    shown += elements.rich_elements(f"\n{cut(facts, details)}") if facts and details else []
    item = rich({"type": "rich_text_section", "elements": shown})
    acts = [b for b in card.buttons[:ITEM_BUTTONS] if len(json.dumps((b.label, value_of(b)))) <= ITEM_BUTTON]
    return [
        item,
        *([row_of([draw_button(b, 2 * number + n) for n, b in enumerate(acts)])] if acts else []),
    ]
