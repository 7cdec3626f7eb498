"""Plots a value over time as a line of braille dots, with round numbers and readable times on the axes. Pure.

Dots of a cell by https://www.unicode.org/charts/PDF/U2800.pdf: two columns of four.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter

from shared.domain.health import Thresholds
from shared.domain.local_zone import local
from shared.history import Sample
from tui.theme import formatting
from tui.theme.marks import Mark, most_serious
from tui.theme.palette import Glyphs, Ink, Piece

GUTTER = 7
"""Cells left of the columns, for the axis."""
ASCII_PARTS = "_:|#"
BRAILLE = 0x2800
DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
"""The bits of a cell's dots, by column, from the lowest."""
HIGH, WIDE = 4, 2
"""Dots of a cell."""
ROOM_OF_DAY = 8
"""Columns of dots that a day needs, to stand apart from the next."""
ROWS_FOR_MARKS = 4
"""A lower plot has no line for marks."""
LEAST_SPAN = timedelta(minutes=10)
BY_THE_HOUR = timedelta(hours=36)
"""An axis up to this long names hours, a longer one days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """How far a plot goes back at most."""

    name: str
    span: timedelta

    @property
    def days(self) -> int:
        return self.span.days


LABEL = 8
"""Cells of the longest time on the axis, and a gap."""
RANGES = (
    Range(name="24 hours", span=timedelta(hours=24)),
    Range(name="14 days", span=timedelta(days=14)),
    Range(name="12 weeks", span=timedelta(weeks=12)),
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
    by_day: bool = False
    """Each value is of a whole day of the service, and stands apart from the next where there is room."""
    marks: tuple[Mark, ...] = ()
    last: str = "now"
    """What the right end of the axis is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotReading:
    """What a plot shows at one place."""

    at: datetime
    value: float | None
    marks: tuple[Mark, ...] = ()


def words_of(plot: Plot, reading: PlotReading) -> str:
    """`Fri 20 Nov 412`, `14:02 73.5`, `Fri 20 Nov unknown`."""
    if plot.by_day:
        at = f"{reading.at:%a %d %b}"
    else:
        at = local(reading.at).strftime("%H:%M" if plot.times == "%H:%M" else "%d %b %H:%M")
    return f"{at}  {_value_words(plot, reading.value)}"


def _value_words(plot: Plot, value: float | None) -> str:
    if value is None:
        return "unknown"
    if plot.share:
        return f"{value * 100:.1f}%"
    return f"{value:.1f}".removesuffix(".0") if value < 1000 else f"{value:,.0f}"


def times_of(span: timedelta) -> str:
    """The format of the times on an axis of this length."""
    return "%H:%M" if span <= BY_THE_HOUR else "%d %b"


def known_from(
    samples: Sequence[Sample], *, start: datetime, covered: Sequence[tuple[datetime, datetime]] = ()
) -> datetime | None:
    """Where an axis begins so that it spans what is known; None where nothing is."""
    first = next((sample.at for sample in samples if sample.value is not None), None)
    if first is None:
        return None
    if covered and first >= covered[0][0]:
        first = max(first, next((began for began, ended in covered if ended >= first), first))
    return max(first, start)


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
        place = end if number == points else start + step * number  # steps are rounded
        while at < len(samples) and samples[at].at <= place:
            held = samples[at].value
            at += 1
        values.append(held if _is_covered(place, step, covered) else None)
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


def draw(
    plot: Plot, *, width: int, height: int, glyphs: Glyphs, cursor: int | None = None
) -> list[list[Piece]]:
    """The plot line by line: over an axis of times, with marks above it; `width`, `height` and `cursor` in cells."""
    has_marks = has_line_of_marks(plot, height)
    rows, columns = max(1, height - 1 - has_marks), max(1, width - GUTTER)
    lines = _lines(plot, rows=rows, columns=columns, glyphs=glyphs, cursor=cursor)
    if has_marks:
        lines.append(_marks(plot, columns, glyphs=glyphs))
    return [*lines, _times(plot, columns)]


def has_line_of_marks(plot: Plot, height: int) -> bool:
    return bool(plot.marks) and height > ROWS_FOR_MARKS


