"""What went over the wire in both directions: for the page's inspector and for the summary."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Direction = Literal["to_bot", "web_api", "response_url"]
_HIDDEN = frozenset({"token", "client_secret"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and its answer; `ms` from the first byte out to the last byte back."""

    number: int
    at: float
    direction: Direction
    name: str
    ms: float
    ok: bool
    status: int | None
    error: str | None
    via: str
    attempt: int
    request: Any
    answer: Any


def without_secrets(value: Any) -> Any:
    """`value` with tokens left out and response addresses cut short."""
    if isinstance(value, dict):
        return {name: _masked(name, item) for name, item in value.items() if name not in _HIDDEN}
    if isinstance(value, list):
        return [without_secrets(item) for item in value]
    return value


def _masked(name: str, item: Any) -> Any:
    if name == "response_url" and isinstance(item, str):
        return item.rsplit("/", 1)[0] + "/…"
    return without_secrets(item)


def percentile(values: list[float], share: float) -> float | None:
    """The nearest-rank percentile; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], 3)


@dataclass(slots=True, kw_only=True)
class Traffic:
    """The last exchanges and the counts of all of them."""

    announce: Callable[[dict[str, Any]], None]
    exchanges: deque[Exchange] = field(default_factory=lambda: deque(maxlen=1500))
    calls: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    limited: int = 0
    acks: deque[float] = field(default_factory=lambda: deque(maxlen=20_000))
    unacknowledged: Counter[str] = field(default_factory=Counter)
    redelivered: int = 0

    def record(
        self,
        direction: Direction,
        name: str,
        *,
        at: float,
        ms: float,
        ok: bool,
        status: int | None = None,
        error: str | None = None,
        via: str = "http",
        attempt: int = 0,
        request: Any = None,
        answer: Any = None,
    ) -> None:
        """Keep one exchange and count it."""
        exchange = Exchange(
            number=self.exchanges[-1].number + 1 if self.exchanges else 1,
            at=at,
            direction=direction,
            name=name,
            ms=round(ms, 2),
            ok=ok,
            status=status,
            error=error,
            via=via,
            attempt=attempt,
            request=without_secrets(request),
            answer=without_secrets(answer),
        )
        self.exchanges.append(exchange)
        self._count(exchange)
        self.announce(asdict(exchange))

    def _count(self, exchange: Exchange) -> None:
        if exchange.direction == "to_bot":
            self.redelivered += exchange.attempt > 0
            if exchange.ok:
                self.acks.append(exchange.ms)
            else:
                self.unacknowledged[exchange.error or "unknown"] += 1
            return
        self.calls[exchange.name] += 1
        self.limited += exchange.status == 429
        if not exchange.ok:
            self.refused[exchange.error or str(exchange.status)] += 1

    def figures(self) -> dict[str, Any]:
        """The counts, for the summary."""
        acks = list(self.acks)
        return {
            "calls": dict(self.calls),
            "refused": dict(self.refused),
            "rate_limited": self.limited,
            "acks": {
                "count": len(acks),
                "p50_ms": percentile(acks, 0.5),
                "p99_ms": percentile(acks, 0.99),
                "max_ms": max(acks, default=None),
            },
            "unacknowledged": dict(self.unacknowledged),
            "redelivered": self.redelivered,
        }
