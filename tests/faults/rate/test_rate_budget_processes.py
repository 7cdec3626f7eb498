"""One budget in several processes that die, stop, spell an address differently, or cannot use the file.

Whether they keep the limit is judged by what they were granted, not by when the requests arrived: on a busy machine one
that is held up on its way arrives together with others.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from sqlalchemy.engine import URL, make_url

from shared.api import Priority
from shared.api.pace import BURST, EARLY_SECONDS, boot_time
from shared.storage.budget import SharedBudget
from tests.client.scripted_server import ScriptedServer
from tests.faults.rate import grant_log
from tests.faults.rate.grant_log import WRITE_GRANTS, GrantLog, write_grants
from tests.kit.processes import running_async
from tests.kit.waiting import until

pytestmark = pytest.mark.e2e

SECONDS = 60.0
"""For a few dozen requests, on whatever machine."""


@pytest.fixture
def grants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GrantLog:
    """What this process and those of `worker` and `run_script` were granted."""
    file = tmp_path / "grants"
    monkeypatch.setenv(grant_log.VARIABLE, str(file))
    write_grants(str(file), patch=monkeypatch.setattr)
    return GrantLog(file)


ROOT = Path(__file__).parents[3]
SLOT = 1 / 9.5


async def worker(url: URL, server: ScriptedServer, priority: str, count: int) -> int:
    """Run one to its end; its process id."""
    command = (
        sys.executable,
        str(Path(__file__).with_name("budget_worker.py")),
        url.render_as_string(hide_password=False),
        server.base_url,
        priority,
        str(count),
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    async with running_async(*command, env=environ) as process:
        assert await process.wait() == 0
    return process.pid


RunScript = Callable[..., Awaitable[asyncio.subprocess.Process]]


@pytest.fixture
async def run_script(grants: GrantLog) -> AsyncIterator[RunScript]:
    """Starts a script in a process of its own, which ends with the test at the latest."""
    async with AsyncExitStack() as started:

        async def run(script: str, *arguments: str, **environ: str) -> asyncio.subprocess.Process:
            command = (sys.executable, "-c", WRITE_GRANTS + script, *arguments)
            return await started.enter_async_context(
                running_async(*command, cwd=ROOT, env={**os.environ, **environ})
            )

        yield run


def assert_limit_kept(grants: GrantLog, server: ScriptedServer) -> None:
    assert len(server.asked) <= len(grants.granted()), "nothing went without a grant"
    assert grants.worst_second() <= 10, str(grants.granted())


async def test_several_processes_together_keep_the_limit_and_a_person_comes_first(
    url: URL, server: ScriptedServer, grants: GrantLog
) -> None:
    _, _, person, _ = await asyncio.gather(
        worker(url, server, Priority.BULK, 8),
        worker(url, server, Priority.NORMAL, 5),
        worker(url, server, Priority.INTERACTIVE, 3),
        worker(url, server, "status", 5),
    )
    assert len(server.asked) == 21
    assert_limit_kept(grants, server)
    moments = grants.granted()
    assert max(moments) - min(moments) >= (20 - BURST) * SLOT
    # The other person, who reads five things at once, may come before one of the three.
    assert sorted(grants.waits_of(person))[-2] <= 2 * (SLOT + EARLY_SECONDS)


async def test_a_killed_process_wastes_few_slots(
    tmp_path: Path, server: ScriptedServer, run_script: RunScript, grants: GrantLog
) -> None:
    url = make_url(f"sqlite:///{tmp_path / 'budget.db'}")
    doomed = await run_script(DOOMED, str(url), server.base_url)
    await until_asked(server, 5)
    async with SharedBudget(url, key="k") as budget:
        doomed.kill()
        await doomed.wait()
        dead_at = boot_time()
        await budget.reserve(priority=Priority.NORMAL, deadline=None)
    assert sum(grants.waits(since=dead_at)) <= 10 * SLOT


DOOMED = """
import asyncio, sys
from sqlalchemy.engine import make_url
from shared.api import OutreachClient
from shared.storage.budget import SharedBudget

async def main():
    async with (
        SharedBudget(make_url(sys.argv[1]), key="k") as budget,
        OutreachClient(base_url=sys.argv[2], api_key="k", pacer=budget, total_timeout=60) as client,
    ):
        await asyncio.gather(*(client.list_sequences() for _ in range(200)))

asyncio.run(main())
"""


async def until_asked(server: ScriptedServer, count: int) -> None:
    await until(lambda: len(server.asked) >= count, seconds=SECONDS)
