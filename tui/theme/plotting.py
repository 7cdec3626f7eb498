"""Plots a value over time as columns of blocks, with round numbers and readable times on the axes. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from shared.domain.health import Thresholds
from shared.domain.local_zone import local
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
    """The range of a plot, and the format of its times."""

    name: str
    span: timedelta
    times: str


LABEL = 8
"""Cells of the longest time on the axis, and a gap."""
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
    """Health is colored by what it means, and its thresholds are drawn."""


def spread_out(
    samples: Sequence[Sample],
    *,
    start: datetime,
    end: datetime,
    points: int,
    covered: Sequence[tuple[datetime, datetime]] = (),
) -> tuple[float | None, ...]:
    """The value at evenly spaced times, each sample holding until the next; None before the first, and in gaps.

    `covered` are the times in which values were read. Values before the first of them were stored without such times.
    """
    step = (end - start) / max(1, points)
    values: list[float | None] = []
    held: float | None = None
    at = 0
    for number in range(1, points + 1):
        while at < len(samples) and samples[at].at <= start + step * number:
            held = samples[at].value
            at += 1
        values.append(held if _is_covered(start + step * number, step, covered) else None)
    return tuple(values)


def _is_covered(at: datetime, step: timedelta, covered: Sequence[tuple[datetime, datetime]]) -> bool:
    """Whether values were read within the step that ends at a time."""
    if not covered or at < covered[0][0]:
        return True
    return any(began <= at and ended > at - step for began, ended in covered)


def share_of(part: Sequence[float | None], whole: Sequence[float | None]) -> tuple[float | None, ...]:
    """Each part by its whole; None where either is unknown, or the whole is nothing."""
    return tuple(p / w if p is not None and w else None for p, w in zip(part, whole, strict=True))


def axis(values: Sequence[float], *, judged: Thresholds | None = None) -> tuple[float, float]:
    """The lowest and the highest value of the axis: from nothing, so that no small change looks large, to a round number.

    Health begins below its thresholds, where nothing is worth telling apart.
    """
    if judged:
        return min(math.floor(min((*values, judged.bad)) / 10) * 10 - 10, 50), 100
    high = max(values, default=0)
    if high <= 0:
        return 0, 1
    step = 10 ** math.floor(math.log10(high)) / 2
    return 0, math.ceil(high / step) * step


def draw(plot: Plot, *, width: int, height: int, glyphs: Glyphs) -> list[list[Piece]]:
    """The plot line by line: the columns over an axis of times; `width` and `height` in cells."""
    rows, columns = max(1, height - 1), max(1, width - GUTTER)
    known = plot.values or (None,)
    values = [known[at * len(known) // columns] for at in range(columns)]
    thresholds = (plot.judged.healthy, plot.judged.bad) if plot.judged else ()
    marks = {_row_of(plot, mark, rows): mark for mark in reversed(thresholds) if mark > plot.low}
    labels = _labels(plot, rows, marks)
    lines = []
    for y in range(rows):
        blank = ("-" if glyphs.ascii else "┄") if y in marks else " "
        cells = (_cell(plot, value, rows - 1 - y, rows=rows, blank=blank, glyphs=glyphs) for value in values)
        line: list[Piece] = [(f"{labels.get(y, ''):>{GUTTER - 1}} ", Ink.MUTED)]
        line += [("".join(text for text, _ in run), ink) for ink, run in groupby(cells, key=itemgetter(1))]
        lines.append(line)
    return [*lines, _times(plot, columns)]


def _cell(plot: Plot, value: float | None, row: int, *, rows: int, blank: str, glyphs: Glyphs) -> Piece:
    """What a column shows in a row, counted from the lowest."""
    if value is None:
        return (blank if row else glyphs.rest, Ink.FAINT)
    parts = ASCII_PARTS if glyphs.ascii else EIGHTHS
    fraction = (value - plot.low) / (plot.high - plot.low) if plot.high > plot.low else 0.5
    level = max(1, min(rows * len(parts), round(fraction * rows * len(parts)))) - row * len(parts)
    if level <= 0:
        return (blank, Ink.FAINT)
    if level > len(parts):
        return (":" if glyphs.ascii else "░", _ink(plot, value))
    return (parts[level - 1], _ink(plot, value))


def _ink(plot: Plot, value: float) -> Ink:
    if plot.judged is None:
        return Ink.ACCENT
    if value < plot.judged.bad:
        return Ink.BAD
    return Ink.WARN if value < plot.judged.healthy else Ink.GOOD


def _row_of(plot: Plot, value: float, rows: int) -> int:
    return rows - 1 - int((value - plot.low) / (plot.high - plot.low) * rows)


def _labels(plot: Plot, rows: int, marks: Mapping[int, float]) -> dict[int, str]:
    """Round values by row; none where nothing is known, and none twice."""
    if all(value is None for value in plot.values):
        return {}
    at = {0: plot.high, rows - 1: plot.low}
    if rows >= 5 and not plot.judged:
        at[rows // 2] = plot.high - (plot.high - plot.low) * (rows // 2) / (rows - 1)
    said: dict[int, str] = {}
    for y, value in (*at.items(), *marks.items()):
        text = f"{value * 100:.1f}%" if plot.share else formatting.short_count(value)
        if y not in said and text not in said.values():
            said[y] = text
    return said


def _times(plot: Plot, columns: int) -> list[Piece]:
    """A time at the left end, at each quarter, or half where these have no room, and now at the right end."""
    line = [" "] * (GUTTER + columns)
    quarters = next((every for every in (1, 2) if columns * every // 4 >= LABEL), 4)
    for quarter in range(0, 4, quarters):
        label = local(plot.start + (plot.end - plot.start) * quarter / 4).strftime(plot.times)
        start = GUTTER + columns * quarter // 4
        line[start : start + len(label)] = label
    line[GUTTER + columns - 3 :] = "now"
    return [("".join(line)[: GUTTER + columns], Ink.MUTED)]
