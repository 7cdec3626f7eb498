"""A workspace's sends, deliveries and health, countable over any window. No I/O.

Deliveries are kept as sorted times, so that a window is two bisections; counts of the stats are cumulative for each
service day, so that a reading that was missed costs precision and never a send.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise

from shared.domain.wall_clock import DAY
from shared.guardrails.rule import EVENT_OF, Metric, Scope, subject_key
from shared.records.guardrails import CLOSED, HEALTH, POLL, CountSample, Happening

HORIZON = 32 * DAY
"""Seconds of the past that any window can reach, with a day to spare."""
HOURS, QUARTER, HOUR = 24, 6, 3600.0
WORKSPACE_KEY = "workspace"
COUNTED = ("sends", Metric.REPLIES, Metric.POSITIVE)
"""The counts of the readings."""

NEXT_READING = 900.0
"""Seconds until the next reading of the service, at most, while it is read regularly."""
UNKNOWN = 2**32 - 1
"""The value in the place of a count that the service left out."""
LARGEST = UNKNOWN - 1
"""The largest count that is kept."""


class Daily:
    """Counts over time; within a day they only grow, and begin again at zero with the next.

    In arrays, 24 bytes a reading: a large account has millions.
    """

    __slots__ = ("at", "days", "values")

    def __init__(self) -> None:
        self.days, self.at = array("I"), array("d")
        self.values = {name: array("I") for name in COUNTED}

    def add(self, day: int, at: float, values: Iterable[int | None]) -> None:
        """Take in a reading, the counts in the order of `COUNTED`; usually it is the newest."""
        if not self.days or (day, at) > (self.days[-1], self.at[-1]):
            place = len(self.days)
        else:
            first, end = bisect_left(self.days, day), bisect_right(self.days, day)
            place = bisect_left(self.at, at, first, end)
            if place < end and self.at[place] == at:
                for column, value in zip(self.values.values(), values, strict=True):
                    column[place] = _kept(value)
                return
        self.days.insert(place, day)
        self.at.insert(place, at)
        for column, value in zip(self.values.values(), values, strict=True):
            column.insert(place, _kept(value))

    def between(self, metric: Metric | str, start: float, end: float, *, generous: bool) -> int | None:
        """The count within a window; where the readings are sparse the largest that can be true, or the smallest.

        None where the reading that ends a day, or the window, doesn't have it.
        """
        days, at, values = self.days, self.at, self.values[metric]
        total = first = 0
        while first < len(days):
            day = days[first]
            after = bisect_right(days, day, first)
            on_its_day = day * DAY <= at[first] <= (day + 1) * DAY
            begins = day * DAY if on_its_day else at[first]  # a service in a test has its own clock
            if begins <= end and at[after - 1] > start:
                last = after - 1
                if at[last] > end:
                    last = self._place(first, after, end, late=generous)
                upper = values[last] if last >= first else 0
                if upper == UNKNOWN:
                    return None
                place = first - 1
                if begins < start:
                    place = self._place(first, after, start, late=not generous)
                # A count that is unknown when the window begins is taken for the next one that makes it so large or small.
                while first <= place <= last and values[place] == UNKNOWN:
                    place += -1 if generous else 1
                total += max(0, upper - (values[place] if place >= first else 0))
            first = after
        return total

    def _place(self, first: int, after: int, when: float, *, late: bool) -> int:
        """The last reading of a day until then, or the first one after it; `first` - 1: there is none."""
        place = bisect_right(self.at, when, first, after)
        if late and not (place > first and self.at[place - 1] == when):
            return min(place, after - 1)
        return place - 1


def _kept(value: int | None) -> int:
    return UNKNOWN if value is None else min(max(value, 0), LARGEST)


class Scores:
    """A health score over time: it holds from one reading to the next."""

    __slots__ = ("times", "values")

    def __init__(self) -> None:
        self.times, self.values = array("d"), array("d")

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
        self._counts: dict[Scope, dict[str, Daily]] = defaultdict(dict)
        self._scores: dict[str, Scores] = {}
        self._broken: dict[str, list[tuple[float, frozenset[str]]]] = {}
        self._keys: dict[str, str] = {}
        self._cache: dict[object, object] = {}
        self._now = 0.0
        self.heard_since = float("-inf")
        """The time of the first delivery: before it, no event is known. Never: infinity."""
        self.polls: list[float] = []
        self.labels: dict[tuple[Scope, str], str] = {}

    def add(self, happenings: Iterable[Happening] = (), samples: Iterable[CountSample] = ()) -> None:
        """Take in what is new; a sample that is known already replaces itself."""
        self._cache.clear()
        for happening in happenings:
            self._add_happening(happening)
        for sample in samples:
            self._add_sample(sample)

    def saw_broken(self, at: float, broken: Mapping[str, Collection[str]]) -> None:
        """Take in which domains' DNS is broken, with the checks that say so; the others' isn't. `at` only grows."""
        self._cache.clear()
        for domain in {*broken, *self._broken}:
            key, checks = self._key(Scope.DOMAIN, domain), frozenset(broken.get(domain, ()))
            known = self._broken.setdefault(key, [])
            if checks != (known[-1][1] if known else frozenset()):
                known.append((at, checks))

    def broken(self, *, at: float) -> Mapping[str, Collection[str]]:
        """The domains whose DNS was broken then, and the checks that said so."""
        found: dict[str, Collection[str]] = {}
        for key, states in self._broken.items():
            place = bisect_right(states, at, key=lambda state: state[0])
            if place and states[place - 1][1]:
                found[key] = states[place - 1][1]
        return found

    def look_at(self, now: float) -> None:
        """Forget the counts that were computed for another moment."""
        if now != self._now:
            self._now = now
            self._cache.clear()

    def _add_happening(self, happening: Happening) -> None:
        places = (
            (Scope.SEQUENCE, happening.sequence),
            (Scope.INBOX, happening.inbox),
            (Scope.DOMAIN, happening.domain or domain_of(happening.inbox)),
            (Scope.WORKSPACE, WORKSPACE_KEY),
        )
        for scope, name in places:
            if name:
                insort(
                    self._times[happening.kind, scope].setdefault(self._key(scope, name), []), happening.at
                )

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
                if (scores := self._scores.get(key)) is None:
                    scores = self._scores[key] = Scores()
                scores.add(sample.at, sample.health)
            return
        scope = Scope(sample.scope)
        key, by_key = self._key(scope, sample.key), self._counts[scope]
        if (daily := by_key.get(key)) is None:
            daily = by_key[key] = Daily()
        daily.add(sample.day, sample.at, (sample.sends, sample.replies, sample.positive))

    def _key(self, scope: Scope, name: str) -> str:
        if (key := self._keys.get(name)) is None:
            key = self._keys[name] = subject_key(name)
        self.labels.setdefault((scope, key), name)
        return key

    def label(self, scope: Scope, key: str) -> str:
        return self.labels.get((scope, key), key)

    def happened(self, kind: str, scope: Scope, *, start: float, end: float) -> Counter:
        """Count the deliveries of a kind that came after `start`, until `end`, by subject."""
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
        """Count by the stats within a window, by subject: `sends`, replies or positive replies.

        A subject is left out where the service left out its count, or that of one of its inboxes or sequences.
        """
        place = ("counted", metric, scope, start, end, generous)
        if place not in self._cache:
            counts = self._counted(metric, scope, start=start, end=end, generous=generous)
            self._cache[place] = {key: count for key, count in counts.items() if count is not None}
        return self._cache[place]  # type: ignore[return-value] # only this method writes under this place

    def _counted(
        self, metric: Metric | str, scope: Scope, *, start: float, end: float, generous: bool
    ) -> Mapping[str, int | None]:
        if scope not in {Scope.DOMAIN, Scope.WORKSPACE}:
            known = self._counts.get(scope, {}) if metric in COUNTED else {}
            return {key: one.between(metric, start, end, generous=generous) for key, one in known.items()}
        finer = Scope.INBOX if scope is Scope.DOMAIN else Scope.SEQUENCE
        summed: dict[str, int | None] = {}
        for key, count in self._counted(metric, finer, start=start, end=end, generous=generous).items():
            whole = domain_of(key) if scope is Scope.DOMAIN else WORKSPACE_KEY
            so_far = summed.get(whole, 0)
            summed[whole] = None if so_far is None or count is None else so_far + count
        return summed

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

    def known_since(self, metric: Metric) -> float:
        """Since when a metric is known: an event from the first delivery on, the others from their first reading; infinity: it isn't."""
        if metric in EVENT_OF:
            return self._heard_and_read_since()
        if metric is Metric.HEALTH:
            return min((one.times[0] for one in self._scores.values()), default=float("inf"))
        if metric is Metric.DNS:
            return min((states[0][0] for states in self._broken.values() if states), default=float("inf"))
        days = (one.days[0] * DAY for by_key in self._counts.values() for one in by_key.values())
        return min(days, default=float("inf"))

    def _heard_and_read_since(self) -> float:
        """The first delivery, or the reading of the service soon after it, from which sends are known to the minute too."""
        place = bisect_left(self.polls, self.heard_since)
        soon = place < len(self.polls) and self.polls[place] - self.heard_since <= NEXT_READING
        return self.polls[place] if soon else self.heard_since

    def last_poll(self, *, at: float) -> float | None:
        place = bisect_right(self.polls, at)
        return self.polls[place - 1] if place else None


