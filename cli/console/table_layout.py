"""Fits a table into a width: shortens texts, hides columns, never breaks numbers.

Pure. In this order, until it fits: titles wrap, bars shorten and long texts are cut with an ellipsis; bars go;
columns move closer; texts between the first and the last column go, the widest first. What is hidden is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from shared.domain.card import Column, Table, Tone
from shared.text import formats
from shared.text.sanitize import visible

SHORTEST_TEXT, SHORTEST_NAME = 12, 32
LONG_BAR, SHORT_BAR = 10, 5
MARKS = {Tone.GOOD: "✓", Tone.WARN: "▲", Tone.BAD: "◆", Tone.UNKNOWN: "?", Tone.INFO: " "}
FAILURE, ASCII_FAILURE = "✗", "x"
"""Of a card that reports a failure, in place of the mark of a bad state."""
ASCII_MARKS = {Tone.GOOD: "+", Tone.WARN: "!", Tone.BAD: "X", Tone.UNKNOWN: "?", Tone.INFO: " "}

Cell = str | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a terminal can show: `width` in columns (None: as wide as it gets), and only ASCII or not."""

    width: int | None = None
    ascii: bool = False
    interactive: bool = False
    """A person looks at it, who may type what comes next."""
    failure: bool = False
    """The card reports a failure."""

    def mark(self, tone: Tone) -> str:
        if self.failure and tone is Tone.BAD:
            return ASCII_FAILURE if self.ascii else FAILURE
        return (ASCII_MARKS if self.ascii else MARKS)[tone]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The lines of the heading, then one line a row; `hidden` names the columns left out."""

    heading: tuple[str, ...]
    rows: tuple[tuple[Tone, str], ...]
    hidden: tuple[str, ...] = ()


class _Column(NamedTuple):
    """A column of the table with its cells as text; widths in terminal columns."""

    column: Column
    cells: Sequence[Cell]
    texts: Sequence[str]
    heading: int
    """The longest word of the title."""
    content: int
    floor: int
    """The narrowest it may become: numbers are never cut, texts not below a readable length."""

    @property
    def wanted(self) -> int:
        return max(LONG_BAR if self.column.bar else self.content, cell_len(self.column.title))


class _Fit(NamedTuple):
    """The columns that are shown, the width of each, and the spaces between them."""

    columns: Sequence[_Column]
    widths: Sequence[int]
    gap: int

    @property
    def width(self) -> int:
        return sum(self.widths) + self.gap * (len(self.widths) - 1)


def lay_out(table: Table, look: Look) -> Grid:
    """The table as lines that fit `look.width`, if anything can make them fit."""
    marked = any(row.tone is not Tone.INFO for row in table.rows)
    columns = [_column(place, column, table) for place, column in enumerate(table.columns)]
    fit = _fitted(columns, None if look.width is None else look.width - 2 * marked)
    lines = [(row.tone, _line(number, fit, look)) for number, row in enumerate(table.rows)]
    return Grid(
        heading=tuple("  " * marked + line for line in _heading(fit)),
        rows=tuple((tone, (f"{look.mark(tone)} " if marked else "") + line) for tone, line in lines),
        hidden=tuple(c.column.title for c in columns if c.column.title and c not in fit.columns),
    )


def _column(place: int, column: Column, table: Table) -> _Column:
    cells = [row.cells[place] for row in table.rows]
    whole = all(float(cell).is_integer() for cell in cells if isinstance(cell, int | float))
    texts = [_text(cell, decimals=0 if whole else 1) for cell in cells]
    heading = max(map(cell_len, column.title.split()), default=0)
    content = SHORT_BAR if column.bar else max(map(cell_len, texts), default=0)
    shortest = content if column.numeric else min(content, SHORTEST_TEXT if place else SHORTEST_NAME)
    return _Column(column, cells, texts, heading, content, floor=max(heading, shortest))


def _text(cell: Cell, *, decimals: int) -> str:
    if cell is None:
        return formats.UNKNOWN
    return visible(cell) if isinstance(cell, str) else f"{cell:,.{decimals}f}"


def _fitted(columns: Sequence[_Column], room: int | None) -> _Fit:
    """The first attempt that fits; when none does, the last with its texts cut as far as their titles."""
    fit = _Fit(columns, [c.wanted for c in columns], 2)
    if room is None or fit.width <= room:
        return fit
    bars = [c for c in reversed(columns) if c.column.bar]
    texts = [c for c in columns[1:-1] if not c.column.numeric and not c.column.bar]
    spared = [*bars, *sorted(texts, key=lambda c: c.content, reverse=True)]
    for gone in range(len(spared) + 1):
        shown = [c for c in columns if c not in spared[:gone]]
        for gap in (2, 1) if gone >= len(bars) else (2,):
            fit = _narrowed(shown, room, gap=gap, floors=[c.floor for c in shown])
            if fit.width <= room:
                return fit
    return _narrowed(shown, room, gap=1, floors=[c.floor if c.column.numeric else c.heading for c in shown])


def _narrowed(columns: Sequence[_Column], room: int, *, gap: int, floors: Sequence[int]) -> _Fit:
    """Take from the widest text, one space at a time, so that the short ones stay whole longest."""
    widths = [max(c.content, c.heading) for c in columns]
    for _ in range(sum(widths) + gap * (len(widths) - 1) - room):
        width, place = max((width * (width > floors[place]), place) for place, width in enumerate(widths))
        if not width:
            break
        widths[place] -= 1
    return _Fit(columns, widths, gap)


def _heading(fit: _Fit) -> Iterator[str]:
    titles = [_wrapped(c.column.title, width) for c, width in zip(fit.columns, fit.widths, strict=True)]
    height = max(map(len, titles), default=0)
    for level in range(height):
        yield _joined(fit, [([""] * (height - len(title)) + title)[level] for title in titles])


def _wrapped(title: str, width: int) -> list[str]:
    lines: list[str] = []
    for word in title.split():
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _line(row: int, fit: _Fit, look: Look) -> str:
    return _joined(
        fit,
        [
            formats.bar(cell, width, ascii=look.ascii)
            if column.column.bar and isinstance(cell := column.cells[row], int | float)
            else shortened(column.texts[row], width, ascii_only=look.ascii)
            for column, width in zip(fit.columns, fit.widths, strict=True)
        ],
    )


def _joined(fit: _Fit, texts: Sequence[str]) -> str:
    """The texts side by side, numbers to the right."""
    padded = []
    for column, width, text in zip(fit.columns, fit.widths, texts, strict=True):
        space = " " * (width - cell_len(text))
        padded.append(space + text if column.column.numeric else text + space)
    return (" " * fit.gap).join(padded).rstrip()


def shortened(text: str, width: int, *, ascii_only: bool = False) -> str:
    """The text in at most `width` columns, with an ellipsis where it was cut."""
    if cell_len(text) <= width:
        return text
    ellipsis = "..." if ascii_only else "…"
    return set_cell_size(text, max(0, width - len(ellipsis))).rstrip() + ellipsis
