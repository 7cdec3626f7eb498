"""What happened, in order: the page's live stream, and what tests wait for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

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
            await asyncio.wait_for(self._change.wait(), seconds)
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
