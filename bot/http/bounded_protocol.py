"""HTTP/1.1 for untrusted clients: slow, endless or too many connections are closed.

All of this happens before a signature can be checked. A sender that was cut off retries.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bot.telemetry import metrics

HEADER_SECONDS, BODY_SECONDS = 5.0, 15.0
"""How long the head of a request may take, and then its body."""
MAX_HEADER_BYTES = 32 * 1024
MAX_CONNECTIONS = 1_000
RESERVED_FILES = 100
"""Open files that are left to the database, Slack and the log."""


def max_connections() -> int:
    """As many as the limit of open files allows."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return min(MAX_CONNECTIONS, max(soft // 2, soft - RESERVED_FILES))


REFUSAL = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class HeadTooLarge(Exception):
    """The request line and the headers, or the trailers after a body, are over the bound."""


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with a deadline for each request, and a bound on heads and connections."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._header_bytes: int | None = 0
        """Bytes of a head that is not complete yet; None afterwards."""
        self._parsed_bytes = 0
        """Of the request line and all headers so far, which may come in one read as well as in many."""
        self._refused = False
        self._idle = True
        self._began = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        super().connection_made(transport)
        self._began = self.loop.time()
        self._expect_within(HEADER_SECONDS)
        if len(self.connections) > max_connections():
            self._evict_one()

    def _evict_one(self) -> None:
        others = [other for other in self.connections if isinstance(other, BoundedProtocol)]
        waiting = [other for other in others if other.waits_for_sender]
        min(waiting, key=lambda other: other.patience_order, default=self).cut_off()

    @property
    def waits_for_sender(self) -> bool:
        return self._deadline is not None or self._idle

    @property
    def patience_order(self) -> tuple[bool, float]:
        in_body = self._deadline is not None and self._header_bytes is None
        return in_body, self._began

    def cut_off(self) -> None:
        metrics.CUT_OFF.inc()
        self.connections.discard(self)
        self.transport.abort()

    def _expect_within(self, seconds: float) -> None:
        self._forget_deadline()
        self._deadline = self.loop.call_later(seconds, self.cut_off)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return  # read, though not looked at: a reset would take the answer from the sender
        before = self._header_bytes
        super().data_received(data)
        if before is not None and self._header_bytes == before and not self._refused:
            # A header that isn't whole yet is in the parser alone.
            self._header_bytes = before + len(data)
            if self._header_bytes > MAX_HEADER_BYTES:
                self._refuse_head()

    def send_400_response(self, msg: str) -> None:
        """Also called where a callback of the parser failed."""
        if self._parsed_bytes > MAX_HEADER_BYTES:
            self._refuse_head()
        else:
            super().send_400_response(msg)

    def _refuse_head(self) -> None:
        """Answer 431, unless another answer is on its way; whoever goes on sending is cut off at the deadline."""
        cycle: Any = self.cycle  # None before the first request, whatever its annotation says
        if cycle is not None and not cycle.response_complete:
            self.cut_off()
            return
        metrics.CUT_OFF.inc()
        self._refused = True
        self.transport.write(REFUSAL)
        self.transport.write_eof()

    def _count(self, size: int) -> None:
        self._parsed_bytes += size
        if self._parsed_bytes > MAX_HEADER_BYTES:
            raise HeadTooLarge

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + len(b": \r\n"))
        super().on_header(name, value)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes, self._parsed_bytes, self._idle = 0, 0, False
        if self._deadline is None:
            self._began = self.loop.time()
            self._expect_within(HEADER_SECONDS)

    def on_headers_complete(self) -> None:
        self._header_bytes = None
        self._expect_within(BODY_SECONDS)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._forget_deadline()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self._idle = True
        super().on_response_complete()
