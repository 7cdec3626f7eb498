"""Draws the lanes of an incident: a bar for each domain, the words in it where they fit, and its marks below. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby

from rich.cells import cell_len

from shared.domain.local_zone import local
from shared.text.formats import show_exact_span
from shared.text.sanitize import visible
from tui.model.plots.incident import SEVERITY, Incident, Lane, LaneState, Segment
from tui.theme import drawing
from tui.theme.marks import LOOKS, Mark, most_serious
from tui.theme.palette import Glyphs, Ink, Piece
from tui.theme.plotting import BY_THE_HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    """How a state is drawn; each has a pattern of its own, for screens without colors."""

    sign: str
    plain: str
    ink: Ink


FILLS = {
    LaneState.PAUSED: Fill(sign="█", plain="#", ink=Ink.STOPPED),
    LaneState.RESTING: Fill(sign="▓", plain="z", ink=Ink.STOPPED),
    LaneState.BAD: Fill(sign="▚", plain="X", ink=Ink.BAD),
    LaneState.AT_RISK: Fill(sign="▒", plain="!", ink=Ink.WARN),
    LaneState.UNKNOWN: Fill(sign="?", plain="?", ink=Ink.UNKNOWN),
    LaneState.WARMING: Fill(sign="╍", plain="~", ink=Ink.ACCENT),
    LaneState.HEALTHY: Fill(sign="━", plain="-", ink=Ink.GOOD),
}
NAME, LEAST_NAME = 30, 16
"""Cells of a domain's name."""
NOW = 19
"""Cells of how it stands at the end."""
ROOM_FOR_NOW = 90
TICK = 12
WORKSPACE = "Workspace"
Row = list[Piece]
Cell = tuple[str, Ink]


