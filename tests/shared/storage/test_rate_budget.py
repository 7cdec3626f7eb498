"""One budget for all processes of a key: at most ten in any second, a person first, stopped together."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import stat
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import URL, make_url

from shared.api import LocalBudget, Priority, RateLimited
from shared.api.http.rate_limit import BURST
from shared.storage import budget_rows
from shared.storage.rate_budget import SharedBudget, budget_key
from tests.shared.api.scripted_server import Answer, ScriptedServer, open_scripted_server, worst_second

ROOT = Path(__file__).parents[3]
SLOT = 1 / 9.5


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the test's own, also for the processes it starts."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> URL:
    if request.param == "sqlite":
        return make_url(f"sqlite:///{tmp_path / 'budget.db'}")
    return make_url(request.getfixturevalue("postgresql")).set(drivername="postgresql+psycopg")


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with open_scripted_server() as opened:
        opened.play = lambda _: Answer(body=[])
        yield opened


async def worker(url: URL, server: ScriptedServer, priority: str, count: int) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name("budget_worker.py")),
        url.render_as_string(hide_password=False),
        server.base_url,
        priority,
        str(count),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    body: dict[str, Any] = json.loads(out)
    return body


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


async def test_what_one_command_reads_waits_for_nothing_where_the_key_was_quiet(url: URL) -> None:
    async with SharedBudget(url, key="quiet") as budget:
        started = time.monotonic()
        turns = (budget.reserve(priority=Priority.INTERACTIVE, deadline=None) for _ in range(BURST))
        await asyncio.gather(*turns)
        assert time.monotonic() - started < SLOT


async def test_who_goes_on_alone_takes_nothing_early() -> None:
    budget = LocalBudget(9.5, bursts=False)
    started = time.monotonic()
    await asyncio.gather(*(budget.reserve(priority=Priority.INTERACTIVE, deadline=None) for _ in range(3)))
    assert time.monotonic() - started >= 2 * SLOT - 0.02


async def test_a_429_stops_every_holder_of_the_row(url: URL) -> None:
    async with SharedBudget(url, key="stop") as one, SharedBudget(url, key="stop") as other:
        await one.reserve(priority=Priority.NORMAL, deadline=None)
        await one.throttled(0.6)
        started = time.monotonic()
        await other.reserve(priority=Priority.INTERACTIVE, deadline=None)
        assert 0.5 <= time.monotonic() - started <= 2.0
        state = other.state()
        assert (state.throttled_count, round(state.rate, 2)) == (1, 7.6)


async def test_a_turn_beyond_the_deadline_is_not_taken(url: URL) -> None:
    async with SharedBudget(url, key="deadline") as budget:
        await budget.throttled(30.0)
        with pytest.raises(RateLimited) as caught:
            await budget.reserve(priority=Priority.NORMAL, deadline=time.monotonic() + 1.0)
        assert 25 < caught.value.retry_after <= 30.2
        assert budget.state().waiting == 0
        resumes_at = budget.state().resumes_at
        assert resumes_at is not None
        assert 25 < resumes_at - time.time() <= 31


async def test_workspaces_do_not_wait_for_one_another(url: URL) -> None:
    async with SharedBudget(url, key="a") as one, SharedBudget(url, key="b") as other:
        await one.throttled(30.0)
        await asyncio.wait_for(other.reserve(priority=Priority.NORMAL, deadline=None), 2.0)
        assert one.state().resumes_at is not None
        assert other.state().resumes_at is None


async def test_the_file_is_for_its_owner_alone_and_holds_no_key(tmp_path: Path) -> None:
    path = tmp_path / "state" / "budget.db"
    key = budget_key("ok_live_s3cr3t")
    async with SharedBudget(make_url(f"sqlite:///{path}"), key=key) as budget:
        await budget.reserve(priority=Priority.NORMAL, deadline=None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert key.encode() in path.read_bytes()
    assert b"s3cr3t" not in path.read_bytes()
    assert len(key) == 16


async def test_a_damaged_file_costs_half_the_rate_for_a_while_and_heals(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "budget.db"
    path.write_bytes(b"no database " * 1000)
    async with SharedBudget(make_url(f"sqlite:///{path}"), key="k") as budget:
        assert budget.state().rate == pytest.approx(4.75)
        await budget.reserve(priority=Priority.NORMAL, deadline=time.monotonic() + 2.0)
        assert "half the rate" in caplog.text
        monkeypatch.setattr(budget_rows, "FALLBACK_SECONDS", 0.0)
        await budget.reserve(priority=Priority.NORMAL, deadline=time.monotonic() + 2.0)
        assert budget.state().rate == pytest.approx(9.5)


async def test_a_database_that_is_gone_stops_nobody() -> None:
    address = make_url("postgresql+psycopg://nobody@127.0.0.1:9/none")
    async with SharedBudget(address, key="k") as budget:
        started = time.monotonic()
        for _ in range(3):
            await budget.reserve(priority=Priority.NORMAL, deadline=None)
        assert 2 / 4.75 - 0.05 <= time.monotonic() - started <= 2.0


@pytest.mark.parametrize("kept", ["", "nonsense", "[]", "{}", '{"interval": 1, "sent": [], "moon": 2}'])
async def test_a_row_that_another_version_wrote_begins_afresh(tmp_path: Path, kept: str) -> None:
    url = make_url(f"sqlite:///{tmp_path / 'budget.db'}")
    async with SharedBudget(url, key="k") as budget:
        with sqlite3.connect(tmp_path / "budget.db") as connection:
            connection.execute("UPDATE request_budget SET pace = ?", (kept,)).close()
        await budget.reserve(priority=Priority.NORMAL, deadline=time.monotonic() + 1.0)
        with sqlite3.connect(tmp_path / "budget.db") as connection:
            assert connection.execute("SELECT pace FROM request_budget").fetchone() != (kept,)


async def test_bulk_keeps_the_line_short() -> None:
    budget = LocalBudget(9.5)
    tasks = [asyncio.create_task(budget.reserve(priority=Priority.BULK, deadline=None)) for _ in range(50)]
    await asyncio.sleep(0)
    started = time.monotonic()
    await budget.reserve(priority=Priority.NORMAL, deadline=None)
    assert time.monotonic() - started <= 4 * SLOT
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_process_that_is_killed_leaves_few_places_that_nobody_comes_for(
    tmp_path: Path, server: ScriptedServer
) -> None:
    url = make_url(f"sqlite:///{tmp_path / 'budget.db'}")
    doomed = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DOOMED, str(url), server.base_url, cwd=ROOT
    )
    async with SharedBudget(url, key="k") as budget:
        async with asyncio.timeout(10):
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


async def run_script(script: str, *arguments: str, **environ: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, *arguments, cwd=ROOT, env={**os.environ, **environ}
    )


async def until_asked(server: ScriptedServer, count: int) -> None:
    async with asyncio.timeout(20):
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
    if temporary == "unusable":  # somebody else could write to it
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
    tmp_path: Path, server: ScriptedServer
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
    tmp_path: Path, server: ScriptedServer
) -> None:
    process = await run_script(STEPPING, f"sqlite:///{tmp_path / 'budget.db'}", server.base_url)
    assert await process.wait() == 0
    assert len(server.asked) == 35
    assert worst_second([asked.at for asked in server.asked]) <= 10


async def test_a_lone_process_that_was_stopped_goes_on_at_once(
    tmp_path: Path, server: ScriptedServer
) -> None:
    url = make_url(f"sqlite:///{tmp_path / 'budget.db'}")
    process = await run_script(DOOMED, str(url), server.base_url)
    await until_asked(server, 5)
    process.send_signal(signal.SIGSTOP)
    before = len(server.asked)
    await asyncio.sleep(5)
    process.send_signal(signal.SIGCONT)
    continued = time.monotonic()
    try:
        await until_asked(server, before + 20)
    finally:
        process.kill()
        await process.wait()
    assert time.monotonic() - continued <= 4
    assert worst_second([asked.at for asked in server.asked]) <= 10


async def test_a_budget_file_that_is_deleted_is_replaced_for_all(tmp_path: Path) -> None:
    url = make_url(f"sqlite:///{tmp_path / 'budget.db'}")
    async with SharedBudget(url, key="k") as one:
        (tmp_path / "budget.db").unlink()
        async with SharedBudget(url, key="k") as other:
            await other.throttled(30.0)
            await one.open()
            assert one.state().resumes_at is not None


async def test_a_database_that_hangs_delays_a_request_by_seconds(fresh_postgresql: str) -> None:
    import psycopg

    async with SharedBudget(make_url(fresh_postgresql), key="k") as budget:
        await budget.reserve(priority=Priority.NORMAL, deadline=None)
        with psycopg.connect(fresh_postgresql) as connection:
            found = connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE query LIKE '%request_budget%' AND pid <> pg_backend_pid()"
                " OR query = 'COMMIT' AND datname = current_database()"
            ).fetchall()
        ((pid,),) = found
        os.kill(pid, signal.SIGSTOP)
        try:
            started = time.monotonic()
            async with asyncio.timeout(10):
                await budget.reserve(priority=Priority.NORMAL, deadline=None)
            assert time.monotonic() - started < 10
        finally:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("rate", [0, -1, 10.1, float("nan")])
def test_a_rate_that_the_service_does_not_allow_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="at most 10"):
        LocalBudget(rate)
