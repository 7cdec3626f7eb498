"""Draws the lanes of an incident: a bar for each domain with the signs of what happened, and the same in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from shared.domain.card import Tone
from shared.domain.local_zone import local
from shared.text.formats import show_exact_span
from shared.text.sanitize import visible
from tui.model.incident import SEVERITY, Incident, Lane, LaneState, Segment
from tui.theme.marks import LOOKS, Mark, most_serious
from tui.theme.palette import Ink
from tui.theme.words import REST, Piece, Words

FILLS = {
    LaneState.PAUSED: ("█", Ink.BAD),
    LaneState.RESTING: ("▓", Ink.BAD),
    LaneState.BAD: ("▚", Ink.BAD),
    LaneState.AT_RISK: ("▒", Ink.WARN),
    LaneState.UNKNOWN: ("?", Ink.UNKNOWN),
    LaneState.WARMING: ("╍", Ink.ACCENT),
    LaneState.HEALTHY: ("━", Ink.GOOD),
}
"""Each has a pattern of its own, for screens without colors."""
WORKSPACE = "workspace"
"""The key of the lane of what happened to no domain alone."""
TICK = 12
"""Cells of a time on the axis, and a gap."""
STEPS = tuple(
    timedelta(minutes=minutes) for minutes in (1, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneLine:
    """A lane as a row of a list; `cursor` is the time that is read."""

    lane: Lane
    incident: Incident
    cursor: datetime | None = None

    @property
    def key(self) -> str:
        return self.lane.domain

    @property
    def tone(self) -> Tone:
        return self.lane.worst.tone if self.lane.segments else Tone.UNKNOWN

    @property
    def words(self) -> str:
        return self.lane.domain

    @property
    def now(self) -> Sequence[Piece]:
        """How it stands at the end, and for how long already."""
        if self.key == WORKSPACE:
            return ()
        last = self.lane.segments[-1] if self.lane.segments else None
        if last is None or last.end < self.incident.end:
            return (("not known", Ink.MUTED),)
        # Otherwise it stood so before anything was read.
        began = any(one.end == last.start for one in self.lane.segments)
        lasting = show_exact_span(last.length) if began and last.state is not LaneState.HEALTHY else ""
        ink = Ink.MUTED if last.state is LaneState.HEALTHY else FILLS[last.state][1]
        return ((f"{last.state.value} {lasting}".rstrip(), ink),)

    def bar(self, width: int) -> Sequence[Piece]:
        """A cell shows the worst that was within it, so that no trouble is too short to be seen; a sign stands before it."""
        segments = _by_column(self.lane, self.incident, width)
        marks: dict[int, list[Mark]] = {}
        for one in self.lane.marks:
            marks.setdefault(column_of(one.at, self.incident, width), []).append(one)
        at = column_of(self.cursor, self.incident, width) if self.cursor else -1
        cells: list[Piece] = []
        for x, segment in enumerate(segments):
            if x == at:
                cells.append(("│", Ink.STRONG))
            elif mark := most_serious(marks.get(x, ())):
                cells.append((mark.look.sign, mark.look.ink))
            elif segment is None:
                cells.append((" " if self.key == WORKSPACE else REST, Ink.FAINT))
            else:
                cells.append(FILLS[segment.state])
        return [
            ("".join(text for text, _ in run), ink) for ink, run in groupby(cells, key=lambda one: one[1])
        ]


def lane_lines(incident: Incident, *, cursor: datetime | None = None) -> tuple[LaneLine, ...]:
    """The lane of the workspace where something happened to it, then the domains, those in trouble first."""
    own = (Lane(domain=WORKSPACE, inboxes=0, marks=incident.marks),) if incident.marks else ()
    return tuple(LaneLine(lane=lane, incident=incident, cursor=cursor) for lane in (*own, *incident.lanes))


def column_of(at: datetime, incident: Incident, columns: int) -> int:
    share = (at - incident.start) / max(incident.end - incident.start, timedelta(seconds=1))
    return max(0, min(columns - 1, int(share * columns)))


def _by_column(lane: Lane, incident: Incident, columns: int) -> list[Segment | None]:
    cells: list[Segment | None] = [None] * columns
    for segment in lane.segments:
        first = column_of(segment.start, incident, columns)
        for x in range(first, column_of(segment.end, incident, columns) + 1):
            here = cells[x]
            if here is None or SEVERITY[segment.state] < SEVERITY[here.state]:
                cells[x] = segment
    return cells


def axis(incident: Incident, columns: int) -> str:
    """Round times where they fit, and the end."""
    span = incident.end - incident.start
    form = "%H:%M" if span <= timedelta(hours=36) else "%d %b"
    line = [" "] * columns
    step = next((one for one in STEPS if span / one * TICK <= columns), STEPS[-1])
    end = f"{local(incident.end):%H:%M}"
    at = _round_up(incident.start, step)
    while at < incident.end:
        x, words = column_of(at, incident, columns), f"╵{local(at).strftime(form)}"
        if x + len(words) < columns - len(end) - 1:
            line[x : x + len(words)] = words
        at += step
    line[columns - len(end) :] = end
    return "".join(line)


def _round_up(at: datetime, step: timedelta) -> datetime:
    """The next multiple of a step by the clock of this place."""
    midnight = local(at).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + step * -(-(local(at) - midnight) // step)


def reading(line: LaneLine) -> Words:
    """What the cursor reads: when, how the domain stood, and since when."""
    at = line.cursor
    if at is None:
        return Words()
    segment = line.lane.at(at)
    pieces: list[Piece] = [(f"{_time(at)}  ", Ink.ACCENT), (f"{visible(line.key)} ", Ink.STRONG)]
    if segment is None:
        return Words((*pieces, ("not known", Ink.MUTED)))
    pieces.append((f"{segment.state.value} ", FILLS[segment.state][1]))
    pieces.append((f"since {_time(segment.start)}", Ink.TEXT))
    if segment.state is not LaneState.HEALTHY:
        pieces.append((f", {segment.affected:,} of {line.lane.inboxes:,} inboxes", Ink.TEXT))
    return Words(tuple(pieces))


def happened(line: LaneLine, *, most: int) -> tuple[Words, ...]:
    """What happened on a lane, the newest first."""
    return tuple(
        Words(
            (
                (f"{_time(mark.at)} ", Ink.MUTED),
                (f"{mark.look.sign} ", mark.look.ink),
                (visible(f"{mark.subject} {mark.text}".strip()), Ink.TEXT),
            )
        )
        for mark in list(reversed(line.lane.marks))[:most]
    )


def _time(at: datetime) -> str:
    return f"{local(at):%d %b %H:%M}"


def legend() -> tuple[Words, Words]:
    """The signs with their words."""
    states = [
        piece
        for state, (sign, ink) in FILLS.items()
        for piece in ((sign * 2, ink), (f" {state.value}  ", Ink.MUTED))
    ]
    marks = [
        piece for look in LOOKS.values() for piece in ((look.sign, look.ink), (f" {look.word}  ", Ink.MUTED))
    ]
    return Words(tuple(states)), Words(tuple(marks))
