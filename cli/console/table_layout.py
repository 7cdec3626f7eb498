"""Fit the table of a Card into a width: shrink what may shrink, hide what can be spared, break no number.

Pure. In this order, until it fits: titles wrap, bars shorten and long texts are cut with an ellipsis; bars go;
columns move closer; texts between the first and the last column go, the widest first. What is hidden is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len, set_cell_size

from shared.domain.card import Column, Table, Tone
from shared.domain.reports import UNKNOWN
from shared.text.sanitize import visible

SHORTEST_TEXT, SHORTEST_NAME = 12, 32
LONG_BAR, SHORT_BAR = 10, 5
MARKS = {Tone.GOOD: "✓", Tone.WARN: "▲", Tone.BAD: "✗", Tone.UNKNOWN: "?", Tone.INFO: " "}
ASCII_MARKS = {Tone.GOOD: "+", Tone.WARN: "!", Tone.BAD: "x", Tone.UNKNOWN: "?", Tone.INFO: " "}

Cell = str | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a terminal can show: `width` in columns (None: as wide as it gets), and only ASCII or not."""

    width: int | None = None
    ascii: bool = False
    interactive: bool = False
    """A person looks at it, who may type what comes next."""

    def mark(self, tone: Tone) -> str:
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

    place: int
    column: Column
    cells: tuple[Cell, ...]
    texts: tuple[str, ...]
    width: int

    @property
    def heading(self) -> int:
        return max(map(cell_len, self.column.title.split()), default=0)

    @property
    def floor(self) -> int:
        """The narrowest it may become: numbers are never cut, texts not below a readable length."""
        content = max(map(cell_len, self.texts), default=0)
        shortest = (
            content if self.column.numeric else min(content, SHORTEST_TEXT if self.place else SHORTEST_NAME)
        )
        return max(self.heading, SHORT_BAR if self.column.bar else shortest)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    """Columns side by side, so many spaces apart."""

    strips: tuple[_Strip, ...]
    gap: int

    @property
    def width(self) -> int:
        return sum(s.width for s in self.strips) + self.gap * (len(self.strips) - 1)


def lay_out(table: Table, look: Look) -> Grid:
    """The table as lines that fit `look.width`, if anything can make them fit."""
    marked = any(row.tone is not Tone.INFO for row in table.rows)
    width = None if look.width is None else look.width - (2 if marked else 0)
    strips = [_strip(place, column, table) for place, column in enumerate(table.columns)]
    fit = _fitted(strips, width)
    kept = {strip.place for strip in fit.strips}
    margin = "  " if marked else ""
    rows = zip(table.rows, _lines(fit, look), strict=True)
    return Grid(
        heading=tuple(margin + line for line in _heading(fit)),
        rows=tuple((row.tone, (f"{look.mark(row.tone)} " if marked else "") + line) for row, line in rows),
        hidden=tuple(s.column.title for s in strips if s.column.title and s.place not in kept),
    )


def _strip(place: int, column: Column, table: Table) -> _Strip:
    cells = tuple(row.cells[place] for row in table.rows)
    decimals = 0 if all(float(c).is_integer() for c in cells if isinstance(c, int | float)) else 1
    texts = tuple(_text(cell, decimals=decimals) for cell in cells)
    content = LONG_BAR if column.bar else max(map(cell_len, texts), default=0)
    width = max(content, cell_len(column.title))
    return _Strip(place=place, column=column, cells=cells, texts=texts, width=width)


def _text(cell: Cell, *, decimals: int) -> str:
    if cell is None:
        return UNKNOWN
    return visible(cell) if isinstance(cell, str) else f"{cell:,.{decimals}f}"


def _fitted(strips: Sequence[_Strip], width: int | None) -> _Fit:
    """The first attempt that fits; when none does, the last with its texts cut as far as their titles."""
    fit = _Fit(strips=tuple(strips), gap=2)
    if width is None or fit.width <= width:
        return fit
    for gap, spares in _ATTEMPTS:
        fit = _attempt(strips, width, gap=gap, spares=spares)
        if fit.width <= width:
            return fit
    return _shorten_texts(fit, width, floor=lambda s: s.floor if s.column.numeric else s.heading)


