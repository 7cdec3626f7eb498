"""What the sandbox service can carry: pages of leads, starts, and days that advance."""

from __future__ import annotations

import asyncio
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

Row = tuple[str, float, str, str, bool]

_CONNECTIONS = 16
_SLICE_SECONDS = 0.25
_SLICES = 10

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


async def _page() -> AsyncIterator[Row]:
    """Pages of 100 leads, none twice within a thousand requests, beside an empty route on the same server."""
    paths = [f"/v1/leads?limit=100&cursor={encode('cu', number)}" for number in range(20_000, 21_000)]
    async with _process(_EMPTY) as empty, _process(_SERVE, "60", "60") as service:
        async with httpx.AsyncClient() as client:
            await client.put(f"{service[0]}/control/limiter", json={"form": "off"})
        rate, baseline = await _side_by_side(
            (service[0], _asking(paths, key=service[1])), (empty[0], _asking(["/v1/empty"], key=""))
        )
    target = f">= 0.5 of an empty Starlette route ({baseline:,.0f}/s)"
    note = f"of the baseline ({rate:,.0f}/s)"
    yield "pages of 100 leads, limiter off", rate / baseline, note, target, rate >= baseline / 2


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


async def _all() -> list[Row]:
    parts = (
        _page(),
        _lives(60, starts_in=1.0, day_in=0.1),
        _lives(10_000, starts_in=20.0, day_in=10.0),
    )
    return [row for part in parts async for row in part]


def run() -> list[Row]:
    """Measure everything, each in processes of its own."""
    return asyncio.run(_all())
