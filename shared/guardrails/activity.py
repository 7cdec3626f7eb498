"""A workspace's sends, deliveries and health, countable over any window. No I/O.

Deliveries are kept as sorted times, so that a window is two bisections; counts of the stats are cumulative for each
service day, so that a reading that was missed costs precision and never a send.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, MutableSequence
from itertools import pairwise
from typing import Any, Generic, TypeVar

from shared.domain.wall_clock import DAY
from shared.guardrails.rule import EVENT_OF, Metric, Scope, subject_key
from shared.records import CLOSED, HEALTH, POLL, CountSample, Happening

T = TypeVar("T")
HORIZON = 32 * DAY
"""Seconds of the past that any window can reach, with a day to spare."""
WORKSPACE_KEY = "workspace"
COUNTED = ("sends", Metric.REPLIES, Metric.POSITIVE)
"""The counts of the readings."""

NEXT_READING = 900.0
"""Seconds until the next reading of the service, at most, while it is read regularly."""
UNKNOWN = 2**32 - 1
"""The value in the place of a count that the service left out."""
NEVER = float("inf")


class Daily:
    """Counts over time; within a day they only grow, and begin again at zero with the next.

    In arrays, 24 bytes a reading: a large account has millions.
    """

    __slots__ = ("at", "days", "values")

    def __init__(self) -> None:
        self.days, self.at = array("I"), array("d")
        self.values = {name: array("I") for name in COUNTED}

    def add(self, day: int, at: float, counts: Iterable[int | None]) -> None:
        """Take in a reading, the counts in the order of `COUNTED`; usually it is the newest."""
        place = len(self.days)
        if place and (day, at) <= (self.days[-1], self.at[-1]):
            first, end = bisect_left(self.days, day), bisect_right(self.days, day)
            place = bisect_left(self.at, at, first, end)
            if place < end and self.at[place] == at:  # it is known already
                return
        self.days.insert(place, day)
        self.at.insert(place, at)
        for column, count in zip(self.values.values(), counts, strict=True):
            column.insert(place, UNKNOWN if count is None else min(max(count, 0), UNKNOWN - 1))

    def between(self, metric: Metric | str, start: float, end: float, *, generous: bool) -> int | None:
        """The count within a window; where the readings are sparse the largest that can be true, or the smallest.

        None where the reading at an end of the window, or of a day, doesn't have it.
        """
        total = first = 0
        while first < len(self.days):
            day = self.days[first]
            after = bisect_right(self.days, day, first)
            on_its_day = day * DAY <= self.at[first] <= (day + 1) * DAY
            begins = day * DAY if on_its_day else self.at[first]  # a service in a test has its own clock
            if begins <= end and self.at[after - 1] > start:
                upper = self._count(metric, first, after, end, late=generous)
                lower = self._count(metric, first, after, start, late=not generous) if begins < start else 0
                if UNKNOWN in {upper, lower}:
                    return None
                total += max(0, upper - lower)
            first = after
        return total

    def _count(self, metric: Metric | str, first: int, after: int, when: float, *, late: bool) -> int:
        """The count of the last reading of a day until then, or of the first one after it; zero before all."""
        place = bisect_right(self.at, when, first, after)
        if late and not (place > first and self.at[place - 1] == when):
            place = min(place + 1, after)
        return self.values[metric][place - 1] if place > first else 0


class Course(Generic[T]):
    """A value over time, like a health score: it holds from one reading to the next."""

    __slots__ = ("times", "values")

    def __init__(self, values: MutableSequence[T]) -> None:
        self.times, self.values = array("d"), values

    def add(self, at: float, value: T) -> None:
        place = bisect_right(self.times, at)
        if not place or self.values[place - 1] != value:
            self.times.insert(place, at)
            self.values.insert(place, value)

    def at(self, when: float) -> T | None:
        place = bisect_right(self.times, when)
        return self.values[place - 1] if place else None


Counter = Mapping[str, int]


class Activity:
    """Everything known of one workspace. Counts for a moment are computed once and shared by all rules."""

    def __init__(self, *, heard_since: float = -NEVER) -> None:
        self._times: defaultdict[tuple[str, Scope], defaultdict[str, list[float]]]
        self._times = defaultdict(lambda: defaultdict(list))
        self._counts: dict[Scope, defaultdict[str, Daily]]
        self._counts = {Scope.SEQUENCE: defaultdict(Daily), Scope.INBOX: defaultdict(Daily)}
        # Of ten thousand inboxes, the scores are most of what is known: an array of numbers holds four times as many.
        self._scores = defaultdict[str, Course[float]](lambda: Course(array("d")))
        self._broken = Course[Mapping[str, Collection[str]]]([])
        self._keys: dict[str, str] = {}
        self._cache: dict[object, Any] = {}
        self._now = 0.0
        self.heard_since = heard_since
        """The time of the first delivery: before it, no event is known. Infinity: none came."""
        self.polls: list[float] = []
        self.labels: dict[tuple[Scope, str], str] = {}

    def add(self, happenings: Iterable[Happening] = (), samples: Iterable[CountSample] = ()) -> None:
        """Take in what is new; a sample that is known already changes nothing."""
        self._cache.clear()  # what was counted without these is outdated
        for happening in happenings:
            places = (
                (Scope.SEQUENCE, happening.sequence),
                (Scope.INBOX, happening.inbox),
                (Scope.DOMAIN, happening.domain or domain_of(happening.inbox)),
                (Scope.WORKSPACE, WORKSPACE_KEY),
            )
            for scope, name in places:
                if name:
                    insort(self._times[happening.kind, scope][self._key(scope, name)], happening.at)
        for sample in samples:
            if sample.scope == POLL:
                if sample.at not in self.polls[-1:]:
                    insort(self.polls, sample.at)
            elif sample.scope == HEALTH and sample.health is not None:
                self._scores[self._key(Scope.INBOX, sample.key)].add(sample.at, sample.health)
            elif sample.scope not in {HEALTH, CLOSED}:
                scope = Scope(sample.scope)
                daily = self._counts[scope][self._key(scope, sample.key)]
                daily.add(sample.day, sample.at, (sample.sends, sample.replies, sample.positive))

    def forget(self, since: float) -> None:
        """Forget the deliveries since then, which are taken in again."""
        for by_key in self._times.values():
            for times in by_key.values():
                del times[bisect_left(times, since) :]

    def saw_broken(self, at: float, broken: Mapping[str, Collection[str]]) -> None:
        """Take in which domains' DNS is broken, with the checks that say so; the others' isn't. `at` only grows."""
        now = {self._key(Scope.DOMAIN, domain): frozenset(checks) for domain, checks in broken.items()}
        if now or self._broken.times:
            self._broken.add(at, now)

    def broken(self, *, at: float) -> Mapping[str, Collection[str]]:
        """The domains whose DNS was broken then, and the checks that said so."""
        return self._broken.at(at) or {}

    def look_at(self, now: float) -> None:
        """Forget the counts that were computed for another moment."""
        if now != self._now:
            self._now = now
            self._cache.clear()

    def _once(self, place: object, count: Callable[[], T]) -> T:
        if place not in self._cache:
            self._cache[place] = count()
        counted: T = self._cache[place]
        return counted

    def _key(self, scope: Scope, name: str) -> str:
        if (key := self._keys.get(name)) is None:
            key = self._keys[name] = subject_key(name)
        self.labels.setdefault((scope, key), name)
        return key

    def label(self, scope: Scope, key: str) -> str:
        return self.labels.get((scope, key), key)

    def happened(self, kind: str, scope: Scope, *, start: float, end: float) -> Counter:
        """Count the deliveries of a kind that came after `start`, until `end`, by subject."""

        def count() -> Counter:
            by_key = self._times[kind, scope].items()
            counts = {key: bisect_right(times, end) - bisect_right(times, start) for key, times in by_key}
            return {key: count for key, count in counts.items() if count}

        return self._once((kind, scope, start, end), count)

    def counted(
        self, metric: Metric | str, scope: Scope, *, start: float, end: float, generous: bool = False
    ) -> Counter:
        """Count by the stats within a window, by subject: `sends`, replies or positive replies.

        A subject is left out where the service left out its count, or that of one of its inboxes or sequences.
        """

        def count() -> Counter:
            sums: dict[str, int | None] = {}
            finer = Scope.INBOX if scope in {Scope.INBOX, Scope.DOMAIN} else Scope.SEQUENCE
            for key, daily in self._counts[finer].items() if metric in COUNTED else ():
                whole = {Scope.DOMAIN: domain_of(key), Scope.WORKSPACE: WORKSPACE_KEY}.get(scope, key)
                part, so_far = daily.between(metric, start, end, generous=generous), sums.get(whole, 0)
                sums[whole] = None if so_far is None or part is None else so_far + part
            return {key: count for key, count in sums.items() if count is not None}

        return self._once((metric, scope, start, end, generous), count)

    def health(self, scope: Scope, *, at: float) -> Mapping[str, float]:
        """The score of each inbox, or the lowest of each domain, or of all."""

        def lowest() -> Mapping[str, float]:
            scores: dict[str, float] = {}
            for inbox, known in self._scores.items():
                if (score := known.at(at)) is not None:
                    key = {Scope.INBOX: inbox, Scope.DOMAIN: domain_of(inbox)}.get(scope, WORKSPACE_KEY)
                    scores[key] = min(score, scores.get(key, score))
            return scores

        return self._once((HEALTH, scope, at), lowest)

    def outage(self, *, start: float, end: float) -> tuple[float, float] | None:
        """The longest time between two readings of the service that overlaps the window; None: there are no two."""
        place = bisect_right(self.polls, start)
        inside = self.polls[max(0, place - 1) : bisect_right(self.polls, end)]
        return max(pairwise(inside), key=lambda gap: gap[1] - gap[0], default=None)

    def known_since(self, metric: Metric) -> float:
        """The time from which a metric is known; infinity: it isn't. An event is from the first delivery on."""
        if metric in EVENT_OF:
            # From the reading of the service soon after it, sends are known to the minute too.
            place = bisect_left(self.polls, self.heard_since)
            soon = place < len(self.polls) and self.polls[place] - self.heard_since <= NEXT_READING
            return self.polls[place] if soon else self.heard_since
        if metric is Metric.HEALTH:
            return min((one.times[0] for one in self._scores.values()), default=NEVER)
        if metric is Metric.DNS:
            return min(self._broken.times, default=NEVER)
        days = (one.days[0] * DAY for by_key in self._counts.values() for one in by_key.values())
        return min(days, default=NEVER)

    def last_poll(self, *, at: float) -> float | None:
        place = bisect_right(self.polls, at)
        return self.polls[place - 1] if place else None


def domain_of(inbox: str) -> str:
    return inbox.rpartition("@")[2].casefold() if "@" in inbox else ""