def bands(plot: Plot, *, height: int) -> list[str]:
    """The ground of each line of the plot, by what its values mean: `alarm` is bad, `caution` at risk."""
    rows = max(1, height - 1 - has_line_of_marks(plot, height))
    if plot.judged is None:
        return ["panel"] * rows
    names = {Ink.BAD: "alarm", Ink.WARN: "caution"}
    return [names.get(_ink(plot, _middle(plot, y, rows)), "panel") for y in range(rows)]


def read_at(plot: Plot, column: int, *, columns: int) -> PlotReading:
    """What is under the cursor."""
    of = len(plot.values)
    step = (plot.end - plot.start) / columns
    start = plot.start + step * column
    marks = tuple(mark for mark in plot.marks if _column(plot, mark, columns) == column)
    if not plot.by_day or not of:
        value = plot.values[column * of // columns] if of else None
        return PlotReading(at=start + step, value=value, marks=marks)
    day = min(column * of // columns, of - 1)
    return PlotReading(
        at=plot.start + (plot.end - plot.start) * day / of, value=plot.values[day], marks=marks
    )


def _lines(plot: Plot, *, rows: int, columns: int, glyphs: Glyphs, cursor: int | None) -> list[list[Piece]]:
    levels = _by_column(plot, columns * (1 if glyphs.ascii else WIDE))
    cells = _columns_of(plot, levels, rows=rows) if glyphs.ascii else _braille(plot, levels, rows=rows)
    thresholds = (plot.judged.healthy, plot.judged.bad) if plot.judged else ()
    limits = {_row_of(plot, limit, rows): limit for limit in reversed(thresholds) if limit > plot.low}
    labels = _labels(plot, rows, limits)
    unknown = {at // (1 if glyphs.ascii else WIDE) for at, value in enumerate(levels) if value is None}
    marked = {_column(plot, mark, columns) for mark in plot.marks}
    lines = []
    for y in range(rows):
        row: list[Piece] = []
        for x in range(columns):
            if x == cursor:
                row.append((cells[x, y][0] if (x, y) in cells else "|" if glyphs.ascii else "│", Ink.STRONG))
            elif (x, y) in cells:
                row.append(cells[x, y])
            elif y in limits:
                row.append(("-" if glyphs.ascii else "┄", Ink.FAINT))
            elif x in marked:
                row.append((":" if glyphs.ascii else "┊", Ink.FAINT))
            else:
                row.append((glyphs.rest if y == rows - 1 and x in unknown else " ", Ink.FAINT))
        line: list[Piece] = [(f"{labels.get(y, ''):>{GUTTER - 1}} ", Ink.MUTED)]
        line += [("".join(text for text, _ in run), ink) for ink, run in groupby(row, key=itemgetter(1))]
        lines.append(line)
    return lines


def _by_column(plot: Plot, columns: int) -> list[float | None]:
    """The value at each column, of dots or of cells."""
    of = len(plot.values)
    return [plot.values[at * of // columns] if of else None for at in range(columns)]


def _ends_of_days(plot: Plot, columns: int) -> set[int]:
    """The columns of dots that stay empty between two days, where each has room enough."""
    of = len(plot.values)
    if not plot.by_day or columns < of * ROOM_OF_DAY:
        return set()
    firsts = {-(-columns * day // of) for day in range(1, of)}
    return {first - back for first in firsts for back in range(1, WIDE + 1)}


def _braille(plot: Plot, levels: Sequence[float | None], *, rows: int) -> dict[tuple[int, int], Piece]:
    """The cells through which the line goes; over counts, which begin at nothing, what is below it is filled."""
    bits: dict[tuple[int, int], int] = {}
    inks: dict[tuple[int, int], Ink] = {}
    before: int | None = None
    apart = _ends_of_days(plot, len(levels))
    for x, value in enumerate(levels):
        if value is None or x in apart:
            before = None
            continue
        level = max(0, min(rows * HIGH - 1, round(_fraction(plot, value) * (rows * HIGH - 1))))
        low = 0 if plot.judged is None and not plot.share else level if before is None else min(before, level)
        high = level if before is None else max(before, level)
        for dot in range(low, high + 1):
            place = (x // WIDE, rows - 1 - dot // HIGH)
            bits[place] = bits.get(place, 0) | DOTS[x % WIDE][dot % HIGH]
            own = _ink(plot, value if dot // HIGH == level // HIGH else _middle(plot, place[1], rows))
            inks[place] = min(inks.get(place, own), own, key=WORST.index)
        before = level
    return {place: (chr(BRAILLE + dots), inks[place]) for place, dots in bits.items()}


WORST = (Ink.BAD, Ink.WARN, Ink.GOOD, Ink.ACCENT)
"""A cell that touches two bands has the color of the worse one."""


def _columns_of(plot: Plot, levels: Sequence[float | None], *, rows: int) -> dict[tuple[int, int], Piece]:
    """The same without braille: columns of ASCII."""
    cells: dict[tuple[int, int], Piece] = {}
    for x, value in enumerate(levels):
        if value is None:
            continue
        parts = max(1, min(rows * len(ASCII_PARTS), round(_fraction(plot, value) * rows * len(ASCII_PARTS))))
        full, rest = divmod(parts, len(ASCII_PARTS))
        for row in range(full):
            cells[x, rows - 1 - row] = (":" if rest or row < full - 1 else ASCII_PARTS[-1], _ink(plot, value))
        if rest:
            cells[x, rows - 1 - full] = (ASCII_PARTS[rest - 1], _ink(plot, value))
    return cells


def _fraction(plot: Plot, value: float) -> float:
    return (value - plot.low) / (plot.high - plot.low) if plot.high > plot.low else 0.5


def _middle(plot: Plot, y: int, rows: int) -> float:
    """The value in the middle of a line."""
    return plot.low + (plot.high - plot.low) * (rows - y - 0.5) / rows


def _column(plot: Plot, mark: Mark, columns: int) -> int:
    """Where a mark stands; outside of the axis at -1."""
    if not plot.start <= mark.at <= plot.end or plot.end == plot.start:
        return -1
    return min(columns - 1, int((mark.at - plot.start) / (plot.end - plot.start) * columns))


def _marks(plot: Plot, columns: int, *, glyphs: Glyphs) -> list[Piece]:
    """What happened when; where several things fall into one cell, the most serious."""
    found: dict[int, list[Mark]] = {}
    for mark in plot.marks:
        found.setdefault(_column(plot, mark, columns), []).append(mark)
    row: list[Piece] = []
    for x in range(columns):
        worst = most_serious(found.get(x, ()))
        row.append((worst.sign(glyphs), worst.look.ink) if worst else (" ", Ink.FAINT))
    return [
        (" " * GUTTER, Ink.MUTED),
        *(("".join(t for t, _ in run), ink) for ink, run in groupby(row, key=itemgetter(1))),
    ]


def _ink(plot: Plot, value: float) -> Ink:
    if plot.judged is None:
        return Ink.ACCENT
    if value < plot.judged.bad:
        return Ink.BAD
    return Ink.WARN if value < plot.judged.healthy else Ink.GOOD


def _row_of(plot: Plot, value: float, rows: int) -> int:
    return max(0, rows - 1 - int((value - plot.low) / (plot.high - plot.low) * rows))


def _labels(plot: Plot, rows: int, marks: Mapping[int, float]) -> dict[int, str]:
    """Round values by row; none where nothing is known, and none twice."""
    if all(value is None for value in plot.values):
        return {}
    at = {0: plot.high, rows - 1: plot.low}
    middle = (plot.high + plot.low) / 2
    if rows >= 5 and rows % 2 and not plot.judged and (plot.share or middle == int(middle)):
        at[rows // 2] = middle
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
        at = plot.start + (plot.end - plot.start) * quarter / 4
        label = (at if plot.by_day else local(at)).strftime(plot.times)  # days are the service's
        start = GUTTER + columns * quarter // 4
        line[start : start + len(label)] = label
    line[max(0, GUTTER + columns - len(plot.last)) :] = plot.last
    text = "".join(line)[: GUTTER + columns]
    return [(text[:GUTTER], Ink.MUTED), (text[GUTTER:], Ink.MUTED)]
