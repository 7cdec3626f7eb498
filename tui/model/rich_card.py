"""A card as something to draw, for pages, dialogs and `--once`. Pure.

Nothing of it is parsed as markup; escapes, control and direction characters are removed.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table as Grid

from shared.domain.card import Card, Column, Fact, Table
from shared.text import formats
from shared.text.sanitize import visible, visible_lines
from tui.theme.palette import SIGNS, TONE_INK, Ink
from tui.theme.words import Words, sign_words

EMPTY = Words()
"""An empty line between parts."""


def render(card: Card, *, has_title: bool = True) -> RenderableType:
    return Group(*_parts(card, has_title=has_title))


def paragraph(text: str, ink: Ink = Ink.TEXT) -> Words:
    """Draw what someone wrote, line by line."""
    return Words.of(visible_lines(text), ink, wraps=True)


def _parts(card: Card, *, has_title: bool) -> Iterator[RenderableType]:
    if has_title and card.title:
        yield Words((sign_words(card.tone), (visible(card.title), Ink.STRONG)), wraps=True)
    for text in card.text:
        yield paragraph(text)
    if facts := (*card.facts, *card.details):
        if has_title:
            yield EMPTY
        yield facts_grid(facts)
    if card.quote:
        yield EMPTY
        yield _quote(card.quote)
    if card.table:
        yield EMPTY
        yield _table(card.table)
    if card.footer:
        yield EMPTY
        yield paragraph(card.footer, Ink.MUTED)


def facts_grid(facts: tuple[Fact, ...]) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(overflow="fold")
    for fact in facts:
        ink = Ink.TEXT if TONE_INK[fact.tone] is Ink.MUTED else TONE_INK[fact.tone]
        sign = "" if ink is Ink.TEXT else f"{SIGNS[fact.tone]} "
        value = Words.of(sign + visible_lines(fact.value), ink, wraps=True)
        grid.add_row(Words.of(visible(fact.label), Ink.MUTED), value)
    return grid


def _quote(quote: str) -> Group:
    lines = visible_lines(quote).split("\n")
    return Group(*(Words((("▎ ", Ink.ACCENT), (line, Ink.TEXT)), wraps=True) for line in lines))


def _table(table: Table) -> RenderableType:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    grid.add_column("")
    for column in table.columns:
        grid.add_column(
            Words.of(visible(column.title), Ink.MUTED), justify="right" if column.numeric else "left"
        )
    for row in table.rows:
        cells = (_cell(value, column) for value, column in zip(row.cells, table.columns, strict=False))
        grid.add_row(Words.of(SIGNS[row.tone], TONE_INK[row.tone]), *cells)
    if table.total is None or table.total <= len(table.rows):
        return grid
    return Group(grid, Words.of(f"{len(table.rows):,} of {table.total:,} shown", Ink.MUTED))


def _cell(value: str | float | None, column: Column) -> Words:
    if value is None:
        return Words.of(formats.UNKNOWN, Ink.UNKNOWN)
    if isinstance(value, str):
        return Words.of(visible(value), Ink.TEXT, wraps=True)
    whole = isinstance(value, int) or float(value).is_integer()
    return Words.of(f"{value:,.0f}" if whole else f"{value:,.2f}")
