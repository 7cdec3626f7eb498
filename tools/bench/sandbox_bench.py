"""What the sandbox service can carry: requests, deliveries, starts, and days that advance."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle, product
from typing import Any

import httpx
import psutil

from sandbox.service.ids import encode
from tests.clock import moment

Row = tuple[str, float, str, str, bool]

_CONNECTIONS = 16
_SLICE_SECONDS = 0.25
_SLICES = 10
_DELIVERIES = 5_000

_SERVE = """
import asyncio, json, resource, sys, time
from sandbox.service import Service

async def main():
    started, spent = time.perf_counter(), time.process_time()
    async with Service(inboxes=int(sys.argv[1]), speed=float(sys.argv[2])) as service:
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        took = [seconds, peak, time.process_time() - spent]
        print(json.dumps([service.origin, service.api_keys["acme"], *took]), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

asyncio.run(main())
"""
_EMPTY = """
import asyncio, json, sys
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from sandbox.asgi_server import bind, serving

async def empty(request):
    return JSONResponse({})

app = Starlette(routes=[Route("/v1/empty", empty)])

async def main():
    async with serving(app, bind(0), name="empty") as origin:
        print(json.dumps([origin, "", 0, 0]), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

asyncio.run(main())
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

asyncio.run(main())
"""


@asynccontextmanager
async def _process(program: str, *arguments: str) -> AsyncIterator[list[Any]]:
    """A server in its own process, which says in a line of JSON where it is; last comes the process's id."""
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, *arguments, stdin=pipe, stdout=pipe
    )
    try:
        assert running.stdout is not None
        yield [*json.loads(await running.stdout.readline()), running.pid]
    finally:
        running.kill()
        await running.communicate()


async def _answered(origin: str, requests: Iterator[bytes]) -> tuple[int, float]:
    """How many were answered in about how many seconds: over some kept connections, one after another on each."""
    host, _, port = origin.removeprefix("http://").partition(":")
    started = time.perf_counter()

    async def ask() -> int:
        reader, writer = await asyncio.open_connection(host, int(port))
        asked = 0
        while time.perf_counter() < started + _SLICE_SECONDS:
            writer.write(next(requests))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            await reader.readexactly(int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]))
            asked += 1
        writer.close()
        return asked

    answered = sum(await asyncio.gather(*(ask() for _ in range(_CONNECTIONS))))
    return answered, time.perf_counter() - started


def _asking(paths: Sequence[str], *, key: str) -> Iterator[bytes]:
    head = f"HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n"
    return cycle([f"GET {path} {head}".encode() for path in paths])


def _paths() -> dict[str, list[str]]:
    """What is asked: no page of leads and no range of days twice within hundreds of requests."""
    today = moment().date()
    ranges = [
        f"from={today - dt.timedelta(days=back + length)}&to={today - dt.timedelta(days=back)}"
        for back, length in product(range(30), range(30))
    ]
    groupings = ("sequence", "step", "variant", "inbox")
    pages = [f"/v1/leads?limit=100&cursor={encode('cu', number)}" for number in range(20_000, 21_000)]
    return {
        "GET /sequences": ["/v1/sequences"],
        "GET /inboxes": ["/v1/inboxes"],
        "GET /leads, pages of 100": pages,
        "GET /stats, the last 30 days": ["/v1/stats"],
    } | {
        f"GET /stats by {grouping}, always another range": [
            f"/v1/stats?group_by={grouping}&{days}" for days in ranges
        ]
        for grouping in groupings
    }


async def _requests() -> AsyncIterator[Row]:
    async with _process(_EMPTY) as empty, _process(_SERVE, "60", "60") as service:
        async with httpx.AsyncClient() as client:
            await client.put(f"{service[0]}/control/limiter", json={"form": "off"})
        for name, paths in _paths().items():
            rate, baseline = await _side_by_side(
                (service[0], _asking(paths, key=service[1])), (empty[0], _asking(["/v1/empty"], key=""))
            )
            target = f">= 0.5 of an empty Starlette route ({baseline:,.0f}/s)"
            note = f"of the baseline ({rate:,.0f}/s)"
            yield f"{name}, limiter off", rate / baseline, note, target, rate >= baseline / 2


async def _side_by_side(*asked: tuple[str, Iterator[bytes]]) -> list[float]:
    """The rates of both, taken in short turns: what else the machine does meanwhile befalls either alike."""
    answered, seconds = [0] * len(asked), [0.0] * len(asked)
    for _, (place, (origin, requests)) in product(range(_SLICES), enumerate(asked)):
        more, took = await _answered(origin, requests)
        answered[place] += more
        seconds[place] += took
    return [count / took for count, took in zip(answered, seconds, strict=True)]


async def _lives(inboxes: int, *, starts_in: float, day_in: float) -> AsyncIterator[Row]:
    """The processor's time that a start takes, its past included, and a day."""
    async with _process(_SERVE, str(inboxes), "0") as (origin, _, _, peak, cpu, pid):
        name = f"{inboxes:,} inboxes"
        yield f"{name}: start", cpu, "s of CPU", f"< {starts_in} s", cpu < starts_in
        yield f"{name}: memory at its peak", peak, "MB", "< 500 MB", peak < 500
        before = sum(psutil.Process(pid).cpu_times()[:2])
        async with httpx.AsyncClient(timeout=600) as client:
            jump = await client.post(f"{origin}/control/time", json={"advance": 86_400.0})
            jump.raise_for_status()
        took = sum(psutil.Process(pid).cpu_times()[:2]) - before
        yield f"{name}: a day advanced", took, "s of CPU", f"< {day_in} s", took < day_in


async def _deliveries() -> AsyncIterator[Row]:
    async with (
        _process(_RECEIVE) as receiver,
        _process(_SERVE, "60", "0") as (origin, key, *_),
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
    parts = (
        _requests(),
        _lives(60, starts_in=1.0, day_in=0.1),
        _lives(10_000, starts_in=20.0, day_in=10.0),
        _deliveries(),
    )
    return [row for part in parts async for row in part]


def run() -> list[Row]:
    """Measure everything, each in processes of its own."""
    return asyncio.run(_all())
