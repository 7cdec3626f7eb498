"""Sequences, steps or variants by one rate: a dot with its interval on one axis, and whether a difference is real. Pure.

The statistics are those of `shared.domain.evidence`: every row is compared with the one of the highest rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.cells import cell_len, set_cell_size

from shared.domain import evidence
from shared.domain.evidence import Rate
from shared.text.formats import show_count, show_rate
from shared.text.sanitize import visible
from tui.model.workspace.board import Board
from tui.theme import drawing, plotting
from tui.theme.palette import Glyphs, Ink, Piece

GROUPINGS = ("sequence", "step", "variant")
RATES = {"replies": "Reply rate", "positive_replies": "Positive rate"}
"""What is compared, by its count."""
REAL, HIGHEST = "real", "highest"
TOO_FEW = "too few sends"
EQUAL = "no measurable difference"
UNKNOWN = "unknown"
HEAD = "Compared with the highest"
NAME, LEAST_NAME, VALUE, SENDS = 60, 16, 14, 9
LEAST_AXIS, ROOM_FOR_MIDDLE = 12, 24


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """A group, its rate, and what can be said of it."""

    key: str
    name: str
    sends: int | None
    rate: Rate | None
    verdict: str
    is_real: bool = False


def named_rates(board: Board, *, grouping: str, count: str) -> list[tuple[str, str, int | None, Rate | None]]:
    """Key, name, sends and rate of every group that the service counts."""
    if grouping == "sequence":
        pairs = [(line.key, line.sequence.label, line.stats) for line in board.sequences]
    else:
        pairs = [(line.key, line.name, line.stats) for line in board.stats.get(grouping, ())]
    return [
        (
            key,
            name,
            row.sends if row else None,
            evidence.rate_of(getattr(row, count), row.sends) if row else None,
        )
        for key, name, row in pairs
    ]


def compare(groups: Iterable[tuple[str, str, int | None, Rate | None]]) -> tuple[ComparedRow, ...]:
    """The highest rate first; groups that have sent too little, and those of which nothing is known, last."""
    known = list(groups)
    able = [rate for _, _, _, rate in known if rate and rate.enough]
    best = max(able, key=lambda rate: rate.share, default=None)
    rows = [_row(key, name, sends, rate, best=best, rivals=able) for key, name, sends, rate in known]
    return tuple(sorted(rows, key=_rank))


def _rank(row: ComparedRow) -> tuple[bool, bool, float, str]:
    enough = row.rate is not None and row.rate.enough
    return not enough, row.rate is None, -row.rate.share if row.rate else 0.0, row.name.casefold()


def _row(
    key: str, name: str, sends: int | None, rate: Rate | None, *, best: Rate | None, rivals: Sequence[Rate]
) -> ComparedRow:
    verdict, is_real = _verdict(rate, best=best, rivals=rivals)
    return ComparedRow(key=key, name=name, sends=sends, rate=rate, verdict=verdict, is_real=is_real)


def _verdict(rate: Rate | None, *, best: Rate | None, rivals: Sequence[Rate]) -> tuple[str, bool]:
    """Whether the distance to the best is real, and of the best, whether it is above all others at once."""
    if rate is None:
        return UNKNOWN, False
    if not rate.enough or best is None:
        return TOO_FEW, False
    if rate is best:
        found = evidence.contest((str(number), one) for number, one in enumerate(rivals))
        if found is None:
            return "nothing to compare with", False
        return (f"{HIGHEST}, {REAL}", True) if found.decided else (_more(found.more), False)
    if evidence.chance_higher(best, rate) >= evidence.SURE:
        return f"{REAL}: lower than the highest", True
    return _more(evidence.more_sends(best, rate)), False


def _more(sends: int | None) -> str:
    return EQUAL if sends is None else f"too early: about {sends:,} more sends"


def draw(
    rows: Sequence[ComparedRow], *, width: int, height: int, glyphs: Glyphs, selected: int = 0
) -> list[list[Piece]]:
    """The rows around the selected one over their common axis, in exactly so many lines."""
    verdict = max([len(HEAD), *(len(row.verdict) for row in rows)]) + 1
    longest = max((cell_len(visible(row.name)) for row in rows), default=0) + 2
    name = max(LEAST_NAME, min(longest, NAME, width - VALUE - LEAST_AXIS - verdict - 3))
    verdict = min(verdict, max(0, width - name - VALUE - LEAST_AXIS - 3))
    sends = SENDS if width >= name + VALUE + SENDS + 2 * LEAST_AXIS + verdict else 0
    verdict = verdict if verdict >= len(TOO_FEW) else 0
    axis = max(4, width - name - VALUE - sends - verdict - 3)
    high = plotting.axis([row.rate.bounds[1] for row in rows if row.rate and row.rate.enough])[1]
    gap = 1 if 2 * len(rows) + 2 <= height else 0
    room = max(1, height - 2)
    first = max(0, min(selected - room // 2, len(rows) - room))
    head: list[Piece] = [
        (" " * (name + 1), Ink.MUTED),
        *drawing.fit([("Rate", Ink.MUTED)], VALUE),
        *(drawing.fit([("Sends ", Ink.MUTED)], sends, right=True) if sends else []),
        (" " * axis, Ink.MUTED),
        (f"  {HEAD}", Ink.MUTED),
    ]
    lines = [head]
    for number, row in enumerate(rows[first : first + room], start=first):
        sign = glyphs.focus if number == selected else " "
        lines.append(
            [
                (sign, Ink.ACCENT),
                *_name(row, name - 1, glyphs=glyphs),
                (" ", Ink.TEXT),
                *drawing.fit([(_value(row, glyphs), Ink.TEXT)], VALUE, more=glyphs.more),
                *(
                    drawing.fit([(f"{show_count(row.sends)} ", Ink.MUTED)], sends, right=True)
                    if sends
                    else []
                ),
                *_interval(row, high=high, columns=axis, glyphs=glyphs),
                ("  ", Ink.TEXT),
                *drawing.fit(
                    [(row.verdict, Ink.ACCENT if row.is_real else Ink.MUTED)], verdict, more=glyphs.more
                ),
            ]
        )
        lines += [[]] * gap
    scale = _scale(high, axis)
    lines.append([(" " * (name + 1 + VALUE + sends), Ink.MUTED), (scale, Ink.MUTED)])
    lines += [[] for _ in range(height - len(lines))]
    return [drawing.fit(line, width, more=glyphs.more) for line in lines[:height]]


def _name(row: ComparedRow, room: int, *, glyphs: Glyphs) -> list[Piece]:
    """Without its middle where it is too long: names differ at the end too."""
    name, ink = visible(row.name), Ink.STRONG if row.is_real else Ink.TEXT
    if cell_len(name) <= room:
        return drawing.fit([(name, ink)], room)
    end = "".join(drawing.cells(name)[-(room // 3) :])
    begin = set_cell_size(name, room - cell_len(end) - cell_len(glyphs.more))
    return drawing.fit([(begin + glyphs.more + end, ink)], room, more=glyphs.more)


def _value(row: ComparedRow, glyphs: Glyphs) -> str:
    if row.rate is None:
        return show_rate(None)
    shown = row.rate.with_margin if row.rate.enough else TOO_FEW
    return shown.replace("±", "+-") if glyphs.ascii else shown


def _interval(row: ComparedRow, *, high: float, columns: int, glyphs: Glyphs) -> list[Piece]:
    """The rate as a dot, and the range that holds the true one in 95 of 100 cases."""
    if row.rate is None or not row.rate.enough:
        return [(glyphs.rest * columns, Ink.FAINT)]

    def place(value: float) -> int:
        return min(columns - 1, max(0, round(value / high * (columns - 1))))

    low, top = map(place, row.rate.bounds)
    at = place(row.rate.share)
    left, right, line, dot = ("[", "]", "-", "o") if glyphs.ascii else ("├", "┤", "─", "●")
    ink = Ink.GOOD if row.is_real else Ink.MUTED
    cells: list[tuple[str, Ink]] = [(" ", Ink.TEXT)] * columns
    cells[low : top + 1] = [(line, ink)] * (top + 1 - low)
    cells[low], cells[top] = (left, ink), (right, ink)
    cells[at] = (dot, ink)
    return [("".join(sign for sign, _ in run), of) for of, run in groupby(cells, key=lambda cell: cell[1])]


def _scale(high: float, columns: int) -> str:
    """`0%`, half and the end of the axis."""
    line = [" "] * columns
    middle = ((high / 2, columns // 2),) if columns >= ROOM_FOR_MIDDLE else ()
    for share, place in ((0.0, 0), *middle, (high, columns)):
        words = f"{share * 100:.3g}%"
        start = min(max(0, place - (len(words) if place == columns else 0)), max(0, columns - len(words)))
        line[start : start + len(words)] = words
    return "".join(line)[:columns]
