"""A Card as a Rich renderable, for the dashboard and for `--once`. Pure.

Everything is plain Text: no markup is parsed; escapes, control and direction characters are removed.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from shared.domain.card import Card, Column, Fact, Table
from shared.text import formats
from shared.text.sanitize import visible, visible_lines
from tui.theme.palette import NIGHT, TONE_INK, UNICODE, Glyphs, Ink, Palette

BAR = 10
"""Cells of a bar in a table."""


def render(card: Card, *, palette: Palette = NIGHT, glyphs: Glyphs = UNICODE) -> RenderableType:
    return Group(*_parts(card, palette, glyphs))


def words(text: str, *, palette: Palette = NIGHT) -> Text:
    """What somebody wrote, line by line."""
    return Text(visible_lines(text), style=palette.text)


def _parts(card: Card, palette: Palette, glyphs: Glyphs) -> Iterator[RenderableType]:
    ink = TONE_INK[card.tone]
    yield Text.assemble(
        (f"{glyphs.of(card.tone)} ", palette.ink(ink)), (visible(card.title), f"bold {palette.strong}")
    )
    for paragraph in card.text:
        yield Text(visible_lines(paragraph), style=palette.text)
    if facts := (*card.facts, *card.details):
        yield Padding(_facts(facts, palette, glyphs), (1, 0, 0, 0))
    if card.quote:
        yield Padding(_quote(card.quote, palette), (1, 0, 0, 0))
    if card.table:
        yield Padding(_table(card.table, palette, glyphs), (1, 0, 0, 0))
    if card.footer:
        yield Text(f"\n{visible_lines(card.footer)}", style=palette.muted)


def _facts(facts: tuple[Fact, ...], palette: Palette, glyphs: Glyphs) -> Grid:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    for fact in facts:
        ink = TONE_INK[fact.tone] if TONE_INK[fact.tone] is not Ink.MUTED else Ink.TEXT
        sign = "" if ink is Ink.TEXT else f"{glyphs.of(fact.tone)} "
        grid.add_row(
            Text(visible(fact.label), style=palette.muted),
            Text(sign + visible_lines(fact.value), style=palette.ink(ink)),
        )
    return grid


def _quote(quote: str, palette: Palette) -> Text:
    lines = visible_lines(quote).split("\n")
    return Text("\n").join(
        Text.assemble(("▎ ", palette.accent), (line, f"italic {palette.text}")) for line in lines
    )


def _table(table: Table, palette: Palette, glyphs: Glyphs) -> RenderableType:
    grid = Grid(
        box=box.ASCII if glyphs.ascii else box.SIMPLE_HEAD,
        border_style=palette.faint,
        header_style=palette.muted,
        pad_edge=False,
        show_edge=False,
    )
    grid.add_column("")
    for column in table.columns:
        grid.add_column(Text(visible(column.title)), justify="right" if column.numeric else "left")
    for row in table.rows:
        sign = Text(glyphs.of(row.tone), style=palette.ink(TONE_INK[row.tone]))
        cells = (
            _cell(value, column, palette, glyphs)
            for value, column in zip(row.cells, table.columns, strict=False)
        )
        grid.add_row(sign, *cells)
    if table.total is None or table.total <= len(table.rows):
        return grid
    rest = Text(f"{len(table.rows):,} of {table.total:,} shown", style=palette.muted)
    return Group(grid, rest)


def _cell(value: str | float | None, column: Column, palette: Palette, glyphs: Glyphs) -> Text:
    if value is None:
        return Text(formats.UNKNOWN, style=palette.unknown)
    if isinstance(value, str):
        return Text(visible(value), style=palette.text)
    if column.bar:
        drawn = formats.bar(value, BAR, ascii=glyphs.ascii)
        return Text.assemble((drawn, palette.good), (f" {formats.show_rate(value)}", palette.text))
    whole = isinstance(value, int) or float(value).is_integer()
    return Text(f"{value:,.0f}" if whole else f"{value:,.2f}", style=palette.text)
