"""The state of domains over time, as lanes: rebuilt from the present and from what changed, and drawn. Pure.

A lane has a gap where nothing was read, or where the domain wasn't known: no gap is filled with a guess.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from enum import StrEnum
from itertools import groupby

from shared.api.models import Inbox
from shared.api.words import INBOX_STATUSES
from shared.domain.card import Tone
from shared.domain.health import DEFAULT, Thresholds, by_score
from shared.domain.local_zone import local
from shared.frozen import frozen
from shared.guardrails.rule import subject_key
from shared.records import Transition
from shared.text.formats import show_number, show_span
from shared.text.sanitize import visible
from tui.model.happened import LOOKS, Mark, MarkKind
from tui.theme.palette import TONE_INK, Ink
from tui.theme.words import REST, Piece, Words, day_and_time

Span = tuple[datetime, datetime]
WORKSPACE = "workspace"
"""The key of the lane of what happened to no domain alone."""
TICK_CELLS = 12
"""The room of a time on the axis, and a gap."""
MOST_EVENTS = 8
"""Marks of a lane that are told in words."""
STEPS = tuple(
    timedelta(minutes=minutes) for minutes in (1, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880)
)


class LaneState(StrEnum):
    """The states of a domain, the worst first: paused has all its inboxes at rest, resting some of them."""

    PAUSED = "paused"
    RESTING = "resting"
    BAD = "bad"
    AT_RISK = "at risk"
    UNKNOWN = "unknown"
    WARMING = "warming"
    HEALTHY = "healthy"

    @property
    def ink(self) -> Ink:
        return FILLS[self][1]

    @property
    def tone(self) -> Tone:
        return next((tone for tone, ink in TONE_INK.items() if ink is self.ink), Tone.GOOD)


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
SEVERITY = {state: rank for rank, state in enumerate(LaneState)}
MARK_SEVERITY = {kind: rank for rank, kind in enumerate(MarkKind)}
STOPS = (LaneState.PAUSED, LaneState.RESTING)


@frozen
class Segment:
    """A time in which a domain stood in one way; `affected` is how many of its inboxes did, at most."""

    start: datetime
    end: datetime
    state: LaneState
    affected: int


@frozen
class Lane:
    """A domain over time, the oldest segment first; none where nothing is known."""

    domain: str
    inboxes: int
    segments: tuple[Segment, ...] = ()
    marks: tuple[Mark, ...] = ()

    @property
    def troubled_since(self) -> datetime | None:
        """The time at which it first stood in a way that raises an alarm."""
        return next((segment.start for segment in self.segments if segment.state.tone is Tone.BAD), None)

    @property
    def worst(self) -> LaneState:
        return min(
            (segment.state for segment in self.segments), key=SEVERITY.__getitem__, default=LaneState.UNKNOWN
        )

    def at(self, moment: datetime) -> Segment | None:
        return next(
            (segment for segment in reversed(self.segments) if segment.start <= moment <= segment.end), None
        )


@frozen
class Incident:
    """The lanes of a time, and what happened to no domain alone: sequences, guardrails of the workspace."""

    start: datetime
    end: datetime
    lanes: tuple[Lane, ...] = ()
    marks: tuple[Mark, ...] = ()

    @property
    def summary(self) -> str:
        """`4 of 9 domains affected · 3 paused, the longest for 2 h 10 min · 28 inboxes stopped`."""
        domains = show_number(len(self.lanes), "domain")
        if not self.lanes:
            return "Nothing is known of this time."
        troubled = [lane for lane in self.lanes if lane.troubled_since]
        if not troubled:
            return f"No domain was paused, resting or bad ({domains})."
        parts = [f"{len(troubled):,} of {domains} affected"]
        segments = [segment for lane in troubled for segment in lane.segments]
        if pauses := [
            segment.end - segment.start for segment in segments if segment.state is LaneState.PAUSED
        ]:
            number = sum(lane.worst is LaneState.PAUSED for lane in troubled)
            longest = ", the longest" if len(pauses) > 1 else ""
            parts.append(f"{number:,} paused{longest} for {show_span(max(pauses))}")
        stopped = [
            [segment.affected for segment in lane.segments if segment.state in STOPS] for lane in troubled
        ]
        if number := sum(max(affected, default=0) for affected in stopped):
            parts.append(f"{show_number(number, 'inbox')} stopped")
        return " · ".join(parts)

    def with_marks(self, marks: Iterable[Mark]) -> Incident:
        """Each mark on the lane of its domain; those of sequences and of the whole workspace on their own."""
        of_domain: dict[str, list[Mark]] = {subject_key(lane.domain): [] for lane in self.lanes}
        others: list[Mark] = []
        for mark in marks:
            if self.start <= mark.at <= self.end:
                # The mark of an inbox stands on the lane of its domain.
                of_domain.get(subject_key(mark.about).rpartition("@")[2], others).append(mark)
        lanes = (replace(lane, marks=tuple(of_domain[subject_key(lane.domain)])) for lane in self.lanes)
        return replace(self, lanes=tuple(lanes), marks=tuple(others))

    def column_of(self, at: datetime, columns: int) -> int:
        """The cell of a time on a bar of so many cells."""
        share = (at - self.start) / (self.end - self.start)
        return max(0, min(columns - 1, int(share * columns)))

    def axis(self, columns: int) -> str:
        """Round times where they fit, and the end."""
        span = self.end - self.start
        form = "%H:%M" if span <= timedelta(hours=36) else "%d %b"
        cells = [" "] * columns
        step = next((length for length in STEPS if span / length * TICK_CELLS <= columns), STEPS[-1])
        end = f"{local(self.end):%H:%M}"
        here = local(self.start)
        midnight = datetime.combine(here.date(), time(), here.tzinfo)
        # The next multiple of a step by the clock of this place.
        at = midnight + step * -(-(here - midnight) // step)
        while at < self.end:
            x, words = self.column_of(at, columns), f"╵{local(at).strftime(form)}"
            if x + len(words) < columns - len(end) - 1:
                cells[x : x + len(words)] = words
            at += step
        cells[columns - len(end) :] = end
        return "".join(cells)


# -- from the history ------------------------------------------------------------------------------------


def lanes_of(
    inboxes: Iterable[Inbox],
    transitions: Iterable[Transition],
    *,
    start: datetime,
    end: datetime,
    known_from: Mapping[str, datetime],
    read: Sequence[Span],
    thresholds: Thresholds = DEFAULT,
) -> tuple[Lane, ...]:
    """Lanes of the domains from how `inboxes` stood at the end; `transitions` are theirs until then, the newest first.

    `known_from`: since when the history has each domain. `read`: the times in which the service was read.
    """
    words = {
        inbox.email.lower(): [
            inbox.status or "unknown",
            by_score(inbox.health_score, thresholds)[1],
            inbox.domain,
        ]
        for inbox in inboxes
    }
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for status, health, domain in words.values():
        counts[domain][_state(status, health)] += 1
    # The present is known, the past only by its changes: undoing them one by one leads back.
    # How each domain stood, the newest first: until when, and how many of its inboxes.
    stood = {domain: [(end, *_domain_state(counted))] for domain, counted in counts.items()}
    for at, changes in groupby(transitions, key=lambda one: one.at):
        if at <= start:
            break
        moved = set()
        for change in changes:
            if now := words.get(change.key.lower()):
                status, health, domain = now
                counts[domain][_state(status, health)] -= 1
                now[0 if change.field == "status" else 1] = change.before
                counts[domain][_state(now[0], now[1])] += 1
                moved.add(domain)
        for domain in moved:
            stood[domain].append((at, *_domain_state(counts[domain])))
    lanes = []
    for domain, times in stood.items():
        first = max(start, known_from.get(domain, end))
        runs = [list(run) for _, run in groupby(times, key=lambda one: one[1])]
        segments, begin = [], first
        for run in reversed(runs):
            until, state, _ = run[0]
            if until > first:
                most = max(count for *_, count in run)
                segments.append(Segment(start=begin, end=until, state=state, affected=most))
                begin = until
        parts = tuple(_read_parts(segments, read))
        lanes.append(Lane(domain=domain, inboxes=counts[domain].total(), segments=parts))
    return tuple(sorted(lanes, key=_rank))


def _domain_state(counts: Counter[str]) -> tuple[LaneState, int]:
    """The state of a domain with so many inboxes in each state, and how many are in it."""
    if resting := counts[LaneState.RESTING]:
        return LaneState.PAUSED if resting == counts.total() else LaneState.RESTING, resting
    worst = next((state for state in LaneState if counts[state]), LaneState.HEALTHY)
    return worst, counts[worst]


def _state(status: str, health: str) -> str:
    """The state of an inbox: its verdict in the words of the history."""
    if status == "resting":
        return LaneState.RESTING
    if status not in INBOX_STATUSES and (status != "unknown" or health == "healthy"):
        return LaneState.UNKNOWN
    return LaneState.WARMING if status == "warming" and health == "healthy" else health


def _rank(lane: Lane) -> tuple[bool, datetime | None, int, str]:
    """Troubled domains in the order in which their trouble began, then the others, the worst first."""
    since = lane.troubled_since
    return since is None, since, SEVERITY[lane.worst], lane.domain


def _read_parts(segments: Iterable[Segment], read: Sequence[Span]) -> Iterator[Segment]:
    """Cut out what lies between the times in which the service was read."""
    for segment in segments:
        for began, ended in read:
            first, last = max(segment.start, began), min(segment.end, ended)
            if first < last:
                yield replace(segment, start=first, end=last)


# -- drawn -----------------------------------------------------------------------------------------------


@frozen
class LaneLine:
    """A lane as a row of a list; `cursor` is the time that is read."""

    lane: Lane
    incident: Incident
    cursor: datetime | None

    @property
    def key(self) -> str:
        return self.lane.domain

    @property
    def tone(self) -> Tone:
        return self.lane.worst.tone

    @property
    def words(self) -> str:
        return self.key

    @property
    def now(self) -> Sequence[Piece]:
        """The state at the end, and for how long already."""
        if self.key == WORKSPACE:
            return ()
        last = self.lane.segments[-1] if self.lane.segments else None
        if last is None or last.end < self.incident.end:
            return (("not known", Ink.MUTED),)
        if last.state is LaneState.HEALTHY:
            return (("healthy", Ink.MUTED),)
        # Without a segment before it, it stood so before anything was read.
        began = any(segment.end == last.start for segment in self.lane.segments)
        lasting = f" {show_span(last.end - last.start)}" if began else ""
        return ((f"{last.state.value}{lasting}", last.state.ink),)

    def bar(self, width: int) -> Sequence[Piece]:
        """A cell shows the worst that was within it, so that no trouble is too short to be seen; a sign stands before it."""
        column_of = self.incident.column_of
        cells: list[Piece] = [(" " if self.key == WORKSPACE else REST, Ink.FAINT)] * width
        # Painted from the mildest to the worst, so that the worst stays; likewise the marks.
        for segment in sorted(self.lane.segments, key=lambda one: -SEVERITY[one.state]):
            first, last = (column_of(at, width) for at in (segment.start, segment.end))
            cells[first : last + 1] = [FILLS[segment.state]] * (last + 1 - first)
        for mark in sorted(self.lane.marks, key=lambda one: -MARK_SEVERITY[one.kind]):
            cells[column_of(mark.at, width)] = mark.look[:2]
        if self.cursor:
            cells[column_of(self.cursor, width)] = ("│", Ink.STRONG)
        runs = groupby(cells, key=lambda cell: cell[1])
        return [("".join(sign for sign, _ in run), ink) for ink, run in runs]

    @property
    def reading(self) -> Words:
        """The words at the cursor: the time, how the domain stood, and since when."""
        at = self.cursor
        if at is None:
            return Words()
        about: Sequence[Piece] = (
            (f"{day_and_time(at)}  ", Ink.ACCENT),
            (f"{visible(self.key)} ", Ink.STRONG),
        )
        segment = self.lane.at(at)
        if segment is None:
            return Words((*about, ("not known", Ink.MUTED)))
        state, since = segment.state, f"since {day_and_time(segment.start)}"
        if state is not LaneState.HEALTHY:
            since += f", {segment.affected:,} of {self.lane.inboxes:,} inboxes"
        return Words((*about, (f"{state.value} ", state.ink), (since, Ink.TEXT)))

    @property
    def happened(self) -> tuple[Words, ...]:
        """The marks of a lane in words, the newest first."""
        lines = []
        for mark in self.lane.marks[::-1][:MOST_EVENTS]:
            text = visible(f"{mark.subject} {mark.text}".strip())
            sign = (f"{mark.look.sign} ", mark.look.ink)
            lines.append(Words(((f"{day_and_time(mark.at)} ", Ink.MUTED), sign, (text, Ink.TEXT))))
        return tuple(lines)


def lane_lines(incident: Incident, *, cursor: datetime | None) -> tuple[LaneLine, ...]:
    """The lane of the workspace where something happened to it, then the domains, those in trouble first."""
    own = (Lane(domain=WORKSPACE, inboxes=0, marks=incident.marks),) if incident.marks else ()
    return tuple(LaneLine(lane=lane, incident=incident, cursor=cursor) for lane in (*own, *incident.lanes))


def legend() -> tuple[Words, Words]:
    """The signs with their words."""
    states = [(sign * 2, ink, state.value) for state, (sign, ink) in FILLS.items()]
    return _named(states), _named(LOOKS.values())


def _named(signs: Iterable[tuple[str, Ink, str]]) -> Words:
    pieces: list[Piece] = []
    for sign, ink, word in signs:
        pieces += [(sign, ink), (f" {word}  ", Ink.MUTED)]
    return Words(tuple(pieces))
