"""The client, against the sandbox in its own process."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy.engine import make_url

from sandbox.service import Service
from shared.api import OutreachClient, Priority
from shared.api.pace import SharedBudget

Row = tuple[str, float, str, str, bool]

LEADS = 100_000
IN_A_REQUEST = 1000
BOUND = 10.0
"""Requests a second that the service allows."""
FORMS = ("fixed", "sliding", "bucket")


def run() -> list[Row]:
    """About half a minute: a whole import under one form of the limit, half of one under the others."""
    with tempfile.TemporaryDirectory() as folder, _sandbox() as announcement:
        rows = [row for form in FORMS for row in asyncio.run(_import(announcement, form, Path(folder)))]
        return [*rows, *_together(announcement, Path(folder))]


@contextlib.contextmanager
def _sandbox() -> Iterator[dict[str, Any]]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), name="sandbox")
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("end")
        process.join()


def _serve(pipe: Connection) -> None:
    async def serve() -> None:
        async with Service(speed=0) as service:
            pipe.send(
                {
                    "base_url": service.base_url,
                    "key": service.api_keys["acme"],
                    "control": service.control_url,
                }
            )
            await asyncio.to_thread(pipe.recv)

    asyncio.run(serve())


@contextlib.asynccontextmanager
async def _client(sandbox: dict[str, Any], folder: Path) -> AsyncIterator[OutreachClient]:
    async with (
        SharedBudget(make_url(f"sqlite:///{folder}/budget.db"), key="bench") as budget,
        OutreachClient(base_url=sandbox["base_url"], api_key=sandbox["key"], pacer=budget) as client,
    ):
        yield client


async def _import(sandbox: dict[str, Any], form: str, folder: Path) -> list[Row]:
    requests = LEADS // IN_A_REQUEST if form == FORMS[0] else LEADS // IN_A_REQUEST // 2
    async with httpx.AsyncClient() as control, _client(sandbox, folder) as client:
        sequence = (await client.list_sequences())[0].id
        (await control.post(f"{sandbox['control']}/reset")).raise_for_status()
        (await control.put(f"{sandbox['control']}/limiter", json={"form": form})).raise_for_status()
        await asyncio.sleep(1.1)
        seconds = await _add(client, sequence, requests, form)
        meter = (await control.get(f"{sandbox['control']}/summary")).json()
    ratio, added = seconds / (requests / BOUND), requests * IN_A_REQUEST
    return [
        (f"{added:,} leads, {form} window: time", ratio, "x bound", "at most 1.08", ratio <= 1.08),
        (
            f"{added:,} leads, {form} window: 429s",
            meter["rate_limited"],
            "",
            "none",
            meter["rate_limited"] == 0,
        ),
    ]


async def _add(client: OutreachClient, sequence: str, requests: int, form: str) -> float:
    """Seconds from the first request to the last, as an import sends them: four at once."""
    batches = iter(range(requests))

    async def importer() -> None:
        for batch in batches:
            people = [{"email": f"{form}.{batch}.{number}@bench.example"} for number in range(IN_A_REQUEST)]
            await client.add_leads(sequence, people, priority=Priority.BULK)

    started = time.monotonic()
    await asyncio.gather(*(importer() for _ in range(4)))
    return time.monotonic() - started


def _together(sandbox: dict[str, Any], folder: Path) -> list[Row]:
    """Three processes of one key, five seconds, the worst second counted by the service."""
    httpx.post(f"{sandbox['control']}/reset").raise_for_status()
    context = multiprocessing.get_context("spawn")
    waits = context.Queue()
    processes = [
        context.Process(target=_use, args=(sandbox, folder, priority, waits), name=f"bench {priority}")
        for priority in (Priority.BULK, Priority.NORMAL, Priority.INTERACTIVE)
    ]
    for process in processes:
        process.start()
    slowest = max(waits.get() for _ in processes)
    for process in processes:
        process.join()
    meter = httpx.get(f"{sandbox['control']}/summary").json()
    worst = meter["worst_second"]["acme"]
    return [
        ("worst second, three processes", worst, "requests", "at most 10", worst <= 10),
        ("three processes: 429s", meter["rate_limited"], "", "none", meter["rate_limited"] == 0),
        (
            "a person's longest wait meanwhile",
            slowest * 9.5,
            "slots",
            "at most 2, and the answer",
            slowest * 9.5 <= 3,
        ),
    ]


def _use(sandbox: dict[str, Any], folder: Path, priority: Priority, waits: Any) -> None:
    async def use() -> float:
        end, longest = time.monotonic() + 5.0, 0.0
        async with _client(sandbox, folder) as client:
            while (started := time.monotonic()) < end:
                if priority is Priority.INTERACTIVE:
                    await client.list_sequences(priority=priority)
                    longest = max(longest, time.monotonic() - started)
                    await asyncio.sleep(0.7)
                else:
                    await asyncio.gather(*(client.list_sequences(priority=priority) for _ in range(4)))
        return longest

    waits.put(asyncio.run(use()))
