"""One budget in several processes that die, stop, spell an address differently, or cannot use the file."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import URL, make_url

from shared.api import Priority
from shared.api.http.rate_limit import BURST
from shared.storage import budget_rows
from shared.storage.rate_budget import SharedBudget
from tests.processes import running_async
from tests.shared.api.scripted_server import ScriptedServer, worst_second
from tests.shared.storage.budget_processes import ROOT, SLOT, worker

pytestmark = pytest.mark.e2e


async def test_several_processes_together_keep_the_limit_and_a_person_comes_first(
    url: URL, server: ScriptedServer
) -> None:
    answers = await asyncio.gather(
        worker(url, server, Priority.BULK, 8),
        worker(url, server, Priority.NORMAL, 5),
        worker(url, server, Priority.INTERACTIVE, 3),
        worker(url, server, "status", 5),
    )
    moments = [asked.at for asked in server.asked]
    assert len(moments) == 21
    assert worst_second(moments) <= 10, str([round(m - min(moments), 3) for m in sorted(moments)])
    assert max(moments) - min(moments) >= (20 - BURST) * SLOT
    # Two slots, and what a machine with two busy cores adds.
    assert sorted(answers[2]["waits"])[-2] <= 2 * SLOT + 0.15


async def test_a_killed_process_wastes_few_slots(tmp_path: Path, server: ScriptedServer) -> None:
    url = make_url(f"sqlite:///{tmp_path / 'budget.db'}")
    async with (
        running_async(sys.executable, "-c", DOOMED, str(url), server.base_url, cwd=ROOT) as doomed,
        SharedBudget(url, key="k") as budget,
    ):
        async with asyncio.timeout(60):
            while budget.state().waiting < 5:
                await asyncio.sleep(0.02)
                await budget.open()
        doomed.kill()
        await doomed.wait()
        started = time.monotonic()
        await budget.reserve(priority=Priority.NORMAL, deadline=None)
        assert time.monotonic() - started <= 10 * SLOT


DOOMED = """
import asyncio, sys
from sqlalchemy.engine import make_url
from shared.api import OutreachClient
from shared.storage.rate_budget import SharedBudget

async def main():
    async with (
        SharedBudget(make_url(sys.argv[1]), key="k") as budget,
        OutreachClient(base_url=sys.argv[2], api_key="k", pacer=budget, total_timeout=60) as client,
    ):
        await asyncio.gather(*(client.list_sequences() for _ in range(200)))

asyncio.run(main())
"""


RunScript = Callable[..., Awaitable[asyncio.subprocess.Process]]


@pytest.fixture
async def run_script() -> AsyncIterator[RunScript]:
    """Starts a script in a process of its own, which ends with the test at the latest."""
    async with AsyncExitStack() as started:

        async def run(script: str, *arguments: str, **environ: str) -> asyncio.subprocess.Process:
            command = (sys.executable, "-c", script, *arguments)
            return await started.enter_async_context(
                running_async(*command, cwd=ROOT, env={**os.environ, **environ})
            )

        yield run


async def until_asked(server: ScriptedServer, count: int) -> None:
    async with asyncio.timeout(60):
        while True:
            if len(server.asked) >= count:
                return
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("count", [3, 4])
@pytest.mark.parametrize("temporary", ["usable", "unusable"])
async def test_processes_without_a_usable_budget_file_keep_the_limit_together(
    tmp_path: Path, server: ScriptedServer, temporary_folder: Path, temporary: str, count: int
) -> None:
    (tmp_path / "file").write_text("")
    if temporary == "unusable":  # another user could write to it
        (temporary_folder / f"outreach-ops-{os.getuid()}").mkdir()
        (temporary_folder / f"outreach-ops-{os.getuid()}").chmod(0o777)
    url = make_url(f"sqlite:///{tmp_path / 'file' / 'budget.db'}")
    await asyncio.gather(*(worker(url, server, Priority.NORMAL, 8) for _ in range(count)))
    moments = [asked.at for asked in server.asked]
    assert len(moments) == 8 * count
    assert worst_second(moments) <= 10


async def test_one_process_that_cannot_use_the_file_takes_the_others_along(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = make_url(f"sqlite:///{tmp_path / 'budget.db'}")
    others = [asyncio.create_task(worker(url, server, Priority.NORMAL, 12)) for _ in range(2)]
    await until_asked(server, 8)
    # Only this process is refused, as one out of file descriptors would be.
    monkeypatch.setattr(budget_rows.SQLiteRow, "change", refuse_once(budget_rows.SQLiteRow.change))
    async with SharedBudget(url, key="k") as budget:
        for _ in range(5):
            await budget.reserve(priority=Priority.NORMAL, deadline=None)
            server.asked.append(replace(server.asked[-1], at=time.monotonic()))
    await asyncio.gather(*others)
    moments = [asked.at for asked in server.asked]
    assert len(moments) == 29
    assert worst_second(moments) <= 10


def refuse_once(change: Callable[..., Any]) -> Callable[..., Any]:
    refused: list[bool] = []

    def refusing(row: budget_rows.SQLiteRow, act: Any) -> Any:
        if not refused:
            refused.append(True)
            raise budget_rows.RowUnusable("Too many open files")
        return change(row, act)

    return refusing


SPELLING = """
import asyncio
from shared.operations.context import open_client
from shared.settings import load

