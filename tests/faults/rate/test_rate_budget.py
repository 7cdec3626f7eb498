"""One budget for all processes of a key: at most ten in any second, a person first, stopped together."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import time
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from shared.api import Priority
from shared.api.pace import DEFAULT_RATE
from shared.storage.budget import ALONE_SHARE, SharedBudget, budget_key


@pytest.fixture
async def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits that budgets asked for in this test, which a busy machine doesn't make longer.

    A fixture that several tests share may run a loop of its own, in another thread.
    """
    asked: list[float] = []
    sleep, own = asyncio.sleep, asyncio.get_running_loop()

    async def recorded(seconds: float) -> None:
        if asyncio.get_running_loop() is own:
            asked.append(seconds)
        await sleep(seconds)

    monkeypatch.setattr(asyncio, "sleep", recorded)
    return asked


async def test_the_file_is_for_its_owner_alone_and_holds_no_key(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    key = budget_key("ok_live_s3cr3t")
    async with SharedBudget(make_url(f"sqlite:///{folder}/outreach.db"), key=key) as budget:
        await budget.reserve(priority=Priority.NORMAL, deadline=None)
    (path,) = folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert key in path.name
    assert "s3cr3t" not in path.name + path.read_text()
    assert len(key) == 16


async def test_a_database_that_is_lost_costs_all_but_a_fifth_of_the_rate(
    waits: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    address = make_url("postgresql+psycopg://nobody@127.0.0.1:9/none")
    async with SharedBudget(address, key="k") as budget:
        started = time.monotonic()
        for _ in range(3):
            await budget.reserve(priority=Priority.NORMAL, deadline=None)
        # A second of waiting, since nothing is known of what others sent; then the intervals of its share.
        assert time.monotonic() - started >= 1.0 + 2 * ALONE_SHARE / DEFAULT_RATE
        assert sum(waits) <= 4.0
        assert budget.state().rate == pytest.approx(DEFAULT_RATE / ALONE_SHARE)
    assert "a fifth of the rate" in caplog.text


@pytest.mark.parametrize("kept", ["nonsense", '{"interval": 1, "sent": [], "moon": 2}'])
async def test_a_row_that_cannot_be_read_begins_afresh_after_a_second(tmp_path: Path, kept: str) -> None:
    url, path = make_url(f"sqlite:///{tmp_path}/state/outreach.db"), tmp_path / "state" / "budget-k.json"
    async with SharedBudget(url, key="k") as budget:
        path.write_text(kept)
        started = time.monotonic()
        await budget.reserve(priority=Priority.INTERACTIVE, deadline=time.monotonic() + 5.0)
        # What others sent within the last second is unknown: after more than one, none can hold eleven.
        assert time.monotonic() - started > 1.0
        assert path.read_text() != kept


async def test_a_file_that_cannot_be_written_stops_no_request(tmp_path: Path) -> None:
    # A full disk must not blind a dashboard: the process goes on with a share of the rate.
    (tmp_path / "file").write_text("")
    async with SharedBudget(make_url(f"sqlite:///{tmp_path}/file/outreach.db"), key="k") as budget:
        await budget.reserve(priority=Priority.NORMAL, deadline=time.monotonic() + 3.0)
        assert budget.state().used_last_second == 1


async def test_a_budget_file_that_is_deleted_is_replaced_for_all(tmp_path: Path) -> None:
    url, path = make_url(f"sqlite:///{tmp_path}/state/outreach.db"), tmp_path / "state" / "budget-k.json"
    async with SharedBudget(url, key="k") as one:
        # Opened for each change: who kept the old descriptor would count alone from here on.
        path.unlink()
        async with SharedBudget(url, key="k") as other:
            await other.throttled(30.0)
            await one.late(0.0)  # reads the row
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
        # Stopped and not killed: the connection stays open and says nothing, which no error reports.
        os.kill(pid, signal.SIGSTOP)
        try:
            async with asyncio.timeout(30):
                await budget.reserve(priority=Priority.NORMAL, deadline=None)
            assert budget.state().rate == pytest.approx(DEFAULT_RATE), "another connection is used"
        finally:
            os.kill(pid, signal.SIGCONT)
