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
from shared.storage.budget import SharedBudget

Row = tuple[str, float, str, str, bool]

LEADS = 100_000
IN_A_REQUEST = 1000
BOUND = 10.0
"""Requests a second that the service allows."""


def run() -> list[Row]:
    """Import a hundred thousand leads, in about a quarter of a minute."""
    with tempfile.TemporaryDirectory() as folder, _sandbox() as announcement:
        return asyncio.run(_import(announcement, Path(folder)))


@contextlib.contextmanager
def _sandbox() -> Iterator[dict[str, Any]]:
    ours, theirs = multiprocessing.Pipe()
    # In a process of its own: its work must not take the time of the client.
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), name="sandbox")
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("end")
        process.join()


def _serve(pipe: Connection) -> None:
    async def serve() -> None:
        # A campaign that goes on would delay answers at moments of its own.
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


async def _import(sandbox: dict[str, Any], folder: Path) -> list[Row]:
    async with httpx.AsyncClient() as control, _client(sandbox, folder) as client:
        sequence = (await client.list_sequences())[0].id
        (await control.post(f"{sandbox['control']}/reset")).raise_for_status()
        # The service counts the request above within its second.
        await asyncio.sleep(1.1)
        seconds = await _add(client, sequence)
        meter = (await control.get(f"{sandbox['control']}/summary")).json()
    ratio, refused = seconds / (LEADS / IN_A_REQUEST / BOUND), meter["rate_limited"]
    return [
        (f"{LEADS:,} leads: time", ratio, "x bound", "at most 1.08", ratio <= 1.08),
        (f"{LEADS:,} leads: 429s", refused, "", "none", refused == 0),
    ]


async def _add(client: OutreachClient, sequence: str) -> float:
    """Send the requests of an import, four at once, and return how many seconds they take."""
    batches = iter(range(LEADS // IN_A_REQUEST))

    async def importer() -> None:
        for batch in batches:
            people = [{"email": f"{batch}.{number}@bench.example"} for number in range(IN_A_REQUEST)]
            await client.add_leads(sequence, people, priority=Priority.BULK)

    started = time.monotonic()
    await asyncio.gather(*(importer() for _ in range(4)))
    return time.monotonic() - started