async def main():
    settings = load()
    async with open_client(settings, settings.workspace()) as client:
        await asyncio.gather(*(client.list_sequences() for _ in range(10)))

asyncio.run(main())
"""


async def test_spellings_of_one_address_share_the_budget_of_the_key(
    tmp_path: Path, server: ScriptedServer, run_script: RunScript
) -> None:
    hosts = ("127.0.0.1", "localhost", "LOCALHOST")
    environ = {
        "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "OUTREACH_API_KEY": "ok_live"
    }  # fmt: skip
    spelled = [server.base_url.replace("127.0.0.1", host) for host in hosts]
    workers = [await run_script(SPELLING, OUTREACH_BASE_URL=url, **environ) for url in spelled]
    assert [await one.wait() for one in workers] == [0, 0, 0]
    assert len(server.asked) == 30
    assert worst_second([asked.at for asked in server.asked]) <= 10


STEPPING = """
import asyncio, sys, time

started, real = time.monotonic(), time.time
time.time = lambda: real() + 60 * int((time.monotonic() - started) / 0.45)

from sqlalchemy.engine import make_url
from shared.api import OutreachClient, Priority
from shared.storage.rate_budget import SharedBudget

async def main():
    async with (
        SharedBudget(make_url(sys.argv[1]), key="k") as budget,
        OutreachClient(base_url=sys.argv[2], api_key="k", pacer=budget, total_timeout=60) as client,
    ):
        async def bunches():
            for _ in range(5):
                await asyncio.gather(*(client.list_sequences(priority=Priority.INTERACTIVE) for _ in range(5)))
        await asyncio.gather(bunches(), *(client.list_sequences() for _ in range(10)))

asyncio.run(main())
"""


async def test_a_wall_clock_that_is_set_forward_again_and_again_changes_nothing(
    tmp_path: Path, server: ScriptedServer, run_script: RunScript
) -> None:
    process = await run_script(STEPPING, f"sqlite:///{tmp_path / 'budget.db'}", server.base_url)
    assert await process.wait() == 0
    assert len(server.asked) == 35
    assert worst_second([asked.at for asked in server.asked]) <= 10


async def test_a_resumed_process_continues_at_once(
    tmp_path: Path, server: ScriptedServer, run_script: RunScript
) -> None:
    url = make_url(f"sqlite:///{tmp_path / 'budget.db'}")
    process = await run_script(DOOMED, str(url), server.base_url)
    await until_asked(server, 5)
    process.send_signal(signal.SIGSTOP)
    before = len(server.asked)
    await asyncio.sleep(5)
    process.send_signal(signal.SIGCONT)
    continued = time.monotonic()
    await until_asked(server, before + 20)
    assert time.monotonic() - continued <= 4
    process.kill()
    await process.wait()
    assert worst_second([asked.at for asked in server.asked]) <= 10
