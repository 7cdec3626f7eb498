"""A value over time as columns of blocks, with an axis that has round numbers and times that people say. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from shared.domain.health import DEFAULT, Thresholds
from tui.theme import formatting
from tui.theme.palette import Glyphs, Ink, Piece

if TYPE_CHECKING:
    from shared.history import Sample

GUTTER = 7
"""Cells left of the columns, for the axis."""
EIGHTHS = "▁▂▃▄▅▆▇█"
ASCII_PARTS = "_:|#"


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """How far back a plot goes, and how its times are said."""

    name: str
    span: timedelta
    times: str


RANGES = (
    Range(name="24 hours", span=timedelta(hours=24), times="%H:%M"),
    Range(name="14 days", span=timedelta(days=14), times="%d %b"),
    Range(name="12 weeks", span=timedelta(weeks=12), times="%d %b"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Evenly spaced values, None where nothing is known, and between which values the axis runs."""

    title: str
    values: tuple[float | None, ...]
    start: datetime
    end: datetime
    times: str
    low: float
    high: float
    share: bool = False
    """The values are fractions, shown in per cent."""
    judged: Thresholds | None = None
    """Health is coloured by what it means, and its thresholds are drawn."""

    @property
    def known(self) -> tuple[float, ...]:
        return tuple(value for value in self.values if value is not None)


def spread_out(
    samples: Sequence[Sample], *, start: datetime, end: datetime, points: int
) -> tuple[float | None, ...]:
    """The value at evenly spaced times, each sample holding until the next; None before the first."""
    step = (end - start) / max(1, points)
    values: list[float | None] = []
    held: float | None = None
    at = 0
    for number in range(1, points + 1):
        while at < len(samples) and samples[at].at <= start + step * number:
            held = samples[at].value
            at += 1
        values.append(held)
    return tuple(values)


def share_of(part: Sequence[float | None], whole: Sequence[float | None]) -> tuple[float | None, ...]:
    """Each part by its whole; None where either is unknown, or the whole is nothing."""
    return tuple(p / w if p is not None and w else None for p, w in zip(part, whole, strict=True))


def axis(
    values: Sequence[float], *, health: bool = False, thresholds: Thresholds = DEFAULT
) -> tuple[float, float]:
    """The lowest and the highest value of the axis: from nothing, so that no small change looks large, to a round number.

    Health begins below the thresholds, where nothing is worth telling apart.
    """
    if health:
        return min(math.floor(min((*values, thresholds.bad)) / 10) * 10 - 10, 50), 100
    high = max(values, default=0)
    if high <= 0:
        return 0, 1
    step = 10 ** math.floor(math.log10(high)) / 2
    return 0, math.ceil(high / step) * step


def draw(plot: Plot, *, width: int, height: int, glyphs: Glyphs) -> list[list[Piece]]:
    """The plot line by line: the columns over an axis of times; `width` and `height` in cells."""
    rows, columns = max(1, height - 1), max(1, width - GUTTER)
    parts = ASCII_PARTS if glyphs.ascii else EIGHTHS
    levels = [_level(plot, value, rows * len(parts)) for value in _resample(plot.values, columns)]
    inks = [_ink(plot, value) for value in _resample(plot.values, columns)]
    marks = _marked_rows(plot, rows)
    lines = [
        _row(plot, y, levels, inks, rows=rows, parts=parts, rule=y in marks, glyphs=glyphs)
        for y in range(rows)
    ]
    return [*lines, _times(plot, columns)]


def _resample(values: Sequence[float | None], columns: int) -> list[float | None]:
    return [values[at * len(values) // columns] for at in range(columns)] if values else [None] * columns


def _level(plot: Plot, value: float | None, most: int) -> int | None:
    if value is None:
        return None
    fraction = (value - plot.low) / (plot.high - plot.low) if plot.high > plot.low else 0.5
    return max(1, min(most, round(fraction * most)))


def _ink(plot: Plot, value: float | None) -> Ink:
    if plot.judged is None or value is None:
        return Ink.ACCENT
    if value < plot.judged.bad:
        return Ink.BAD
    return Ink.WARN if value < plot.judged.healthy else Ink.GOOD


def _marked_rows(plot: Plot, rows: int) -> set[int]:
    marks = (plot.judged.healthy, plot.judged.bad) if plot.judged else ()
    return {_row_of(plot, mark, rows) for mark in marks if mark > plot.low}


def _row_of(plot: Plot, value: float, rows: int) -> int:
    return rows - 1 - int((value - plot.low) / (plot.high - plot.low) * rows)


def _row(
    plot: Plot,
    y: int,
    levels: Sequence[int | None],
    inks: Sequence[Ink],
    *,
    rows: int,
    parts: str,
    rule: bool,
    glyphs: Glyphs,
) -> list[Piece]:
    floor = (rows - 1 - y) * len(parts)
    pieces: list[Piece] = [(_label(plot, y, rows), Ink.MUTED)]
    blank = ("-" if glyphs.ascii else "┄") if rule else " "
    for level, ink in zip(levels, inks, strict=True):
        if level is None:
            here: Piece = (glyphs.rest if y == rows - 1 else blank, Ink.FAINT)
        elif level <= floor:
            here = (blank, Ink.FAINT)
        elif level - floor > len(parts):
            here = (":" if glyphs.ascii else "░", ink)
        else:
            here = (parts[level - floor - 1], ink)
        if pieces[-1][1] is here[1] and len(pieces) > 1:
            pieces[-1] = (pieces[-1][0] + here[0], here[1])
        else:
            pieces.append(here)
    return pieces


def _label(plot: Plot, y: int, rows: int) -> str:
    at = {0: plot.high, rows - 1: plot.low}
    if rows >= 5 and not plot.judged:
        at[rows // 2] = plot.high - (plot.high - plot.low) * (rows // 2) / (rows - 1)
    for mark in (plot.judged.healthy, plot.judged.bad) if plot.judged else ():
        at.setdefault(_row_of(plot, mark, rows), mark)
    if y not in at:
        return " " * GUTTER
    value = at[y]
    said = f"{value * 100:.1f} %" if plot.share else formatting.short_count(value)
    return f"{said:>{GUTTER - 1}} "


def _times(plot: Plot, columns: int) -> list[Piece]:
    """A time at the left end, at each quarter, and now at the right end."""
    line = [" "] * (GUTTER + columns)
    for quarter in range(4):
        said = (plot.start + (plot.end - plot.start) * quarter / 4).astimezone().strftime(plot.times)
        start = GUTTER + columns * quarter // 4
        line[start : start + len(said)] = said
    line[GUTTER + columns - 3 :] = "now"
    return [("".join(line)[: GUTTER + columns], Ink.MUTED)]
