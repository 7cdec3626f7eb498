"""Keeps what happened, in order: the page's live stream, which tests wait for, and the requests in both directions."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from sandbox.clock import Clock

KEPT_EVENTS = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEvent:
    """One numbered change; `only_for` is the only person who may see it."""

    number: int
    kind: str
    data: dict[str, Any]
    only_for: str | None = None


class Feed:
    """A bounded log with any number of followers."""

    def __init__(self) -> None:
        self._log: deque[FeedEvent] = deque(maxlen=KEPT_EVENTS)
        self._change = asyncio.Event()
        self.number = 0
        self.closed = False

    def publish(self, kind: str, data: dict[str, Any], *, only_for: str | None = None) -> None:
        self.number += 1
        event = FeedEvent(number=self.number, kind=kind, data=data, only_for=only_for)
        self._log.append(event)
        self._wake()

    def close(self) -> None:
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        self._change.set()
        self._change = asyncio.Event()

    async def _changed(self, seconds: float) -> bool:
        """Wait for the next change; false if none came within so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._change.wait()
        except TimeoutError:
            return False
        return True

    async def until(self, condition: Callable[[], bool], *, timeout: float) -> bool:  # noqa: ASYNC109
        """Wait until a change makes `condition` true; false if `timeout` seconds pass before."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while not condition():
            left = deadline - loop.time()
            if left <= 0 or self.closed or not await self._changed(left):
                return condition()
        return True

    def since(self, number: int) -> list[FeedEvent] | None:
        """Return what came after `number`; None if that is not kept any more."""
        if number > self.number or (self._log and number < self._log[0].number - 1):
            return None
        return [event for event in self._log if event.number > number]

    async def follow(self, after: int, *, heartbeat: float) -> AsyncIterator[list[FeedEvent] | None]:
        """Yield batches of changes; an empty one after silence, None after a gap.

        A batch comes at least every `heartbeat` seconds, so that a reader who left is noticed.
        """
        while not self.closed:
            batch = self.since(after)
            if batch is None:
                after = self.number
            elif batch:
                after = batch[-1].number
            elif await self._changed(heartbeat):
                continue
            yield batch


KEPT_EXCHANGES = 1500
_SECRET = {"token", "response_url"}


class Traffic:
    """The last exchanges, and the counts of all of them."""

    def __init__(self, feed: Feed, clock: Clock) -> None:
        self._feed = feed
        self._clock = clock
        self.clear()

    def clear(self) -> None:
        self.exchanges: deque[dict[str, Any]] = deque(maxlen=KEPT_EXCHANGES)
        self._calls = Counter[str]()
        self._refused = Counter[str]()
        self._unacknowledged = Counter[str]()
        self._rate_limited = 0

    def record(self, direction: str, name: str, *, ms: float, ok: bool, **details: Any) -> None:
        """Keep and count a request and its answer.

        `direction` is `to_bot`, `web_api` or `response_url`; `ms` is from the first byte out to the last byte back.
        """
        request = details.get("request")
        if isinstance(request, dict):
            kept = {name: value for name, value in request.items() if name not in _SECRET}
            details["request"] = kept
        exchange = {
            "number": self.exchanges[-1]["number"] + 1 if self.exchanges else 1,
            "direction": direction,
            "name": name,
            "at": self._clock.now(),
            "ms": round(ms, 2),
            "ok": ok,
            "via": "http",
            "attempt": 0,
            **details,
        }
        self.exchanges.append(exchange)
        self._feed.publish("traffic", exchange)
        error, status = exchange["error"], exchange["status"]
        if direction == "to_bot":
            self._unacknowledged.update([] if ok else [str(error)])
            return
        self._calls[name] += 1
        self._rate_limited += status == 429
        self._refused.update([] if ok else [error or str(status)])

    def summary(self) -> dict[str, Any]:
        return {
            "calls": dict(self._calls),
            "refused": dict(self._refused),
            "rate_limited": self._rate_limited,
            "unacknowledged": dict(self._unacknowledged),
        }
