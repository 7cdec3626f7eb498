"""What went over the wire in both directions, for the page's inspector and for the summary."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
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


class Traffic:
    """The last exchanges, and the counts of all of them."""

    def __init__(self, feed: Feed, clock: Clock) -> None:
        self._feed = feed
        self._clock = clock
        self.clear()

    def clear(self) -> None:
        self.exchanges: deque[Exchange] = deque(maxlen=KEPT_EXCHANGES)
        self._calls = Counter[str]()
        self._refused = Counter[str]()
        self._unacknowledged = Counter[str]()
        self._rate_limited = 0

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
        if exchange.direction == "to_bot":
            if not exchange.ok:
                self._unacknowledged[str(exchange.error)] += 1
            return
        self._calls[exchange.name] += 1
        self._rate_limited += exchange.status == 429
        if not exchange.ok:
            self._refused[exchange.error or str(exchange.status)] += 1

    def summary(self) -> dict[str, Any]:
        return {
            "calls": dict(self._calls),
            "refused": dict(self._refused),
            "rate_limited": self._rate_limited,
            "unacknowledged": dict(self._unacknowledged),
        }
