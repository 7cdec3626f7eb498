"""A load generator of sockets and ready-made bytes, so that what is measured is the server."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The result of a run; latencies are in seconds, sorted."""

    seconds: float
    latencies: Sequence[float]
    refused: int

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.latencies) / self.seconds

    def at(self, share: float) -> float:
        """The latency below which this share of the requests stayed."""
        return self.latencies[min(len(self.latencies) - 1, int(len(self.latencies) * share))]


def deliveries(count: int, *, secret: str, first: int = 0, leads: int = 0) -> list[bytes]:
    """Whole requests: distinct signed interested replies of 1 KB, of so many leads; 0 is one lead for each."""
    # Made and signed beforehand: only the server is measured.
    return [
        _request(number, number % leads if leads else number, secret)
        for number in range(first, first + count)
    ]


def _request(number: int, lead: int, secret: str) -> bytes:
    event = {
        "event": "reply.interested",
        "lead": {"email": f"lead{lead}@acme.example", "first_name": "Ada", "company": "Acme"},
        "sequence": "Q3 founders",
        "step": number,
        "inbox": "sam@mail.example",
        "reply": "",
    }
    event["reply"] = "y" * (1024 - len(json.dumps(event)))
    body = json.dumps(event).encode()
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    head = (
        "POST /webhooks/outreach HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"X-Service-Signature: {signature}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def fire(port: int, requests: Sequence[bytes], *, connections: int = 32) -> Load:
    """Send all requests over keep-alive connections, each waiting for its answer."""
    left = iter(requests)
    latencies: list[float] = []
    refused = [0]
    started = time.perf_counter()
    await asyncio.gather(*(_connection(port, left, latencies, refused) for _ in range(connections)))
    seconds = time.perf_counter() - started
    return Load(seconds=seconds, latencies=sorted(latencies), refused=refused[0])


async def _connection(port: int, left: Iterator[bytes], latencies: list[float], refused: list[int]) -> None:
    # Bare sockets, because an HTTP client would take more of the machine than the server.
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for request in left:
        started = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        latencies.append(time.perf_counter() - started)
        refused[0] += not head.startswith(b"HTTP/1.1 200")
    writer.close()
    await writer.wait_closed()
