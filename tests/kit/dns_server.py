"""A DNS server on loopback, UDP and TCP, that answers as a test says, with its faults."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import dns.flags
import dns.message
import dns.rcode

Respond = Callable[[dns.message.Message], dns.message.Message]
UDP_BYTES = 1232


@dataclass(kw_only=True)
class DnsServer:
    """Answers from `respond`; `udp` may send other bytes, or none (a time-out)."""

    respond: Respond
    udp: Callable[[dns.message.Message, dns.message.Message], list[bytes]] | None = None
    asked: list[str] = field(default_factory=list)
    """The names of the queries, in order."""
    address: tuple[str, int] = ("127.0.0.1", 0)

    def answer(self, wire: bytes) -> tuple[dns.message.Message, dns.message.Message]:
        query = dns.message.from_wire(wire)
        self.asked.append(f"{query.question[0].name.to_text(omit_final_dot=True)}")
        return query, self.respond(query)

    def by_udp(self, wire: bytes) -> list[bytes]:
        query, response = self.answer(wire)
        if self.udp is not None:
            return self.udp(query, response)
        sent = response.to_wire(max_size=65_535)
        if len(sent) <= UDP_BYTES:
            return [sent]
        # RFC 2181: of a truncated answer nothing is to be used, so that it has nothing but the flag.
        short = dns.message.make_response(query)
        short.flags |= dns.flags.TC
        return [short.to_wire()]

    def by_tcp(self, wire: bytes) -> bytes:
        _query, response = self.answer(wire)
        sent = response.to_wire(max_size=65_535)
        return len(sent).to_bytes(2) + sent


class _Udp(asyncio.DatagramProtocol):
    def __init__(self, server: DnsServer) -> None:
        self._server = server

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override] # as asyncio documents it
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        for sent in self._server.by_udp(data):
            self._transport.sendto(sent, addr)


@contextlib.asynccontextmanager
async def running(server: DnsServer) -> AsyncIterator[DnsServer]:
    """The server on one free port of 127.0.0.1, for both protocols."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            size = int.from_bytes(await reader.readexactly(2))
            writer.write(server.by_tcp(await reader.readexactly(size)))
            await writer.drain()
        writer.close()

    loop = asyncio.get_running_loop()
    while True:
        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        server.address = listening.sockets[0].getsockname()[:2]
        try:
            transport, _protocol = await loop.create_datagram_endpoint(
                lambda: _Udp(server), local_addr=server.address
            )
            break
        except OSError:  # the port is free for TCP alone
            listening.close()
    try:
        yield server
    finally:
        transport.close()
        listening.close()
