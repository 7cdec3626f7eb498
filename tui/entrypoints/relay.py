"""One poller for many viewers: sends snapshots over a local socket, and to each viewer only what is new.

A frame is four bytes of length and JSON. The first frame has what a viewer needs at the start; snapshots follow.
A viewer may ask what was sent today and lately, which the one poller reads once a minute at most, for what the bot
recorded, for the reply of a lead, and that an operator's command is run.
A slow viewer doesn't delay others: it gets the latest state when it is ready, not every one in between.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Protocol

from shared.api.models import Grouping, StatsRow
from shared.commands.result import Result
from shared.domain.snapshot import Snapshot, record_to_json, to_json
from shared.records.replies import LeadReply
from tui.feed.plain_results import to_plain
from tui.feed.poller import Tick
from tui.theme.marks import Mark

MOST_BYTES = 64 * 1024 * 1024
LENGTH = 4


async def write_frame(writer: asyncio.StreamWriter, document: Mapping[str, Any]) -> None:
    """Send a frame; raises OSError if the peer is gone."""
    body = await asyncio.to_thread(lambda: json.dumps(document).encode())
    writer.write(len(body).to_bytes(LENGTH, "big") + body)
    await writer.drain()


async def read_frame(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next frame; None at the end, and for what is none."""
    try:
        length = int.from_bytes(await reader.readexactly(LENGTH), "big")
        if length > MOST_BYTES:
            return None
        found = json.loads(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


class Answers(Protocol):
    """What viewers may ask of a workspace's poller."""

    async def inbox_sends(self) -> Mapping[str, Sequence[int | None]]: ...
    async def recent_counts(
        self, grouping: Grouping, keys: Sequence[str], *, days: int
    ) -> Mapping[date, StatsRow]: ...
    async def recorded_marks(self, *, start: datetime, end: datetime) -> Sequence[Mark]: ...
    async def last_reply(self, email: str) -> LeadReply | None: ...
    async def run_for(self, name: str, line: str) -> Result: ...  # an operator's command


async def _asked(feed: Answers, frame: Mapping[str, Any]) -> Any:
    if "counts_by" in frame:
        counts = await feed.recent_counts(frame["counts_by"], frame["keys"], days=frame["days"])
        return {day.isoformat(): record_to_json(row) for day, row in counts.items()}
    if "marks_from" in frame:
        start, end = datetime.fromisoformat(frame["marks_from"]), datetime.fromisoformat(frame["until"])
        return [record_to_json(mark) for mark in await feed.recorded_marks(start=start, end=end)]
    if "run" in frame:
        return to_plain(await feed.run_for(str(frame["operator"]), str(frame["run"])))
    if "reply_of" not in frame:
        return {inbox: list(sends) for inbox, sends in (await feed.inbox_sends()).items()}
    reply = await feed.last_reply(str(frame["reply_of"]))
    return reply and record_to_json(reply)


class Relay:
    """Holds the latest snapshot of each workspace, and sends it to every connected viewer."""

    def __init__(self, greeting: Mapping[str, Any]) -> None:
        self._greeting = greeting
        self._latest: dict[str, tuple[Snapshot, int]] = {}
        self._viewers: set[asyncio.Event] = set()
        self._asking: set[asyncio.Task[None]] = set()
        self.feeds: dict[str, Answers] = {}
        """By workspace: who can be asked."""

    def put(self, workspace: str, tick: Tick) -> None:
        self._latest[workspace] = (tick.snapshot, tick.beats)
        for changed in self._viewers:
            changed.set()

    @contextlib.asynccontextmanager
    async def serving(self, path: Path) -> AsyncIterator[None]:
        """Listen on a socket; its folder is one that only its owner can enter."""
        connections: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._serve(reader, writer), name="relay-viewer")
            connections.add(task)
            task.add_done_callback(connections.discard)

        server = await asyncio.start_unix_server(connected, path)
        try:
            yield
        finally:
            server.close()
            tasks = (*connections, *self._asking)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        gone = asyncio.create_task(self._answer(reader, writer), name="relay-viewer-asking")
        feeding = asyncio.create_task(self._feed(writer), name="relay-viewer-feeding")
        try:
            await asyncio.wait({gone, feeding}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (gone, feeding):
                task.cancel()
            await asyncio.gather(gone, feeding, return_exceptions=True)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until nothing more can be asked, because the viewer is gone. A command that takes long holds up no question."""
        while (frame := await read_frame(reader)) is not None:
            if frame.get("name") in self.feeds:
                # Not the viewer's own: a change that has begun is carried out, though its page was closed.
                task = asyncio.create_task(self._reply(frame, writer), name="relay-viewer-question")
                self._asking.add(task)
                task.add_done_callback(self._asking.discard)

    async def _reply(self, frame: Mapping[str, Any], writer: asyncio.StreamWriter) -> None:
        answer = await _asked(self.feeds[frame["name"]], frame)
        with contextlib.suppress(OSError):
            await write_frame(
                writer, {"name": frame["name"], "question": frame.get("question"), "answer": answer}
            )

    async def _feed(self, writer: asyncio.StreamWriter) -> None:
        sent: dict[str, Snapshot] = {}
        changed = asyncio.Event()
        self._viewers.add(changed)
        try:
            await write_frame(writer, self._greeting)
            while True:
                changed.clear()
                for name, (snapshot, beats) in list(self._latest.items()):
                    if sent.get(name) is not snapshot:
                        body = await asyncio.to_thread(to_json, snapshot, since=sent.get(name))
                        await write_frame(writer, {"name": name, "beats": beats, "snapshot": body})
                        sent[name] = snapshot
                await changed.wait()
        finally:
            self._viewers.discard(changed)
