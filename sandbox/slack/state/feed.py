"""What happened, in order: the page's live stream, what a test waits for, and the transcript."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

_MAX_EVENTS = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEvent:
    """One numbered change; `only_for` names the only person who may see it."""

    number: int
    kind: str
    data: dict[str, Any]
    only_for: str | None = None


class Feed:
    """A bounded log with any number of followers."""

    def __init__(self) -> None:
        self._log: deque[FeedEvent] = deque(maxlen=_MAX_EVENTS)
        self._waiting: set[asyncio.Future[None]] = set()
        self.number = 0
        self.closed = False

    def publish(self, kind: str, data: dict[str, Any], *, only_for: str | None = None) -> None:
        self.number += 1
        self._log.append(FeedEvent(number=self.number, kind=kind, data=data, only_for=only_for))
        self._wake()

    def close(self) -> None:
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def changed(self, *, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - a bound, not a cancellation
        """Wait for the next change; false when `timeout` seconds passed without one."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await asyncio.wait_for(future, timeout)
        except TimeoutError:
            return False
        finally:
            self._waiting.discard(future)
        return True

    async def until(self, condition: Callable[[], bool], *, timeout: float) -> bool:  # noqa: ASYNC109 - likewise
        """Wait until `condition` holds after some change; false when `timeout` seconds passed first."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while not condition():
            left = deadline - loop.time()
            if left <= 0 or self.closed or not await self.changed(timeout=left):
                return condition()
        return True

    def since(self, number: int) -> list[FeedEvent] | None:
        """What came after `number`; None when that is no longer known, so everything must be read again."""
        if number > self.number or (self._log and number < self._log[0].number - 1):
            return None
        return [item for item in self._log if item.number > number]

    async def follow(self, after: int, *, heartbeat: float) -> AsyncIterator[list[FeedEvent] | None]:
        """Batches of changes after `after`; an empty batch every `heartbeat` seconds of silence, None after a gap."""
        while not self.closed:
            batch = self.since(after)
            if batch is None:
                after = self.number
            elif batch:
                after = batch[-1].number
            elif await self.changed(timeout=heartbeat):
                continue
            yield batch


MAX_ENTRIES = 5000

Kind = Literal["act", "posted", "changed", "deleted", "view", "home"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that happened; an `act` has a name and a body, everything else what there was to read."""

    at: float
    kind: Kind
    user: str
    """The id of who acted, posted, or sees the view."""
    channel: str = ""
    ts: str = ""
    thread_ts: str | None = None
    seen_by: str | None = None
    text: str = ""
    blocks: list[dict[str, Any]] = field(default_factory=list)
    attachments: list[dict[str, Any]] = field(default_factory=list)
    act: str = ""
    body: dict[str, Any] = field(default_factory=dict)


class Transcript:
    """The last entries; `dropped` counts those before."""

    def __init__(self) -> None:
        self.entries: deque[Entry] = deque(maxlen=MAX_ENTRIES)
        self.dropped = 0

    def add(self, entry: Entry) -> None:
        self.dropped += len(self.entries) == MAX_ENTRIES
        self.entries.append(entry)

    def withdraw(self, entry: Entry) -> None:
        self.entries = deque((one for one in self.entries if one is not entry), maxlen=MAX_ENTRIES)
