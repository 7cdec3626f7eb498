"""An account of ten thousand inboxes, and how long they hold up an event loop."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import replace
from datetime import UTC, datetime

from shared.api.models import Inbox
from shared.domain.snapshot import Reading, Snapshot

MANY = 10_000
CHANGED = MANY // 100


def present() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 # the kit of the tests, which has a clock, would be fifty megabytes of what is measured


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
    """The longest time for which the event loop did nothing else: `worst` by its own work, `late` by the clock.

    Where other programs or threads take the core, the clock runs and the loop does not.
    """

    def __init__(self) -> None:
        self.worst = self.late = 0.0

    async def watch(self) -> None:
        while True:
            began, worked = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0.002)
            passed = time.perf_counter() - began - 0.002
            self.late = max(self.late, passed)
            self.worst = max(self.worst, min(passed, time.thread_time() - worked))
