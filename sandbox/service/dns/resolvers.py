"""Two resolvers on loopback, each over UDP and TCP on one port, and their faults."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Coroutine
from typing import Any, Literal, cast

from pydantic import Field

from sandbox.asgi_server import Block, bind
from sandbox.faults import Fault, Faults
from sandbox.service.dns.zones import AccountZones

COUNT = 2
"""A problem is one when two resolvers agree."""
Kind = Literal["servfail", "timeout", "lie", "drip"]
_IDLE_SECONDS = 10.0
_DRIP_SECONDS = 1.0
_TRIES = 50


class DnsFault(Fault):
    """A fault of matching queries."""

    kind: Kind | None = None
    """`lie`: there is no such name. `drip`: over UDP only TCP has room, and there comes a byte a second."""
    name: str = Field(default="*", max_length=253)
    """A name, which stands for all below it, too; or `*`."""
    type: str | None = Field(default=None, max_length=16)
    """Only queries of this type, like `TXT`."""
    resolver: Literal[1, 2] | None = None
    """Only this one of the two resolvers."""
    # Resolvers are asked again after a failure: a fault that happens once would hardly be noticed.
    times: int | None = Field(default=None, ge=1, le=1_000_000)
    """How often; null until the faults are cleared."""

    def matches(self, name: str, kind: str, *, resolver: int) -> bool:
        named = self.name.lower().rstrip(".")
        is_named = named in {"*", name} or name.endswith(f".{named}")
        return is_named and self.type in {None, kind} and self.resolver in {None, resolver}


class Resolvers(Block):
    """The resolvers that answer for the account's domains and what these refer to, while their block runs; anything else they refuse.

    `port` is the first one's, the second has the next; 0 takes free ones.
    """

    def __init__(self, zones: AccountZones, *, port: int = 0) -> None:
        self._port = port
        self._zones = zones
        self.faults = Faults[DnsFault]()
        self.queried = 0
        self.addresses: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, exits: contextlib.AsyncExitStack) -> None:
        exits.push_async_callback(self._end_tasks)
        for number in range(1, COUNT + 1):
            port = self._port + number - 1 if self._port else 0
            self.addresses.append(await exits.enter_async_context(self._listening(number, port)))

    def reset(self) -> None:
        """Clear the faults and the count."""
        self.faults.clear()
        self.queried = 0

    @contextlib.asynccontextmanager
    async def _listening(self, number: int, port: int) -> AsyncIterator[str]:
        loop = asyncio.get_running_loop()
        stream, datagrams = _bind_both(port)
        transport, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(self, number), sock=datagrams)
        server = await asyncio.start_server(
            lambda reader, writer: self.start(self._serve(reader, writer, number=number)), sock=stream
        )
        try:
            host, taken = stream.getsockname()
            yield f"{host}:{taken}"
        finally:
            transport.close()
            server.close()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Answer in a task that ends with the resolvers."""
        task = asyncio.create_task(work, name="sandbox-dns")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _end_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def answer_datagram(
        self, wire: bytes, transport: asyncio.DatagramTransport, address: Any, *, number: int
    ) -> None:
        async for part in self._responses(wire, over="udp", number=number):
            transport.sendto(part, address)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, number: int
    ) -> None:
        """Answer the queries of a TCP connection."""
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
        """Yield the answer to a query, part by part; nothing for what isn't one."""
        # dnspython takes a tenth of a second to import, which a sandbox that nobody asks doesn't spend.
        from dns import flags, rcode

        from sandbox.service.dns import answers

        asked = answers.question_of(wire)
        if asked is None:
            return
        query, name, kind = asked
        self.queried += 1
        response = answers.respond(query, name, kind, self._zones)
        fault = self.faults.take(lambda one: one.matches(name, kind, resolver=number))
        what = None if fault is None else fault.kind
        await asyncio.sleep(0.0 if fault is None else fault.delay)
        if what == "timeout":
            return
        if what in {"servfail", "lie"}:
            code = rcode.SERVFAIL if what == "servfail" else rcode.NXDOMAIN
            response = answers.failed(response, code)
        if what == "drip" and over == "udp":
            response = answers.failed(response, response.rcode())
            response.flags |= flags.TC
        size = answers.TCP_BYTES if over == "tcp" else min(query.payload or 512, answers.UDP_BYTES)
        # What doesn't fit is marked as truncated.
        sent = response.to_wire(max_size=size, prefer_truncation=True)
        if over == "tcp":
            sent = len(sent).to_bytes(2) + sent
        if what == "drip" and over == "tcp":
            for byte in sent:
                yield bytes([byte])
                await asyncio.sleep(_DRIP_SECONDS)
        else:
            yield sent


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, resolvers: Resolvers, number: int) -> None:
        self._resolvers = resolvers
        self._number = number

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # The event loops' own transports aren't subclasses.
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: Any) -> None:
        answer = self._resolvers.answer_datagram(data, self._transport, addr, number=self._number)
        self._resolvers.start(answer)


def _bind_both(port: int) -> tuple[socket.socket, socket.socket]:
    """Take TCP and UDP on one loopback port; a free one that UDP can't have is left for the next."""
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