def days(now: float, *, since: float) -> Iterator[tuple[float, float]]:
    """The days that any window can reach and of which something is kept, each with its end; what is newer is of the last."""
    today = now // DAY
    day = min(max(since, now - HORIZON), now) // DAY
    while day < today:
        yield day * DAY, (day + 1) * DAY
        day += 1
    yield today * DAY, float("inf")


def portions(
    now: float, spans: Iterable[float], *, since: float, begins: Iterable[float] = (), serves: float = 0.0
) -> Iterator[tuple[float, float, bool]]:
    """The times to read readings of one after another, and whether a window may begin or end there.

    Elsewhere only the last reading of the time matters: a quarter of a day with such a time, or a whole day. `begins` are
    first deliveries, from which windows begin where they would begin earlier; what is read serves windows for so many seconds.
    Nothing is kept of what was before `since`.
    """
    edges = [(now - age, now - age + serves) for age in (0.0, *spans)]
    reached = min(start for start, _ in edges)
    edges += [(one, one + NEXT_READING) for one in begins if reached <= one <= now]
    # One hour more: where a window begins, its next reading may count.
    hours = {hour for start, end in edges for hour in range(int(start // HOUR), int(end // HOUR) + 2)}
    finer = {hour // HOURS for hour in hours}
    for start, end in days(now, since=since):
        first = int(start // HOUR)
        if first // HOURS not in finer:
            yield start, end, False
            continue
        whole_day = range(first, first + HOURS)
        cuts = {*whole_day[::QUARTER]} | {
            cut for hour in hours for cut in (hour, hour + 1) if cut in whole_day
        }
        for hour, later in pairwise([*sorted(cuts), first + HOURS]):
            yield hour * HOUR, later * HOUR if later < first + HOURS else end, hour in hours


def domain_of(inbox: str) -> str:
    return inbox.rpartition("@")[2].casefold() if "@" in inbox else ""
