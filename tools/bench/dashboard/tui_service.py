"""A service of ten thousand inboxes in a process of its own: answers made beforehand, some inboxes moving.

The sandbox would do, but for its own work, which takes the cores from what is measured.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Iterator
from itertools import cycle

from shared.api.models import Inbox
from tools.bench.dashboard.large_account import large_snapshot, with_random_changes

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
