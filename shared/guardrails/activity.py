"""A workspace's sends, deliveries and health, countable over any window. No I/O.

Deliveries are kept as sorted times, so that a window is two bisections; counts of the stats are cumulative for each
service day, so that a reading that was missed costs precision and never a send.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from shared.domain.guard_records import CLOSED, HEALTH, POLL, CountSample, Happening
from shared.guardrails.rule import Metric, Scope, subject_key

DAY = 86_400.0
HORIZON = 32 * DAY
"""Seconds of the past that any window can reach, with a day to spare."""
WORKSPACE_KEY = "workspace"


@dataclass(slots=True)
class Daily:
    """A count over time; within a day it only grows, and begins again at zero with the next."""

    days: dict[int, tuple[list[float], list[int]]] = field(default_factory=dict)

    def add(self, day: int, at: float, value: int) -> None:
        times, values = self.days.setdefault(day, ([], []))
        place = bisect_left(times, at)
        if place < len(times) and times[place] == at:
            values[place] = value
            return
        times.insert(place, at)
        values.insert(place, value)

    def between(self, start: float, end: float, *, generous: bool) -> int:
        """The count within a window; where the readings are sparse the largest that can be true, or the smallest."""
        total = 0
        for day, found in self.days.items():
            times, values = found
            on_its_day = day * DAY <= times[0] <= (day + 1) * DAY
            begins = day * DAY if on_its_day else times[0]  # a service in a test has its own clock
            if begins > end or times[-1] <= start:
                continue
            upper = values[-1] if times[-1] <= end else _at(found, end, late=generous)
            lower = _at(found, start, late=not generous) if begins < start else 0
            total += max(0, upper - lower)
        return total


def _at(found: tuple[list[float], list[int]], when: float, *, late: bool) -> int:
    """The value at the last reading until then, or at the first one after it."""
    times, values = found
    place = bisect_right(times, when)
    if late and not (place and times[place - 1] == when):
        return values[min(place, len(values) - 1)]
    return values[place - 1] if place else 0


@dataclass(slots=True)
class Scores:
    """A health score over time: it holds from one reading to the next."""

    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, at: float, value: float) -> None:
        place = bisect_right(self.times, at)
        if place and self.values[place - 1] == value:
            return
        self.times.insert(place, at)
        self.values.insert(place, value)

    def at(self, when: float) -> float | None:
        place = bisect_right(self.times, when)
        return self.values[place - 1] if place else None


Counter = Mapping[str, int]


class Activity:
    """Everything known of one workspace. Counts for a moment are computed once and shared by all rules."""

    def __init__(self) -> None:
        self._times: defaultdict[tuple[str, Scope], dict[str, list[float]]] = defaultdict(dict)
        self._counts: dict[tuple[Metric | str, Scope], dict[str, Daily]] = defaultdict(dict)
        self._scores: dict[str, Scores] = {}
        self._cache: dict[object, object] = {}
        self._now = 0.0
        self.polls: list[float] = []
        self.labels: dict[tuple[Scope, str], str] = {}

    def add(self, happenings: Iterable[Happening] = (), samples: Iterable[CountSample] = ()) -> None:
        """Take in what is new; a sample that is known already replaces itself."""
        self._cache.clear()
        for one in happenings:
            self._add_happening(one)
        for sample in samples:
            self._add_sample(sample)

    def look_at(self, now: float) -> None:
        """Forget the counts that were computed for another moment."""
        if now != self._now:
            self._now = now
            self._cache.clear()

    def _add_happening(self, one: Happening) -> None:
        places = (
            (Scope.SEQUENCE, one.sequence),
            (Scope.INBOX, one.inbox),
            (Scope.DOMAIN, one.domain or domain_of(one.inbox)),
            (Scope.WORKSPACE, WORKSPACE_KEY),
        )
        for scope, name in places:
            if name:
                insort(self._times[one.kind, scope].setdefault(self._key(scope, name), []), one.at)

    def _add_sample(self, sample: CountSample) -> None:
        if sample.scope == CLOSED:
            return
        if sample.scope == POLL:
            if not self.polls or sample.at > self.polls[-1]:
                self.polls.append(sample.at)
            elif sample.at not in self.polls:
                insort(self.polls, sample.at)
            return
        if sample.scope == HEALTH:
            if sample.health is not None:
                key = self._key(Scope.INBOX, sample.key)
                self._scores.setdefault(key, Scores()).add(sample.at, sample.health)
            return
        scope = Scope(sample.scope)
        key = self._key(scope, sample.key)
        for name, value in (
            ("sends", sample.sends),
            (Metric.REPLIES, sample.replies),
            (Metric.POSITIVE, sample.positive),
        ):
            self._counts[name, scope].setdefault(key, Daily()).add(sample.day, sample.at, value)

    def _key(self, scope: Scope, name: str) -> str:
        key = subject_key(name)
        self.labels.setdefault((scope, key), name)
        return key

    def label(self, scope: Scope, key: str) -> str:
        return self.labels.get((scope, key), key)

    def happened(self, kind: str, scope: Scope, *, start: float, end: float) -> Counter:
        """How many deliveries of a kind came after `start`, until `end`, by subject."""
        place = ("happened", kind, scope, start, end)
        if place not in self._cache:
            self._cache[place] = {
                key: count
                for key, times in self._times[kind, scope].items()
                if (count := bisect_right(times, end) - bisect_right(times, start))
            }
        return self._cache[place]  # type: ignore[return-value] # only this method writes under this place

    def counted(
        self, metric: Metric | str, scope: Scope, *, start: float, end: float, generous: bool = False
    ) -> Counter:
        """How much the stats counted in a window, by subject: `sends`, replies or positive replies."""
        place = ("counted", metric, scope, start, end, generous)
        if place not in self._cache:
            self._cache[place] = self._counted(metric, scope, start=start, end=end, generous=generous)
        return self._cache[place]  # type: ignore[return-value] # only this method writes under this place

    def _counted(
        self, metric: Metric | str, scope: Scope, *, start: float, end: float, generous: bool
    ) -> dict[str, int]:
        if scope in {Scope.DOMAIN, Scope.WORKSPACE}:
            finer = Scope.INBOX if scope is Scope.DOMAIN else Scope.SEQUENCE
            summed: defaultdict[str, int] = defaultdict(int)
            for key, count in self.counted(metric, finer, start=start, end=end, generous=generous).items():
                summed[domain_of(key) if scope is Scope.DOMAIN else WORKSPACE_KEY] += count
            return dict(summed)
        known = self._counts.get((metric, scope), {})
        return {key: one.between(start, end, generous=generous) for key, one in known.items()}

    def health(self, scope: Scope, *, at: float) -> Mapping[str, float]:
        """The score of each inbox, or the lowest of each domain, or of all."""
        place = ("health", scope, at)
        if place not in self._cache:
            lowest: dict[str, float] = {}
            for inbox, scores in self._scores.items():
                if (score := scores.at(at)) is not None:
                    key = {Scope.INBOX: inbox, Scope.DOMAIN: domain_of(inbox)}.get(scope, WORKSPACE_KEY)
                    lowest[key] = min(score, lowest.get(key, score))
            self._cache[place] = lowest
        return self._cache[place]  # type: ignore[return-value] # only this method writes under this place

    def outage(self, *, start: float, end: float) -> tuple[float, float] | None:
        """The longest time between two readings of the service that overlaps the window; None: there are no two."""
        place = bisect_right(self.polls, start)
        inside = self.polls[max(0, place - 1) : bisect_right(self.polls, end)]
        gaps = [(later - earlier, earlier, later) for earlier, later in pairwise(inside)]
        if not gaps:
            return None
        _, earlier, later = max(gaps)
        return earlier, later

    def begins_at(self) -> float | None:
        """The time of the oldest thing that is known; None: nothing is."""
        firsts = [times[0] for by_key in self._times.values() for times in by_key.values()]
        firsts += [min(one.days) * DAY for by_key in self._counts.values() for one in by_key.values()]
        return min(firsts, default=None)

    def last_poll(self, *, at: float) -> float | None:
        place = bisect_right(self.polls, at)
        return self.polls[place - 1] if place else None


def domain_of(inbox: str) -> str:
    return inbox.rpartition("@")[2].casefold() if "@" in inbox else ""
