"""What was asked of this process: counts by endpoint and status, and the busiest second of each key."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

from sandbox.service.v1.rate_limits import WINDOW


class Meter:
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

    def summary(self) -> dict[str, Any]:
        """Requests, refusals for rate, each endpoint's answers by status, each workspace's busiest second."""
        endpoints: dict[str, dict[str, int]] = {}
        for (endpoint, status), count in sorted(self.answers.items()):
            endpoints.setdefault(endpoint, {})[str(status)] = count
        return {
            "requests": sum(self.answers.values()),
            "rate_limited": sum(count for (_, status), count in self.answers.items() if status == 429),
            "endpoints": endpoints,
            "worst_second": dict(sorted(self._worst.items())),
        }
