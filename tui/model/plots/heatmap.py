"""A heatmap of health: one cell an inbox, grouped by domain, the domains in trouble first. Pure.

The largest layout that fits is taken: domains by name with wide cells, with narrow ones, and at last cells alone, which
hold thousands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from shared.domain.card import Tone
from shared.domain.health import DomainHealth
from shared.text.sanitize import visible
from tui.model.lists.lines import InboxLine
from tui.theme import drawing
from tui.theme.palette import TONE_INK, Glyphs, Ink, Piece

NAME = 22
"""Cells of a domain's name and the gap after it."""
LEAST_ROW = 10
"""Inboxes in a line of a domain, at least, where domains stand in columns."""
GAP = 3
"""Cells between two columns of domains."""
CELLS = (16, 12, 8, 6, 4, 2, 1)
"""Widths of a cell, the gap to the next included."""
WRAPPED = 4
"""Wider cells are for domains whose inboxes stand in one line."""
LEVELS = "▁▂▃▄▅▆▇█"
Place = tuple[int, int]
"""Column and line of a cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A domain and its inboxes, the worst first."""

    domain: DomainHealth
    inboxes: tuple[InboxLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatLayout:
    """Where each inbox is, and each domain's name."""

    cell: int
    places: tuple[Place, ...]
    """Of the inboxes in order."""
    names: tuple[tuple[Place, DomainHealth], ...]
    height: int


def groups_of(inboxes: Sequence[InboxLine], domains: Sequence[DomainHealth]) -> tuple[Group, ...]:
    """In the order of the domains, which is by trouble; inboxes keep theirs, the worst first."""
    found: defaultdict[str, list[InboxLine]] = defaultdict(list)
    for line in inboxes:
        found[line.inbox.domain].append(line)
    return tuple(
        Group(domain=one, inboxes=tuple(found[one.domain])) for one in domains if one.domain in found
    )


def arrange(groups: Sequence[Group], *, width: int, height: int) -> HeatLayout:
    """The largest layout that fits; the smallest where none does, of which a part is shown."""
    sizes = [len(group.inboxes) for group in groups]
    most = max(sizes, default=1)
    for cell in CELLS:
        for columns in range(1, 1 + (width + GAP) // (NAME + min(most, LEAST_ROW) * cell + GAP)):
            each = (width + GAP) // columns - GAP
            in_row = max(1, (each - NAME) // cell)
            if (cell <= WRAPPED or in_row >= most) and _fits(sizes, in_row, columns=columns, height=height):
                return _named(groups, each=each, in_row=in_row, height=height, cell=cell)
    return _compact(groups, width=width)


def _fits(sizes: Sequence[int], in_row: int, *, columns: int, height: int) -> bool:
    column, y = 0, 0
    for size in sizes:
        lines = -(-size // in_row)
        if y and y + lines > height:
            column, y = column + 1, 0
        y += lines
        if column >= columns or y > height:
            return False
    return True


def _named(groups: Sequence[Group], *, each: int, in_row: int, height: int, cell: int) -> HeatLayout:
    """Domains below each other, in columns of so many cells."""
    places: list[Place] = []
    names: list[tuple[Place, DomainHealth]] = []
    x, y, lowest = 0, 0, 0
    for group in groups:
        lines = -(-len(group.inboxes) // in_row)
        if y and y + lines > height:
            x, y = x + each + GAP, 0
        names.append(((x, y), group.domain))
        places += [
            (x + NAME + number % in_row * cell, y + number // in_row) for number in range(len(group.inboxes))
        ]
        y += lines
        lowest = max(lowest, y)
    return HeatLayout(cell=cell, places=tuple(places), names=tuple(names), height=lowest)


def _compact(groups: Sequence[Group], *, width: int) -> HeatLayout:
    """Cells alone, domain after domain, with a blank between two."""
    places: list[Place] = []
    at = 0
    for group in groups:
        places += [(place % width, place // width) for place in range(at, at + len(group.inboxes))]
        at += len(group.inboxes) + 1
    return HeatLayout(cell=1, places=tuple(places), names=(), height=-(-at // width))


def draw(
    groups: Sequence[Group],
    layout: HeatLayout,
    *,
    width: int,
    height: int,
    glyphs: Glyphs,
    selected: int = -1,
) -> list[list[Piece]]:
    """The lines around the selected inbox, in exactly so many."""
    cells: list[tuple[str, Ink]] = [
        _cell(line.inbox.health_score, line.tone, rests=line.inbox.status == "resting", plain=glyphs.ascii)
        for group in groups
        for line in group.inboxes
    ]
    first = 0
    if 0 <= selected < len(cells):
        cells[selected] = ("@" if glyphs.ascii else "▣", Ink.STRONG)
    if layout.height > height and 0 <= selected < len(cells):
        first = max(0, min(layout.places[selected][1] - height // 2, layout.height - height))
    rows: list[list[tuple[str, Ink]]] = [[(" ", Ink.TEXT)] * width for _ in range(height)]
    for (x, y), domain in layout.names:
        if 0 <= y - first < height:
            _write(rows[y - first], x, _name(domain, glyphs))
    shown = layout.cell - (layout.cell > 1)
    for cell, (x, y) in zip(cells, layout.places, strict=True):
        if 0 <= y - first < height:
            rows[y - first][x : x + shown] = [cell] * min(shown, width - x)
    return [_joined(row) for row in rows]


def _name(domain: DomainHealth, glyphs: Glyphs) -> Iterator[tuple[str, Ink]]:
    sign = glyphs.paused if domain.paused else glyphs.of(domain.tone)
    ink = TONE_INK[domain.tone]
    name: list[Piece] = [(f"{sign} ", ink), (visible(domain.domain), Ink.TEXT)]
    for text, piece_ink in drawing.fit(name, NAME - 1, more=glyphs.more):
        yield from ((letter, piece_ink) for letter in drawing.cells(text))


def _write(row: list[tuple[str, Ink]], x: int, cells: Iterator[tuple[str, Ink]]) -> None:
    for number, cell in enumerate(cells):
        if x + number < len(row):
            row[x + number] = cell


@lru_cache(maxsize=4096)
def _cell(score: float | None, tone: Tone, *, rests: bool, plain: bool) -> tuple[str, Ink]:
    """The height or the digit tells the score, the color the verdict, a sign of its own what can't send or isn't known."""
    if rests:
        return ("z" if plain else "░", Ink.STOPPED)
    if score is None:
        return ("?", Ink.UNKNOWN)
    share = min(max(score, 0.0), 99.9) / 100
    return (str(int(share * 10)) if plain else LEVELS[int(share * len(LEVELS))], TONE_INK[tone])


def _joined(row: Sequence[tuple[str, Ink]]) -> list[Piece]:
    return [("".join(sign for sign, _ in run), ink) for ink, run in groupby(row, key=lambda cell: cell[1])]


def legend(glyphs: Glyphs) -> list[Piece]:
    levels = "0-9" if glyphs.ascii else LEVELS
    return [
        (f" {levels}", Ink.GOOD),
        (" health 0 to 100   ", Ink.MUTED),
        ("9" if glyphs.ascii else "█", Ink.GOOD),
        (" healthy ", Ink.MUTED),
        ("6" if glyphs.ascii else "▆", Ink.WARN),
        (" at risk ", Ink.MUTED),
        ("3" if glyphs.ascii else "▃", Ink.BAD),
        (" bad ", Ink.MUTED),
        ("z" if glyphs.ascii else "░", Ink.STOPPED),
        (" resting ", Ink.MUTED),
        ("?", Ink.UNKNOWN),
        (" unknown", Ink.MUTED),
    ]


def beside(places: Sequence[Place], at: int, *, right: int = 0, down: int = 0) -> int:
    """The inbox next to one: along the order, or the nearest in the next line above or below."""
    if not places:
        return -1
    if right:
        return min(max(at + right, 0), len(places) - 1)
    x, y = places[at]
    lines = sorted(
        {place[1] for place in places if (place[1] - y) * down > 0}, key=lambda line: abs(line - y)
    )
    if not lines:
        return at
    near = (number for number, place in enumerate(places) if place[1] == lines[0])
    return min(near, key=lambda number: abs(places[number][0] - x))
