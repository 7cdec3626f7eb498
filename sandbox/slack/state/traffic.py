"""What went over the wire in both directions: for the page's inspector and for the summary."""

from __future__ import annotations

import math
from collections import Counter, deque
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from sandbox.slack.state.feed import Feed

Direction = Literal["to_bot", "web_api", "response_url", "tools"]
_HIDDEN = frozenset({"token", "access_token", "client_secret"})
_MAX_TEXT = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and its answer; `ms` from the first byte out to the last byte back."""

    number: int
    direction: Direction
    name: str
    at: float
    ms: float
    ok: bool
    app: str = ""
    """The app's id; the first app's for an unknown token."""
    status: int | None = None
    error: str | None = None
    via: str = "http"
    attempt: int = 0
    request: Any = None
    answer: Any = None

    def to_json(self) -> dict[str, Any]:
        """The fields by name; not a copy, since nobody changes what was recorded."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


@dataclass(slots=True)
class Counts:
    """The counts of all exchanges since the last reset."""

    calls: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    rate_limited: int = 0
    acks: deque[float] = field(default_factory=lambda: deque(maxlen=20_000))
    unacknowledged: Counter[str] = field(default_factory=Counter)
    redelivered: int = 0
    tool_calls: int = 0

    def add(self, exchange: Exchange) -> None:
        if exchange.direction == "tools":  # they may take a minute, and are no calls of the Web API
            self.tool_calls += 1
            return
        if exchange.direction == "to_bot":
            self.redelivered += exchange.attempt > 0
            if exchange.ok:
                self.acks.append(exchange.ms)
            else:
                self.unacknowledged[exchange.error or "unknown"] += 1
            return
        self.calls[exchange.name] += 1
        self.rate_limited += exchange.status == 429
        if not exchange.ok:
            self.refused[exchange.error or str(exchange.status)] += 1


def without_secrets(value: Any, name: str = "") -> Any:
    """`value` with tokens left out, and response addresses and endless texts cut short."""
    if isinstance(value, dict):
        return {name: without_secrets(item, name) for name, item in value.items() if name not in _HIDDEN}
    if isinstance(value, list):
        return [without_secrets(item) for item in value]
    if name == "response_url" and isinstance(value, str):
        return value.rsplit("/", 1)[0] + "/…"
    if isinstance(value, str) and len(value) > _MAX_TEXT:
        return f"{value[:_MAX_TEXT]}… ({len(value)} characters)"
    return value


def percentile(values: list[float], share: float) -> float | None:
    """The nearest-rank percentile; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], 3)


class Traffic:
    """The last exchanges, and the counts of all of them."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self.exchanges: deque[Exchange] = deque(maxlen=1500)
        self.counts = Counts()

    def clear(self) -> None:
        self.exchanges.clear()
        self.counts = Counts()

    def record(self, direction: Direction, name: str, *, ms: float, **details: Any) -> None:
        """Keep one exchange and count it; `details` are the other fields of `Exchange`."""
        for part in ("request", "answer"):
            details[part] = without_secrets(details.get(part))
        number = self.exchanges[-1].number + 1 if self.exchanges else 1
        exchange = Exchange(number=number, direction=direction, name=name, ms=round(ms, 2), **details)
        self.exchanges.append(exchange)
        self.counts.add(exchange)
        self._feed.publish("traffic", exchange.to_json())

    def summary(self) -> dict[str, Any]:
        counts, acks = self.counts, list(self.counts.acks)
        return {
            "calls": dict(counts.calls),
            "refused": dict(counts.refused),
            "rate_limited": counts.rate_limited,
            "acks": {
                "count": len(acks),
                "p50_ms": percentile(acks, 0.5),
                "p99_ms": percentile(acks, 0.99),
                "max_ms": max(acks, default=None),
            },
            "unacknowledged": dict(counts.unacknowledged),
            "redelivered": counts.redelivered,
            "tool_calls": counts.tool_calls,
        }
