"""What went over the wire in both directions, for the page's inspector and for the summary."""

from __future__ import annotations

import math
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any, Literal

from sandbox.clock import Clock
from sandbox.slack.feed import Feed

KEPT_EXCHANGES = 1500
_SECRET = {"token", "response_url"}


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One request and its answer; `ms` is from the first byte out to the last byte back."""

    number: int
    direction: Literal["to_bot", "web_api", "response_url"]
    name: str
    at: float
    ms: float
    ok: bool
    status: int | None = None
    error: str | None = None
    via: str = "http"
    attempt: int = 0
    request: Any = None
    answer: Any = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields by name; not a deep copy, since nobody changes what was recorded."""
        return dict(vars(self))


@dataclass(slots=True)
class Counts:
    """The counts of all exchanges since the last reset; `acks` are milliseconds."""

    calls: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    rate_limited: int = 0
    acks: deque[float] = field(default_factory=lambda: deque(maxlen=20_000))
    unacknowledged: Counter[str] = field(default_factory=Counter)
    redelivered: int = 0


class Traffic:
    """The last exchanges, and the counts of all of them."""

    def __init__(self, feed: Feed, clock: Clock) -> None:
        self._feed = feed
        self._clock = clock
        self.clear()

    def clear(self) -> None:
        self.exchanges: deque[Exchange] = deque(maxlen=KEPT_EXCHANGES)
        self.counts = Counts()

    def record(self, direction: Any, name: str, *, ms: float, **details: Any) -> None:
        """Keep and count an exchange; `details` are the other fields of `Exchange`."""
        request = details.get("request")
        if isinstance(request, dict):
            kept = {name: value for name, value in request.items() if name not in _SECRET}
            details["request"] = kept
        number = self.exchanges[-1].number + 1 if self.exchanges else 1
        exchange = Exchange(
            number=number, direction=direction, name=name, at=self._clock.now(), ms=round(ms, 2), **details
        )
        self.exchanges.append(exchange)
        self._count(exchange)
        self._feed.publish("traffic", exchange.to_json())

    def _count(self, exchange: Exchange) -> None:
        counts = self.counts
        if exchange.direction == "to_bot":
            counts.redelivered += exchange.attempt > 0
            if exchange.ok:
                counts.acks.append(exchange.ms)
            else:
                counts.unacknowledged[exchange.error or "unknown"] += 1
            return
        counts.calls[exchange.name] += 1
        counts.rate_limited += exchange.status == 429
        if not exchange.ok:
            counts.refused[exchange.error or str(exchange.status)] += 1

    def summary(self) -> dict[str, Any]:
        counts = self.counts
        ranked = sorted(counts.acks)
        return {
            "calls": dict(counts.calls),
            "refused": dict(counts.refused),
            "rate_limited": counts.rate_limited,
            "acks": {
                "count": len(ranked),
                "p50_ms": _percentile(ranked, 0.5),
                "p99_ms": _percentile(ranked, 0.99),
                "max_ms": ranked[-1] if ranked else None,
            },
            "unacknowledged": dict(counts.unacknowledged),
            "redelivered": counts.redelivered,
        }


def _percentile(ranked: list[float], share: float) -> float | None:
    """Return the nearest-rank percentile; None of nothing."""
    if not ranked:
        return None
    return round(ranked[max(0, math.ceil(share * len(ranked)) - 1)], 3)