def _attempt(strips: Sequence[_Strip], width: int, *, gap: int, spares: Sequence[_Spare]) -> _Fit:
    shown = _Fit(strips=tuple(map(_narrowed, strips)), gap=gap)
    fit = _shorten_texts(shown, width)
    for spare in spares:
        while fit.width > width and (found := spare(shown.strips)):
            shown = replace(shown, strips=tuple(s for s in shown.strips if s.place != found.place))
            fit = _shorten_texts(shown, width)
    return fit


def _narrowed(strip: _Strip) -> _Strip:
    content = SHORT_BAR if strip.column.bar else max(map(cell_len, strip.texts), default=0)
    return replace(strip, width=max(content, strip.heading))


def _shorten_texts(fit: _Fit, width: int, *, floor: Callable[[_Strip], int] = lambda s: s.floor) -> _Fit:
    """Take from the widest text, one column at a time, so that the short ones stay whole longest."""
    shown = list(fit.strips)
    over = fit.width - width
    while over > 0:
        longest = max(shown, key=lambda s: s.width if s.width > floor(s) else 0)
        if longest.width <= floor(longest):
            break
        shown[shown.index(longest)] = replace(longest, width=longest.width - 1)
        over -= 1
    return replace(fit, strips=tuple(shown))


def _a_bar(strips: Sequence[_Strip]) -> _Strip | None:
    return next((s for s in reversed(strips) if s.column.bar), None)


def _a_text(strips: Sequence[_Strip]) -> _Strip | None:
    return max((s for s in strips[1:-1] if not s.column.numeric), key=lambda s: s.width, default=None)


_Spare = Callable[[Sequence[_Strip]], _Strip | None]
_ATTEMPTS: tuple[tuple[int, tuple[_Spare, ...]], ...] = (
    (2, ()),
    (2, (_a_bar,)),
    (1, (_a_bar,)),
    (2, (_a_bar, _a_text)),
    (1, (_a_bar, _a_text)),
)


def _heading(fit: _Fit) -> Iterator[str]:
    titles = [_wrapped(s.column.title, s.width) for s in fit.strips]
    height = max(map(len, titles), default=0)
    for level in range(height):
        lifted = [([""] * (height - len(t)) + t)[level] for t in titles]
        yield _joined(fit, lifted)


def _wrapped(title: str, width: int) -> list[str]:
    lines: list[str] = []
    for word in title.split():
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _lines(fit: _Fit, look: Look) -> Iterator[str]:
    height = len(fit.strips[0].texts) if fit.strips else 0
    for row in range(height):
        yield _joined(fit, [_cell(s, row, look) for s in fit.strips])


def _cell(strip: _Strip, row: int, look: Look) -> str:
    value = strip.cells[row]
    if strip.column.bar and isinstance(value, int | float):
        return bar(value, strip.width, ascii_only=look.ascii)
    return shortened(strip.texts[row], strip.width, ascii_only=look.ascii)


def bar(fraction: float, width: int, *, ascii_only: bool) -> str:
    """A thin line of half columns, so that many rows make no wall."""
    halves = round(max(0.0, min(1.0, fraction)) * width * 2)
    if ascii_only:
        return "=" * (halves // 2)
    return "━" * (halves // 2) + "╸" * (halves % 2)


def shortened(text: str, width: int, *, ascii_only: bool = False) -> str:
    """The text in at most `width` columns, with an ellipsis where it was cut."""
    if cell_len(text) <= width:
        return text
    ellipsis = "..." if ascii_only else "…"
    return set_cell_size(text, max(0, width - len(ellipsis))).rstrip() + ellipsis


def _joined(fit: _Fit, texts: Sequence[str]) -> str:
    padded = (_padded(t, s.width, right=s.column.numeric) for s, t in zip(fit.strips, texts, strict=True))
    return (" " * fit.gap).join(padded).rstrip()


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - cell_len(text))
    return space + text if right else text + space