@dataclass(frozen=True, slots=True, kw_only=True)
class Widths:
    """Cells of the three columns."""

    name: int
    bar: int
    now: int

    @classmethod
    def of(cls, width: int, incident: Incident | None) -> Widths:
        now = NOW if width >= ROOM_FOR_NOW else 0
        lanes = incident.lanes if incident else ()
        longest = max((cell_len(visible(lane.domain)) for lane in lanes), default=0)
        name = max(LEAST_NAME, min(NAME, width // 4, longest + 2))
        return cls(name=name, bar=max(8, width - name - now - 2), now=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heights:
    """Lines of a bar in trouble, and at most of its marks; whether lanes stand apart."""

    bar: int
    marks: int
    gap: int = 1
    quiet_gap: int = 0

    def of(self, lane: Lane, notes: Sequence[Row]) -> int:
        """Of a lane with its marks; one without trouble and marks is a line."""
        if not lane.troubled_since and not notes:
            return 1 + self.quiet_gap
        bar = self.bar if lane.troubled_since else 1
        return bar + min(len(notes), self.marks) + self.gap


HEIGHTS = (
    Heights(bar=5, marks=3, gap=2, quiet_gap=2),
    Heights(bar=3, marks=3, quiet_gap=1),
    Heights(bar=3, marks=3),
    Heights(bar=2, marks=3),
    Heights(bar=2, marks=2),
    Heights(bar=1, marks=2),
    Heights(bar=1, marks=1),
    Heights(bar=1, marks=1, gap=0),
    Heights(bar=1, marks=0, gap=0),
)
"""The most generous that fits is taken; with the last, lanes scroll."""


def draw(
    incident: Incident,
    *,
    width: int,
    height: int,
    glyphs: Glyphs,
    selected: int = 0,
    cursor: int | None = None,
) -> list[Row]:
    """The lanes around the selected one, the axis of times, and the key of signs, in exactly so many lines."""
    widths, legend = Widths.of(width, incident), _legend(width, glyphs)
    room = max(1, height - 1 - len(legend))
    top = _workspace_lines(incident, widths, room // 4, glyphs=glyphs)
    room -= len(top)
    # The marks of lanes that can't be seen anyway need no place.
    notes = [
        _notes(lane.marks, incident, widths.bar, glyphs=glyphs) for lane in incident.lanes[: max(room, 1)]
    ]
    notes += [[] for _ in incident.lanes[len(notes) :]]
    heights = next((one for one in HEIGHTS if _total(one, incident.lanes, notes) <= room), HEIGHTS[-1])
    first = max(0, min(selected - room // 2, len(incident.lanes) - room)) if heights is HEIGHTS[-1] else 0
    lines: list[Row] = []
    for number, lane in enumerate(incident.lanes[first : first + room], start=first):
        bar = heights.bar if lane.troubled_since else 1
        place = cursor if number == selected else None
        is_selected = number == selected
        lines += _bar_lines(
            lane, incident, widths, lines=bar, glyphs=glyphs, is_selected=is_selected, cursor=place
        )
        lines += [
            [(" " * (widths.name + 1), Ink.TEXT), *row] for row in _fitted(notes[number], heights.marks)
        ]
        lines += [
            [] for _ in range(heights.of(lane, notes[number]) - bar - min(len(notes[number]), heights.marks))
        ]
    axis = _axis(incident, widths, glyphs=glyphs)
    if (hidden := len(incident.lanes) - room) > 0 and heights is HEIGHTS[-1]:
        axis[0] = drawing.fit([(f" {hidden:,} more: up, down", Ink.MUTED)], widths.name + 1)[0]
    body = [*top, *lines][: max(0, height - 1 - len(legend))]
    blank: list[Row] = [[] for _ in range(height - len(body) - 1 - len(legend))]
    return [drawing.fit(row, width, more=glyphs.more) for row in [*body, axis, *blank, *legend][:height]]


def _total(heights: Heights, lanes: Sequence[Lane], notes: Sequence[list[Row]]) -> int:
    return sum(heights.of(lane, found) for lane, found in zip(lanes, notes, strict=True))


def column_of(at: datetime, incident: Incident, columns: int) -> int:
    return min(columns - 1, int((at - incident.start) / (incident.end - incident.start) * columns))


def time_at(column: int, incident: Incident, columns: int) -> datetime:
    return incident.start + (incident.end - incident.start) * (column + 0.5) / columns


def reading_words(incident: Incident, lane: Lane, column: int, columns: int, *, glyphs: Glyphs) -> Row:
    """What the cursor reads: when, how the domain stood and since when, and what happened."""
    at = time_at(column, incident, columns)
    segment = lane.at(at)
    pieces: Row = [(f" {_moment(at, incident)}  ", Ink.ACCENT), (f"{visible(lane.domain)} ", Ink.STRONG)]
    if segment is None:
        pieces.append(("not known", Ink.MUTED))
    else:
        pieces.append((f"{segment.state.value} ", FILLS[segment.state].ink))
        pieces.append((f"since {_moment(segment.start, incident)}", Ink.TEXT))
        if segment.state is not LaneState.HEALTHY:
            pieces.append((f", {segment.affected:,} of {lane.inboxes:,} inboxes", Ink.TEXT))
    for mark in (*lane.marks, *incident.marks):
        if column_of(mark.at, incident, columns) == column:
            pieces += [
                (f"   {mark.sign(glyphs)} ", mark.look.ink),
                (f"{local(mark.at):%H:%M} {_words(mark)}", Ink.TEXT),
            ]
    return pieces


def _words(mark: Mark) -> str:
    return visible(f"{mark.subject} {mark.text}".strip())


def _moment(at: datetime, incident: Incident) -> str:
    within_a_day = local(incident.start).date() == local(incident.end).date()
    return f"{local(at):%H:%M}" if within_a_day else f"{local(at):%d %b %H:%M}"


def _bar_lines(
    lane: Lane,
    incident: Incident,
    widths: Widths,
    *,
    lines: int,
    glyphs: Glyphs,
    is_selected: bool,
    cursor: int | None,
) -> Iterator[Row]:
    middle = (lines - 1) // 2
    for number in range(lines):
        is_middle = number == middle
        yield [
            *_name(lane, widths, glyphs=glyphs, is_selected=is_selected, is_middle=is_middle),
            *_bar(lane, incident, widths.bar, glyphs=glyphs, has_words=is_middle, cursor=cursor),
            *(_now(lane, incident, widths) if is_middle else ()),
        ]


def _name(lane: Lane, widths: Widths, *, glyphs: Glyphs, is_selected: bool, is_middle: bool) -> Row:
    sign: Piece = (glyphs.focus if is_selected else " ", Ink.ACCENT)
    ink = Ink.STRONG if lane.troubled_since else Ink.MUTED
    name: Row = [(visible(lane.domain), ink)] if is_middle else []
    return [sign, *drawing.fit(name, widths.name - 1, more=glyphs.more), (" ", Ink.TEXT)]


def _now(lane: Lane, incident: Incident, widths: Widths) -> Row:
    """How it stands at the end, and for how long already."""
    if not widths.now:
        return []
    last = lane.segments[-1] if lane.segments and lane.segments[-1].end >= incident.end else None
    if last is None:
        return drawing.fit([(" not known", Ink.MUTED)], widths.now)
    began = any(
        one.end == last.start for one in lane.segments
    )  # otherwise it stood so before anything was read
    lasting = show_exact_span(last.length) if began and last.state is not LaneState.HEALTHY else ""
    words = f" {last.state.value} {lasting}".rstrip()
    ink = Ink.MUTED if last.state is LaneState.HEALTHY else FILLS[last.state].ink
    return drawing.fit([(words, ink)], widths.now)


def _bar(
    lane: Lane, incident: Incident, columns: int, *, glyphs: Glyphs, has_words: bool, cursor: int | None
) -> Row:
    """A cell shows the worst that was within it, so that no trouble is too short to be seen."""
    found = _by_column(lane, incident, columns)
    row: Row = []
    x = 0
    for segment, run in groupby(found):
        length = len(list(run))
        row += _run(segment, length, glyphs=glyphs, has_words=has_words)
        x += length
    return row if cursor is None else _with_cursor(row, cursor, glyphs)


def _by_column(lane: Lane, incident: Incident, columns: int) -> list[Segment | None]:
    cells: list[Segment | None] = [None] * columns
    for segment in lane.segments:
        first = column_of(segment.start, incident, columns)
        for x in range(first, column_of(segment.end, incident, columns) + 1):
            here = cells[x]
            if here is None or SEVERITY[segment.state] < SEVERITY[here.state]:
                cells[x] = segment
    return cells


def _run(segment: Segment | None, length: int, *, glyphs: Glyphs, has_words: bool) -> Row:
    if segment is None:
        return [(glyphs.rest * length if has_words else " " * length, Ink.FAINT)]
    fill = FILLS[segment.state]
    sign = fill.plain if glyphs.ascii else fill.sign
    words = f" {segment.state.value} {show_exact_span(segment.length)} "
    if segment.state is LaneState.HEALTHY:
        return [((sign if has_words else " ") * length, fill.ink)]
    if not has_words or length < len(words) + 2:
        return [(sign * length, fill.ink)]
    left = (length - len(words)) // 2
    return [(sign * left, fill.ink), (words, Ink.STRONG), (sign * (length - left - len(words)), fill.ink)]


def _with_cursor(row: Sequence[Piece], cursor: int, glyphs: Glyphs) -> Row:
    cells = _cells_of(list(row))
    if 0 <= cursor < len(cells):
        cells[cursor] = ("|" if glyphs.ascii else "│", Ink.STRONG)
    return _joined(cells)


def _notes(marks: Sequence[Mark], incident: Incident, columns: int, *, glyphs: Glyphs) -> list[Row]:
    """Signs at their times with their words beside them, in as many lines as they need."""
    found: dict[int, list[Mark]] = {}
    for one in marks:
        found.setdefault(column_of(one.at, incident, columns), []).append(one)
    rows: list[list[Cell]] = []
    for x in sorted(found):
        mark = most_serious(found[x]) or found[x][0]
        more = f" (+{len(found[x]) - 1})" if len(found[x]) > 1 else ""
        _place(rows, x, mark, f"{visible(mark.text)}{more}", columns=columns, glyphs=glyphs)
    return [_joined(row) for row in rows]


def _place(rows: list[list[Cell]], x: int, mark: Mark, words: str, *, columns: int, glyphs: Glyphs) -> None:
    """Into the first line with room for the sign and its words, to its right or to its left."""
    sign: Cell = (mark.sign(glyphs), mark.look.ink)
    room, length = max(columns - x, x) - 1, cell_len(words) + 1
    if length > room:
        words = "".join(text for text, _ in drawing.fit([(words, Ink.MUTED)], room - 1, more=glyphs.more))
        length = room
    cells = [(letter, Ink.MUTED) for letter in (*drawing.cells(words),)]
    is_right = x + 1 + length <= columns
    first = x if is_right else max(0, x - length)
    taken = range(max(0, first - 1), min(columns, first + length + 2))
    for row in rows:
        if all(row[at][0] == " " for at in taken):
            break
    else:
        row = [(" ", Ink.TEXT)] * columns
        rows.append(row)
    start = x + 2 if is_right else first
    row[start : start + len(cells)] = cells
    row[x] = sign
    del row[columns:]


def _joined(cells: Sequence[Cell]) -> Row:
    return [("".join(sign for sign, _ in run), ink) for ink, run in groupby(cells, key=lambda cell: cell[1])]


def _fitted(notes: Sequence[Row], most: int) -> Sequence[Row]:
    """The first lines; where that isn't all, the last of them has the signs of all others without words."""
    if not most or len(notes) <= most:
        return notes[:most]
    cells = [_cells_of(row) for row in notes]
    last: list[Cell] = [(" ", Ink.TEXT)] * len(cells[0])
    cells.insert(most - 1, last)
    for row in cells[most:]:
        for at, (sign, ink) in enumerate(row):
            if ink not in {Ink.MUTED, Ink.TEXT}:
                last[at] = (sign, ink)
    return [_joined(row) for row in cells[:most]]


def _cells_of(row: Row) -> list[Cell]:
    return [(sign, ink) for text, ink in row for sign in drawing.cells(text)]


def _workspace_lines(incident: Incident, widths: Widths, most: int, *, glyphs: Glyphs) -> list[Row]:
    """What happened to sequences and the whole workspace, above the lanes."""
    if not incident.marks or not most:
        return []
    marks = [replace(one, text=f"{one.subject} {one.text}") for one in incident.marks]
    notes = _fitted(_notes(marks, incident, widths.bar, glyphs=glyphs), most)
    name = drawing.fit([(f" {WORKSPACE}", Ink.MUTED)], widths.name + 1)
    first, *others = notes
    blank: Piece = (" " * (widths.name + 1), Ink.TEXT)
    return [[*name, *first], *([blank, *row] for row in others), *([[]] if most > 1 else [])]


def _axis(incident: Incident, widths: Widths, *, glyphs: Glyphs) -> Row:
    """Round times where they fit, and the end."""
    span = incident.end - incident.start
    form = "%H:%M" if span <= BY_THE_HOUR else "%d %b"
    line = [" "] * widths.bar
    step = next((one for one in STEPS if span / one * TICK <= widths.bar), STEPS[-1])
    at = _round_up(incident.start, step)
    end = f"{local(incident.end):%H:%M}"
    while at < incident.end:
        x = column_of(at, incident, widths.bar)
        words = ("|" if glyphs.ascii else "╵") + local(at).strftime(form)
        if x + len(words) < widths.bar - len(end) - 1:
            line[x : x + len(words)] = words
        at += step
    line[widths.bar - len(end) :] = end
    return [(" " * (widths.name + 1), Ink.MUTED), ("".join(line), Ink.MUTED)]


STEPS = tuple(
    timedelta(minutes=minutes) for minutes in (1, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10_080)
)


def _round_up(at: datetime, step: timedelta) -> datetime:
    """The next multiple of a step by the clock of this place."""
    midnight = local(at).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + step * -(-(local(at) - midnight) // step)


def _legend(width: int, glyphs: Glyphs) -> list[Row]:
    """The signs with their words: one line, or none where they don't fit."""
    row: Row = [(" ", Ink.TEXT)]
    for state, fill in FILLS.items():
        row += [((fill.plain if glyphs.ascii else fill.sign) * 2, fill.ink), (f" {state.value}  ", Ink.MUTED)]
    row.append((" ", Ink.TEXT))
    for look in LOOKS.values():
        row += [(look.plain if glyphs.ascii else look.sign, look.ink), (f" {look.word}  ", Ink.MUTED)]
    if sum(cell_len(text) for text, _ in row) <= width:
        return [row]
    split = 2 + 2 * len(FILLS)
    parts = [row[:split], [(" ", Ink.TEXT), *row[split:]]]
    return parts if all(sum(cell_len(text) for text, _ in part) <= width for part in parts) else []
