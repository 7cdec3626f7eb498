"""Fit the table of a Card into a width: shrink what may shrink, hide what can be spared, break no number.

Pure. In this order, until it fits: titles wrap, bars shorten, long texts are cut with an ellipsis, bars go, and
texts between the first and the last column go, the widest first. What is hidden is named under the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len, set_cell_size

from shared.card import Column, Table, Tone
from shared.plain import visible
from shared.reports import UNKNOWN, bar

GAP = "  "
SHORTEST_TEXT = 12
LONG_BAR, SHORT_BAR = 10, 5
MARKS = {Tone.GOOD: "✓", Tone.WARN: "▲", Tone.BAD: "✗", Tone.UNKNOWN: "?", Tone.INFO: " "}
ASCII_MARKS = {Tone.GOOD: "+", Tone.WARN: "!", Tone.BAD: "x", Tone.UNKNOWN: "?", Tone.INFO: " "}

Cell = str | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a terminal can show: `width` in columns (None: as wide as it gets), and only ASCII or not."""

    width: int | None = None
    ascii: bool = False

    def mark(self, tone: Tone) -> str:
        """The shape that says a tone without colour."""
        return (ASCII_MARKS if self.ascii else MARKS)[tone]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Lines of equal width: those of the heading, then one a row; `hidden` names the columns left out."""

    heading: tuple[str, ...]
    rows: tuple[tuple[Tone, str], ...]
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Strip:
    """One column on its way to a width."""

    column: Column
    cells: tuple[Cell, ...]
    texts: tuple[str, ...]
    width: int

    @property
    def heading(self) -> int:
        """The narrowest its title can be wrapped to."""
        return max(map(cell_len, self.column.title.split()), default=0)

    @property
    def floor(self) -> int:
        """The narrowest it may become: numbers are never cut, texts not below a readable length."""
        content = max(map(cell_len, self.texts), default=0)
        shortest = content if self.column.numeric else min(content, SHORTEST_TEXT)
        return max(self.heading, SHORT_BAR if self.column.bar else shortest)


def lay_out(table: Table, look: Look) -> Grid:
    """The table as lines that fit `look.width`, if anything can make them fit."""
    marked = any(row.tone is not Tone.INFO for row in table.rows)
    width = None if look.width is None else look.width - (2 if marked else 0)
    strips = [_strip(column, [row.cells[i] for row in table.rows]) for i, column in enumerate(table.columns)]
    shown = strips if width is None else _fitted(strips, width)
    margin = "  " if marked else ""
    rows = zip(table.rows, _lines(shown, look), strict=True)
    return Grid(
        heading=tuple(margin + line for line in _heading(shown)),
        rows=tuple((row.tone, (f"{look.mark(row.tone)} " if marked else "") + line) for row, line in rows),
        hidden=tuple(s.column.title for s in strips if s.column not in [k.column for k in shown]),
    )


def number(value: float) -> str:
    """`12,345`, `0.5`: thousands apart, at most one decimal, never an exponent."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _strip(column: Column, cells: Sequence[Cell]) -> _Strip:
    texts = tuple(_text(cell) for cell in cells)
    content = LONG_BAR if column.bar else max(map(cell_len, texts), default=0)
    return _Strip(column=column, cells=tuple(cells), texts=texts, width=max(content, cell_len(column.title)))


def _text(cell: Cell) -> str:
    if cell is None:
        return UNKNOWN
    return visible(cell) if isinstance(cell, str) else number(cell)


def _fitted(strips: Sequence[_Strip], width: int) -> list[_Strip]:
    shown = list(strips)
    for step in (_wrap_titles, _shorten_bars, _shorten_texts):
        if _width(shown) > width:
            shown = step(shown, width)
    for spare in (_a_bar, _a_text):
        while _width(shown) > width and (found := spare(shown)):
            shown.remove(found)
            shown = _shorten_texts([_relaxed(s) for s in shown], width)
    return shown


def _width(strips: Sequence[_Strip]) -> int:
    return sum(s.width for s in strips) + len(GAP) * (len(strips) - 1)


def _relaxed(strip: _Strip) -> _Strip:
    """Back to the width of its content: there is room again, now that another column went."""
    content = SHORT_BAR if strip.column.bar else max(map(cell_len, strip.texts), default=0)
    return replace(strip, width=max(content, strip.heading))


def _wrap_titles(strips: Sequence[_Strip], _width: int) -> list[_Strip]:
    def narrow(strip: _Strip) -> _Strip:
        content = LONG_BAR if strip.column.bar else max(map(cell_len, strip.texts), default=0)
        return replace(strip, width=max(content, strip.heading))

    return [narrow(strip) for strip in strips]


def _shorten_bars(strips: Sequence[_Strip], _width: int) -> list[_Strip]:
    return [replace(s, width=s.floor) if s.column.bar else s for s in strips]


def _shorten_texts(strips: Sequence[_Strip], width: int) -> list[_Strip]:
    """Take from the widest text, one column at a time, so that the short ones stay whole longest."""
    shown = list(strips)
    while _width(shown) > width:
        longest = max(shown, key=lambda s: s.width if s.width > s.floor else 0)
        if longest.width <= longest.floor:
            break
        shown[shown.index(longest)] = replace(longest, width=longest.width - 1)
    return shown


def _a_bar(strips: Sequence[_Strip]) -> _Strip | None:
    return next((s for s in reversed(strips) if s.column.bar), None)


def _a_text(strips: Sequence[_Strip]) -> _Strip | None:
    """The widest text that is neither first nor last: those name the row and say how it stands."""
    return max((s for s in strips[1:-1] if not s.column.numeric), key=lambda s: s.width, default=None)


def _heading(strips: Sequence[_Strip]) -> Iterator[str]:
    titles = [_wrapped(s.column.title, s.width) for s in strips]
    height = max(map(len, titles), default=0)
    for level in range(height):
        lifted = [([""] * (height - len(t)) + t)[level] for t in titles]
        yield _joined(strips, lifted)


def _wrapped(title: str, width: int) -> list[str]:
    lines: list[str] = []
    for word in title.split():
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _lines(strips: Sequence[_Strip], look: Look) -> Iterator[str]:
    height = len(strips[0].texts) if strips else 0
    for row in range(height):
        yield _joined(strips, [_cell(s, row, look) for s in strips])


def _cell(strip: _Strip, row: int, look: Look) -> str:
    value = strip.cells[row]
    if strip.column.bar and isinstance(value, int | float):
        return bar(value, strip.width, ascii=look.ascii)
    return shortened(strip.texts[row], strip.width, ascii_only=look.ascii)


def shortened(text: str, width: int, *, ascii_only: bool = False) -> str:
    """The text in at most `width` columns, with an ellipsis where it was cut."""
    if cell_len(text) <= width:
        return text
    ellipsis = "..." if ascii_only else "…"
    return set_cell_size(text, max(0, width - len(ellipsis))).rstrip() + ellipsis


def _joined(strips: Sequence[_Strip], texts: Sequence[str]) -> str:
    padded = (_padded(t, s.width, right=s.column.numeric) for s, t in zip(strips, texts, strict=True))
    return GAP.join(padded).rstrip()


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - cell_len(text))
    return space + text if right else text + space
