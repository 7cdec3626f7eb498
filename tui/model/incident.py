"""How domains stood over time, as lanes: rebuilt from the present and from what changed, the newest change first. Pure.

A lane has a gap where nothing was read, or where the domain wasn't known: no gap is filled with a guess.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby

from shared.api.models import Inbox
from shared.api.words import INBOX_STATUSES
from shared.domain.card import Tone
from shared.domain.health import DEFAULT, Thresholds, by_score
from shared.guardrails.rule import subject_key
from shared.history import Transition
from shared.text.formats import show_exact_span, show_number
from tui.theme.marks import Mark

Span = tuple[datetime, datetime]


class LaneState(StrEnum):
    """How a domain stands, the worst first: paused has all its inboxes at rest, resting some of them."""

    PAUSED = "paused"
    RESTING = "resting"
    BAD = "bad"
    AT_RISK = "at risk"
    UNKNOWN = "unknown"
    WARMING = "warming"
    HEALTHY = "healthy"

    @property
    def tone(self) -> Tone:
        return TONES[self]


TONES = {
    LaneState.PAUSED: Tone.BAD,
    LaneState.RESTING: Tone.BAD,
    LaneState.BAD: Tone.BAD,
    LaneState.AT_RISK: Tone.WARN,
    LaneState.UNKNOWN: Tone.UNKNOWN,
    LaneState.WARMING: Tone.GOOD,
    LaneState.HEALTHY: Tone.GOOD,
}
SEVERITY = {state: rank for rank, state in enumerate(LaneState)}
TROUBLES = frozenset({LaneState.PAUSED, LaneState.RESTING, LaneState.BAD})
"""What raises an alarm of a domain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A time in which a domain stood in one way; `affected` is how many of its inboxes did, at most."""

    start: datetime
    end: datetime
    state: LaneState
    affected: int = 0

    @property
    def length(self) -> timedelta:
        return self.end - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A domain over time, the oldest segment first; none where nothing is known."""

    domain: str
    inboxes: int
    segments: tuple[Segment, ...] = ()
    marks: tuple[Mark, ...] = ()

    @property
    def troubled_since(self) -> datetime | None:
        """When it first stood in a way that raises an alarm."""
        return next((one.start for one in self.segments if one.state in TROUBLES), None)

    @property
    def worst(self) -> LaneState:
        return min((one.state for one in self.segments), key=SEVERITY.__getitem__, default=LaneState.UNKNOWN)

    def at(self, moment: datetime) -> Segment | None:
        return next((one for one in reversed(self.segments) if one.start <= moment <= one.end), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """The lanes of a time, and what happened to no domain alone: sequences, guardrails of the workspace."""

    start: datetime
    end: datetime
    lanes: tuple[Lane, ...] = ()
    marks: tuple[Mark, ...] = ()

    @property
    def troubled(self) -> tuple[Lane, ...]:
        return tuple(lane for lane in self.lanes if lane.troubled_since)

    @property
    def summary(self) -> str:
        """`4 of 9 domains affected · 3 paused, the longest for 2 h 10 min · 28 inboxes stopped`."""
        if not self.lanes:
            return "Nothing is known of this time."
        troubled = self.troubled
        if not troubled:
            return f"No domain was paused, resting or bad ({show_number(len(self.lanes), 'domain')})."
        parts = [f"{len(troubled):,} of {show_number(len(self.lanes), 'domain')} affected"]
        paused = [one for lane in troubled for one in lane.segments if one.state is LaneState.PAUSED]
        if paused:
            number = sum(lane.worst is LaneState.PAUSED for lane in troubled)
            longest = show_exact_span(max(one.length for one in paused))
            parts.append(f"{number:,} paused{', the longest' if len(paused) > 1 else ''} for {longest}")
        stopped = sum(
            max((one.affected for one in lane.segments if one.state in STOPS), default=0) for lane in troubled
        )
        if stopped:
            parts.append(f"{show_number(stopped, 'inbox')} stopped")
        return " · ".join(parts)


STOPS = (LaneState.PAUSED, LaneState.RESTING)


@dataclass(slots=True)
class _Domain:
    """How its inboxes stand while the changes are undone."""

    counts: Counter[str] = field(default_factory=Counter)
    until: datetime | None = None
    state: LaneState = LaneState.UNKNOWN
    affected: int = 0
    segments: list[Segment] = field(default_factory=list)

    def now(self) -> tuple[LaneState, int]:
        inboxes, resting = self.counts.total(), self.counts["resting"]
        if resting:
            return LaneState.PAUSED if resting == inboxes else LaneState.RESTING, resting
        for state in (LaneState.BAD, LaneState.AT_RISK, LaneState.UNKNOWN, LaneState.WARMING):
            if found := self.counts[state]:
                return state, found
        return LaneState.HEALTHY, inboxes

    def turn(self, at: datetime) -> None:
        """Until `at` it stood as the counts are now."""
        state, affected = self.now()
        if state is not self.state:
            self.close(at)
            self.until, self.state, self.affected = at, state, affected
        else:
            self.affected = max(self.affected, affected)

    def close(self, start: datetime) -> None:
        if self.until and start < self.until:
            self.segments.append(
                Segment(start=start, end=self.until, state=self.state, affected=self.affected)
            )


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
    """Lanes of the domains from how `inboxes` stood at the end; `transitions` are those between, the newest first.

    `known_from`: since when the history has each domain. `read`: the times in which the service was read.
    """
    words = {inbox.email.lower(): [*_words(inbox, thresholds), inbox.domain] for inbox in inboxes}
    domains: defaultdict[str, _Domain] = defaultdict(_Domain)
    for status, health, domain in words.values():
        domains[domain].counts[_state(status, health)] += 1
    for one in domains.values():
        one.until, (one.state, one.affected) = end, one.now()
    ours = (one for one in transitions if one.kind == "inbox" and one.at <= end)
    for at, changes in groupby(ours, key=lambda one: one.at):
        if at <= start:
            break
        moved = set()
        for change in changes:
            if known := words.get(change.key.lower()):
                domains[known[2]].counts[_state(*known[:2])] -= 1
                known[0 if change.field == "status" else 1] = change.before
                domains[known[2]].counts[_state(*known[:2])] += 1
                moved.add(known[2])
        for name in moved:
            domains[name].turn(at)
    lanes = []
    for name, one in domains.items():
        first = known_from.get(name, end)
        one.close(max(start, first))
        spans = (
            replace(part, start=max(part.start, first)) for part in reversed(one.segments) if part.end > first
        )
        lanes.append(Lane(domain=name, inboxes=one.counts.total(), segments=tuple(_read_parts(spans, read))))
    return tuple(sorted(lanes, key=_rank))


def _rank(lane: Lane) -> tuple[bool, float, int, str]:
    """Troubled domains in the order in which their trouble began, then the others, the worst first."""
    since = lane.troubled_since
    return since is None, since.timestamp() if since else 0.0, SEVERITY[lane.worst], lane.domain


def _read_parts(segments: Iterable[Segment], read: Sequence[Span]) -> Iterator[Segment]:
    """What lies in the times in which the service was read."""
    for segment in segments:
        for began, ended in read:
            first, last = max(segment.start, began), min(segment.end, ended)
            if first < last:
                yield replace(segment, start=first, end=last)


def _words(inbox: Inbox, thresholds: Thresholds) -> tuple[str, str]:
    return inbox.status or "unknown", by_score(inbox.health_score, thresholds)[1]


def _state(status: str, health: str) -> str:
    """How an inbox stands: as its verdict, in the words of the history."""
    if status == "resting":
        return "resting"
    if status not in INBOX_STATUSES and (status != "unknown" or health == "healthy"):
        return LaneState.UNKNOWN
    return LaneState.WARMING if status == "warming" and health == "healthy" else health


def with_marks(incident: Incident, marks: Iterable[Mark]) -> Incident:
    """Each mark on the lane of its domain; those of sequences and of the whole workspace on their own."""
    lanes = {subject_key(lane.domain): lane for lane in incident.lanes}
    found: defaultdict[str, list[Mark]] = defaultdict(list)
    others: list[Mark] = []
    for mark in marks:
        if not incident.start <= mark.at <= incident.end:
            continue
        domain = subject_key(mark.about).rpartition("@")[2]
        (found[domain] if domain in lanes else others).append(mark)
    return replace(
        incident,
        lanes=tuple(replace(lane, marks=tuple(found[subject_key(lane.domain)])) for lane in incident.lanes),
        marks=tuple(others),
    )
