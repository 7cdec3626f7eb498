"""What the sandbox service can carry: requests, pages of a million leads, deliveries, and the start of the huge account."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from typing import Any

import httpx

from sandbox.service.ids import encode

Row = tuple[str, float, str, str, bool]

_CONNECTIONS = 16
_SECONDS = 2.0
_DELIVERIES = 5_000

_SERVE = """
import asyncio, json, resource, sys, time
from sandbox.service import Service

async def main():
    started = time.perf_counter()
    async with Service(scenario=sys.argv[1], speed=float(sys.argv[2])) as service:
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps([service.origin, service.api_keys["acme"], seconds, peak]), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

import uvloop
uvloop.run(main())
"""
_EMPTY = """
import asyncio, json, sys
from fastapi import FastAPI
from sandbox.serving import bind, serving

app = FastAPI()

@app.get("/v1/empty")
async def empty() -> dict[str, str]:
    return {}

async def main():
    async with serving(app, bind(0), name="empty") as origin:
        print(json.dumps([origin, "", 0, 0]), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

import uvloop
uvloop.run(main())
"""
_RECEIVE = """
import asyncio, json, sys

class Receiver(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.buffer = transport, b""

    def data_received(self, data):
        self.buffer += data
        while b"\\r\\n\\r\\n" in self.buffer:
            head, _, rest = self.buffer.partition(b"\\r\\n\\r\\n")
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\\r\\n")[0])
            if len(rest) < length:
                return
            self.buffer = rest[length:]
            self.transport.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")

async def main():
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", 0)
    print(json.dumps([f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "", 0, 0]), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

import uvloop
uvloop.run(main())
"""


@asynccontextmanager
async def _process(program: str, *arguments: str) -> AsyncIterator[list[Any]]:
    """A server in a process of its own, which says in a line of JSON where it is."""
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, *arguments, stdin=pipe, stdout=pipe
    )
    try:
        assert running.stdout is not None
        yield json.loads(await running.stdout.readline())
    finally:
        running.kill()
        await running.communicate()


async def _rate(origin: str, paths: Sequence[str], key: str) -> float:
    """Requests a second over some kept connections, each waiting for its answer and then asking for the next path."""
    host, _, port = origin.removeprefix("http://").partition(":")
    head = f"HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n\r\n"
    requests = cycle([f"GET {path} {head}".encode() for path in paths])
    ends = time.perf_counter() + _SECONDS

    async def ask() -> int:
        reader, writer = await asyncio.open_connection(host, int(port))
        asked = 0
        while time.perf_counter() < ends:
            writer.write(next(requests))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            await reader.readexactly(int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]))
            asked += 1
        writer.close()
        return asked

    return sum(await asyncio.gather(*(ask() for _ in range(_CONNECTIONS)))) / _SECONDS


def _paths() -> dict[str, list[str]]:
    """What is asked: no page of leads and no range of days twice within thousands of requests."""
    today = dt.datetime.now(dt.UTC).date()
    days = [(today - dt.timedelta(days=back), today - dt.timedelta(days=back + 29)) for back in range(30)]
    return {
        "GET /sequences": ["/v1/sequences"],
        "GET /inboxes": ["/v1/inboxes"],
        "GET /leads, always another page": [
            f"/v1/leads?cursor={encode('cu', number)}" for number in range(100, 4_900)
        ],
        "GET /stats, the last 30 days": ["/v1/stats"],
        "GET /stats, always other 30 days": [f"/v1/stats?from={first}&to={last}" for last, first in days],
    }


async def _requests() -> AsyncIterator[Row]:
    async with _process(_EMPTY) as empty, _process(_SERVE, "calm-week", "60") as service:
        async with httpx.AsyncClient() as client:
            await client.put(f"{service[0]}/control/limiter", json={"form": "off"})
        before = await _rate(empty[0], ["/v1/empty"], "")
        for name, paths in _paths().items():
            rate = await _rate(service[0], paths, service[1])
            after = await _rate(empty[0], ["/v1/empty"], "")
            # What else the machine does changes from second to second: each rate has neighbours of its own.
            baseline, before = (before + after) / 2, after
            target = f">= 0.5 of an empty FastAPI route ({baseline:,.0f}/s)"
            note = f"of the baseline ({rate:,.0f}/s)"
            yield f"{name}, limiter off", rate / baseline, note, target, rate >= baseline / 2


async def _page_cost(client: httpx.AsyncClient, cursor: str, pages: int, *, limit: int = 100) -> float:
    costs = []
    for _ in range(pages):
        started = time.perf_counter()
        body = (await client.get("/leads", params={"limit": limit, "cursor": cursor})).json()
        costs.append(time.perf_counter() - started)
        cursor = body["next_cursor"]
    return statistics.median(costs)


async def _huge() -> AsyncIterator[Row]:
    async with _process(_SERVE, "huge", "0") as (origin, key, seconds, peak):
        yield "huge account: start", seconds, "s", "< 10 s", seconds < 10
        yield "huge account: memory at its peak", peak, "MB", "< 500 MB", peak < 500
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=f"{origin}/v1", headers=headers) as client:
            await client.put(f"{origin}/control/limiter", json={"form": "off"})
            first = await _page_cost(client, encode("cu", 1_000_001), 200)
            last = await _page_cost(client, encode("cu", 25_000), 200)
        note = f"x the first pages' cost ({first * 1000:.2f} ms)"
        yield "a million leads: cost of the last pages", last / first, note, "< 1.3 x", last / first < 1.3


async def _deliveries() -> AsyncIterator[Row]:
    async with (
        _process(_RECEIVE) as receiver,
        _process(_SERVE, "calm-week", "0") as (origin, key, *_),
        httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as client,
    ):
        subscription = {"url": f"{receiver[0]}/hook", "events": ["reply.interested"]}
        await client.post(f"{origin}/v1/webhooks", json=subscription)
        started, delivered = time.perf_counter(), 0
        await client.post(f"{origin}/control/events", json={"kind": "reply.interested", "count": _DELIVERIES})
        while delivered < _DELIVERIES:
            await asyncio.sleep(0.1)
            delivered = await _delivered(client, origin)
        rate = _DELIVERIES / (time.perf_counter() - started)
    yield "deliveries to one healthy subscriber, events included", rate, "/s", ">= 1,000/s", rate >= 1_000


async def _delivered(client: httpx.AsyncClient, origin: str) -> int:
    return int((await client.get(f"{origin}/control/summary")).json()["deliveries"]["by_state"]["delivered"])


async def _all() -> list[Row]:
    return [row for part in (_requests(), _huge(), _deliveries()) async for row in part]


def run() -> list[Row]:
    """Measure everything, each in processes of its own."""
    return asyncio.run(_all())
