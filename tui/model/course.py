"""Health over time: evenly spaced values from where they are known, with gaps where nothing was read. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import groupby

from shared.domain.card import Tone
from shared.domain.health import DEFAULT, Thresholds, by_score
from shared.domain.local_zone import local
from shared.frozen import frozen
from shared.records import Sample
from tui.theme.palette import TONE_INK, Ink
from tui.theme.words import BLOCKS, REST, Piece, Words, clock

LEAST_SPAN = timedelta(minutes=10)
GUTTER = 5
"""Cells left of the columns, for the scores."""
Span = tuple[datetime, datetime]


@frozen
class Course:
    """Values over the time that they are known; None where nothing was read."""

    values: tuple[float | None, ...]
    start: datetime
    end: datetime
    thresholds: Thresholds = DEFAULT

    @property
    def lowest(self) -> float:
        """The lower end of the axis: below everything that is shown, and below what is bad."""
        known = [value for value in self.values if value is not None]
        return max(0.0, min((*known, self.thresholds.bad)) // 10 * 10 - 10)


def course_of(
    samples: Sequence[Sample],
    *,
    start: datetime,
    end: datetime,
    points: int,
    covered: Sequence[Span],
    thresholds: Thresholds,
) -> Course | None:
    """Build the values from the first sample, or the first time of reading, on; None where nothing is known."""
    first = next((sample.at for sample in samples if sample.value is not None), None)
    if first is None:
        return None
    if covered and first >= covered[0][0]:
        first = max(first, next((began for began, ended in covered if ended >= first), first))
    # A step before the first value, at which it begins.
    begin = min(max(first, start) - (end - first) / points, end - LEAST_SPAN)
    values = _spread_out(samples, start=begin, end=end, points=points, covered=covered)
    if all(value is None for value in values):
        return None
    return Course(values=values, start=begin, end=end, thresholds=thresholds)


def _spread_out(
    samples: Sequence[Sample], *, start: datetime, end: datetime, points: int, covered: Sequence[Span]
) -> tuple[float | None, ...]:
    """The value at evenly spaced times, each sample holding until the next; None before the first, and in gaps.

    `covered` are the times in which values were read. Values before the first of them were stored without such times.
    """
    step = (end - start) / points
    values: list[float | None] = []
    held: float | None = None
    at = 0
    for number in range(1, points + 1):
        place = end if number == points else start + step * number  # steps are rounded
        while at < len(samples) and samples[at].at <= place:
            held = samples[at].value
            at += 1
        is_covered = (
            not covered
            or place < covered[0][0]
            or any(began <= place and ended > place - step for began, ended in covered)
        )
        values.append(held if is_covered else None)
    return tuple(values)


def draw(course: Course, *, width: int, height: int) -> tuple[Words, ...]:
    """Columns of blocks over an axis of times; the framework's Sparkline knows no gaps, and no thresholds."""
    rows, columns = height - 1, width - GUTTER
    low, of = course.lowest, len(course.values)
    values = [course.values[x * of // columns] for x in range(columns)]
    lines = []
    for y in range(rows):
        label = {0: "100", rows - 1: f"{low:g}"}.get(y, "")
        cells = [_cell(value, y, rows, low, course.thresholds) for value in values]
        runs = [("".join(t for t, _ in run), ink) for ink, run in groupby(cells, key=lambda cell: cell[1])]
        lines.append(Words(((f"{label:>{GUTTER - 1}} ", Ink.MUTED), *runs)))
    first = clock(course.start, now=course.end)
    last = f"{local(course.end):%H:%M}"
    gap = " " * max(1, columns - len(first) - len(last))
    return (*lines, Words.of(" " * GUTTER + first + gap + last, Ink.MUTED))


def _cell(value: float | None, y: int, rows: int, low: float, thresholds: Thresholds) -> Piece:
    if value is None:
        return (REST if y == rows - 1 else " ", Ink.FAINT)
    # An eighth at least: a value at the lower end must not look like a gap.
    eighths = max(1, round((value - low) / (100 - low) * rows * len(BLOCKS)))
    part = eighths - (rows - 1 - y) * len(BLOCKS)
    tone, _, _ = by_score(value, thresholds)
    ink = Ink.ACCENT if tone is Tone.GOOD else TONE_INK[tone]
    return (BLOCKS[min(part, len(BLOCKS)) - 1], ink) if part > 0 else (" ", Ink.FAINT)
