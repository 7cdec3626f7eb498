"""A service that does as it is told: real HTTP on 127.0.0.1, any bytes, cut whenever a test wants."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class RecordedRequest:
    """One request as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.target).query).items()}

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """What to write: a whole answer, or raw bytes; `cut` closes before anything is written."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    cut: bool = False
    repeat: int = 1

    def encoded(self) -> bytes:
        if self.raw is not None:
            return self.raw
        content = (
            self.body
            if isinstance(self.body, bytes)
            else b""
            if self.body is None
            else json.dumps(self.body).encode()
        )
        headers = {"Content-Type": "application/json", "Content-Length": str(len(content)), **self.headers}
        lines = [f"HTTP/1.1 {self.status} Said", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


Play = Callable[[RecordedRequest], Answer | Awaitable[Answer]]


class ScriptedServer:
    """Answers each request by `play`, or by what stands in `script` first; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[RecordedRequest] = []
        self.script: list[Answer] = []
        self.play: Play = lambda _: Answer(status=404, body={"error": {"code": "not_found"}})
        self.base_url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while asked := await _read(reader):
                self.asked.append(asked)
                if not await self._answer(asked, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, asked: RecordedRequest, writer: asyncio.StreamWriter) -> bool:
        answer = self.script.pop(0) if self.script else self.play(asked)
        answer = answer if isinstance(answer, Answer) else await answer
        if answer.cut:
            writer.transport.abort()
            return False
        for _ in range(answer.repeat):
            writer.write(answer.encoded())
            await writer.drain()
        return answer.raw is None


async def _read(reader: asyncio.StreamReader) -> RecordedRequest | None:
    head = await reader.readuntil(b"\r\n\r\n")
    at = time.monotonic()
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return RecordedRequest(method=method, target=target, headers=headers, body=body, at=at)


@asynccontextmanager
async def open_scripted_server() -> AsyncIterator[ScriptedServer]:
    scripted = ScriptedServer()
    tasks: set[asyncio.Task[None]] = set()

    writers: list[asyncio.StreamWriter] = []

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        task = asyncio.create_task(scripted.serve(reader, writer), name="scripted connection")
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    scripted.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield scripted
    finally:
        for listener in server.sockets:
            asyncio.get_running_loop().remove_reader(listener.fileno())
        # A connection that was accepted just now gets its writer in the loop's next turns. Where its server is closed
        # before that, asyncio loses it and leaves it open (https://github.com/python/cpython/issues/109564).
        for _ in range(3):
            await asyncio.sleep(0)
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in writers:
            writer.transport.abort()  # also of a task that was cancelled before it began
        await server.wait_closed()


def worst_second(moments: list[float]) -> int:
    """The most requests in any one second."""
    moments = sorted(moments)
    return max(
        (sum(1 for other in moments if moment <= other < moment + 1.0) for moment in moments), default=0
    )
