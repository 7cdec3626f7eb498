"""What the API, its request guard and the control API share: store, time, dialect, keys, limits, faults and counts."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from sandbox.service.base.clock import day_of
from sandbox.service.base.faults import Faults
from sandbox.service.base.storage import Storage
from sandbox.service.v1.dialect import Dialect
from sandbox.service.v1.faults import Fault
from sandbox.service.v1.rate_limits import WINDOW, Limiter
from sandbox.service.v1.running_totals import Totals


class RequestCounts:
    """Counts requests to `/v1` as they are answered."""

    def __init__(self) -> None:
        self.answers: Counter[tuple[str, int]] = Counter()
        self._recent: dict[str, deque[float]] = {}
        self._worst: dict[str, int] = {}

    def arrived(self, workspace: str, *, now: float) -> None:
        """A request with a live key has come in."""
        recent = self._recent.setdefault(workspace, deque())
        recent.append(now)
        while recent[0] <= now - WINDOW:
            recent.popleft()
        self._worst[workspace] = max(self._worst.get(workspace, 0), len(recent))

    def answered(self, endpoint: str, status: int) -> None:
        self.answers[endpoint, status] += 1

    def reset(self) -> None:
        self.answers.clear()
        self._recent.clear()
        self._worst.clear()

    def summary(self, names: dict[str, str]) -> dict[str, Any]:
        """Requests, refusals for rate, each endpoint's answers by status, each workspace's busiest second.

        `names` has the workspace of each key; of a workspace's keys the busiest counts.
        """
        endpoints: dict[str, dict[str, int]] = {}
        for (endpoint, status), count in sorted(self.answers.items()):
            endpoints.setdefault(endpoint, {})[str(status)] = count
        worst: dict[str, int] = {}
        for key, count in sorted(self._worst.items()):
            name = names.get(key, "?")
            worst[name] = max(count, worst.get(name, 0))
        return {
            "requests": sum(self.answers.values()),
            "rate_limited": sum(count for (_, status), count in self.answers.items() if status == 429),
            "endpoints": endpoints,
            "worst_second": worst,
        }


class ApiState:
    """The state of this process; `keys` are the live API keys, each with its workspace."""

    def __init__(self, storage: Storage, *, now: Callable[[], float]) -> None:
        self.storage = storage
        self.now = now
        self.totals = Totals()
        self.keys: dict[str, int] = {}
        self.limiter = Limiter(storage)
        self.faults = Faults[Fault]()
        self.request_counts = RequestCounts()
        self.dialect = Dialect()

    def version(self) -> object | None:
        """Changes whenever an answer could; None when other processes write the store, too."""
        changes = self.storage.changes()
        return None if changes is None else (changes, day_of(self.now()), self.dialect)

    def reset(self) -> None:
        """Settings back to their defaults and counts to zero; the account stays."""
        self.faults.clear()
        self.request_counts.reset()
        self.limiter.change("sliding")
        self.dialect = Dialect()
