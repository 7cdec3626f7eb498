"""An account of ten thousand inboxes, how long they hold up an event loop, and a service of them in its own process."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import cycle

from sandbox.clock import Clock
from shared.api.models import Inbox
from shared.domain.snapshot import Reading, Snapshot

MANY = 10_000
CHANGED = MANY // 100


def present() -> datetime:
    # Not by the kit of the tests, which would be fifty megabytes of what is measured.
    return datetime.fromtimestamp(Clock().now(), UTC)


def large_snapshot(like: Snapshot | None = None) -> Snapshot:
    """Return a snapshot of ten thousand inboxes, with the rest of another."""
    boxes = tuple(
        Inbox(
            email=f"person{n:05}@domain{n % 400}.example",
            health_score=float(40 + n * 7 % 60),
            daily_limit=20 + n % 30,
            status=("active", "active", "warming", "resting")[n % 4],
        )
        for n in range(MANY)
    )
    return replace(like or Snapshot(workspace="acme"), inboxes=Reading(value=boxes, read_at=present()))


def with_random_changes(snapshot: Snapshot, dice: random.Random) -> Snapshot:
    """Return every inbox as a new object, as a poll brings them, and one in a hundred changed."""
    boxes = [replace(box) for box in snapshot.inboxes.value or ()]
    for _ in range(CHANGED):
        at = dice.randrange(len(boxes))
        boxes[at] = replace(boxes[at], health_score=float(dice.randrange(40, 100)))
    return replace(snapshot, inboxes=Reading(value=tuple(boxes), read_at=present()))


class Lag:
    """The longest time for which the event loop did nothing else, by its own work.

    Where other programs or threads take the core, the clock runs and the loop does not.
    """

    def __init__(self) -> None:
        self.worst = 0.0

    async def watch(self) -> None:
        while True:
            began, worked = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0.002)
            passed = time.perf_counter() - began - 0.002
            self.worst = max(self.worst, min(passed, time.thread_time() - worked))


COUNTS = {"sends": 900, "replies": 31, "positive_replies": 9, "meetings": 2}
NOBODY = b'{"data": [], "next_cursor": null}'


class Service:
    """A service that always gives the same answers, except about inboxes."""

    def __init__(self) -> None:
        dice, shown = random.Random(9), large_snapshot()
        # Made beforehand, because encoding ten thousand inboxes takes longer than sending them.
        bodies = []
        for _ in range(4):
            shown = with_random_changes(shown, dice)
            bodies.append(json.dumps([_sent(box) for box in shown.inboxes.value or ()]).encode())
        rows = [{**COUNTS, "group": box.email} for box in shown.inboxes.value or ()]
        self._inboxes: Iterator[bytes] = cycle(bodies)
        self._stats = {True: json.dumps(rows).encode(), False: json.dumps(rows[:6]).encode()}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while asked := await reader.readuntil(b"\r\n\r\n"):
                body = self._answer(asked.split(b" ", 2)[1].decode())
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                    b"content-length: %d\r\n\r\n%b" % (len(body), body)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, path: str) -> bytes:
        if "/inboxes" in path:
            return next(self._inboxes)
        if "/stats" in path:
            return self._stats["group_by=inbox" in path]
        return b"[]" if "/sequences" in path else NOBODY


def _sent(box: Inbox) -> dict[str, object]:
    return {name: getattr(box, name) for name in ("email", "health_score", "daily_limit", "status")}


async def main() -> None:
    """Serve until ended, and print the port on stdout."""
    server = await asyncio.start_server(Service().serve, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
