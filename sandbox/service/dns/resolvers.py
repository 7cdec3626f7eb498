"""Two resolvers on loopback, each over UDP and TCP on one port."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

from sandbox.asgi_server import bind
from sandbox.service.base.faults import Faults
from sandbox.service.dns.account_zones import AccountZones
from sandbox.service.dns.faults import DnsFault

if TYPE_CHECKING:
    import dns.message

COUNT = 2
"""A problem is one when two resolvers agree."""
_IDLE_SECONDS = 10.0
_DRIP_SECONDS = 1.0
_TRIES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query that a resolver received; `at` in real seconds of the Unix epoch."""

    at: float
    resolver: int
    transport: str
    name: str
    type: str


class Resolvers:
    """They answer for the account's domains and what these refer to, while their block runs; anything else they refuse.

    Args:
        port: of the first one, the second is the next; 0 takes free ones.
    """

    def __init__(self, zones: AccountZones, *, port: int = 0) -> None:
        self._port = port
        self._zones = zones
        self.faults = Faults[DnsFault]()
        self.queries: deque[Query] = deque(maxlen=10_000)
        self.queried = 0
        self.addresses: list[str] = []
        self._exits = contextlib.AsyncExitStack()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as exits:
            exits.push_async_callback(self._end_tasks)
            for number in range(1, COUNT + 1):
                port = self._port + number - 1 if self._port else 0
                self.addresses.append(await exits.enter_async_context(self._listening(number, port)))
            self._exits = exits.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exits.aclose()

    def reset(self) -> None:
        """No faults, and counts at zero."""
        self.faults.clear()
        self.queries.clear()
        self.queried = 0

    @contextlib.asynccontextmanager
    async def _listening(self, number: int, port: int) -> AsyncIterator[str]:
        loop = asyncio.get_running_loop()
        stream, datagrams = _bind_both(port)
        transport, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(self, number), sock=datagrams)
        server = await asyncio.start_server(
            lambda reader, writer: self._serve_stream(reader, writer, number=number), sock=stream
        )
        try:
            host, taken = stream.getsockname()
            yield f"{host}:{taken}"
        finally:
            transport.close()
            server.close()

    async def _end_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def received(
        self, wire: bytes, transport: asyncio.DatagramTransport, address: Any, *, number: int
    ) -> None:
        """A datagram has come in."""
        task = asyncio.create_task(self._answer_datagram(wire, transport, address, number=number))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer_datagram(
        self, wire: bytes, transport: asyncio.DatagramTransport, address: Any, *, number: int
    ) -> None:
        with contextlib.suppress(ConnectionAbortedError):
            async for part in self._responses(wire, over="udp", number=number):
                transport.sendto(part, address)

    async def _serve_stream(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, number: int
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            with contextlib.suppress(TimeoutError, OSError, asyncio.IncompleteReadError):
                while True:
                    async with asyncio.timeout(_IDLE_SECONDS):
                        length = int.from_bytes(await reader.readexactly(2))
                        wire = await reader.readexactly(length)
                    async for part in self._responses(wire, over="tcp", number=number):
                        writer.write(part)
                        await writer.drain()
        finally:
            writer.close()

    async def _responses(self, wire: bytes, *, over: str, number: int) -> AsyncIterator[bytes]:
        """What is sent in answer to a query, in order; nothing for what isn't one."""
        # dnspython takes a tenth of a second to import, which a sandbox that nobody asks doesn't spend.
        from sandbox.service.dns import answers

        query = answers.question_of(wire)
        if query is None:
            return
        name, kind = answers.name_of(query), answers.type_of(query)
        self.queried += 1
        self.queries.append(Query(at=time.time(), resolver=number, transport=over, name=name, type=kind))
        response = answers.respond(query, self._zones)
        size = answers.TCP_BYTES if over == "tcp" else min(query.payload or 512, answers.UDP_BYTES)
        fault = self.faults.take(lambda one: one.matches(name, kind, resolver=number))
        if fault is None:
            yield _framed(answers.wire_of(response, size=size), over=over)
            return
        await asyncio.sleep(fault.delay)
        async for part in _faulty(fault, response, over=over, size=size):
            yield part


async def _faulty(
    fault: DnsFault, response: dns.message.Message, *, over: str, size: int
) -> AsyncIterator[bytes]:
    from sandbox.service.dns import answers

    true = _framed(answers.wire_of(response, size=size), over=over)
    match fault.kind:
        case "timeout":
            return
        case "cut":
            yield true[: len(true) // 2]
            raise ConnectionAbortedError("The connection was dropped by a fault.")
        case "garbage":
            yield _framed(bytes(range(255, -1, -1)), over=over)
        case "drip" if over == "tcp":
            for byte in true:
                yield bytes([byte])
                await asyncio.sleep(_DRIP_SECONDS)
        case "forged_id":
            yield _framed(answers.wire_of(answers.forged(response), size=size), over=over)
            yield true
        case "servfail" | "refused" | "nxdomain" as rcode:
            yield _framed(answers.wire_of(answers.failed(response, rcode), size=size), over=over)
        case "truncated" | "drip" if over == "udp":
            yield answers.wire_of(answers.truncated(response), size=size)
        case _:
            yield true


def _framed(wire: bytes, *, over: str) -> bytes:
    return len(wire).to_bytes(2) + wire if over == "tcp" else wire


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, resolvers: Resolvers, number: int) -> None:
        self._resolvers = resolvers
        self._number = number
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(
            "asyncio.DatagramTransport", transport
        )  # the event loops' own aren't subclasses

    def datagram_received(self, data: bytes, addr: Any) -> None:
        assert self._transport is not None
        self._resolvers.received(data, self._transport, addr, number=self._number)


def _bind_both(port: int) -> tuple[socket.socket, socket.socket]:
    """TCP and UDP on one loopback port; a free one that UDP can't have is left for the next."""
    for _ in range(_TRIES if port == 0 else 1):
        stream = bind(port)
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            datagrams.bind(stream.getsockname())
        except OSError:
            stream.close()
            datagrams.close()
            continue
        return stream, datagrams
    raise OSError(f"Port {port or 'for DNS'} can't be taken over UDP and TCP.")


def recent(queries: Iterable[Query], *, limit: int) -> list[Query]:
    """The newest ones, newest first."""
    newest = list(queries)[-limit:]
    return newest[::-1]
