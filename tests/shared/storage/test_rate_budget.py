"""One budget for all processes of a key: at most ten in any second, a person first, stopped together."""

from __future__ import annotations

import asyncio
import heapq
import os
import signal
import stat
import threading
import time
from pathlib import Path

import pytest
from sqlalchemy.engine import URL, make_url

from shared.api import LocalBudget, Priority, RateLimited, pace
from shared.api.pace import ALONE_SHARE, BURST, DEFAULT_RATE, Pace, SharedBudget, budget_key, row_at
from tests.clock import moment
from tests.shared.storage.budget_processes import SLOT


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


async def test_a_command_does_not_wait_after_a_quiet_time(url: URL, waits: list[float]) -> None:
    async with SharedBudget(url, key="quiet") as budget:
        turns = (budget.reserve(priority=Priority.INTERACTIVE, deadline=None) for _ in range(BURST))
        await asyncio.gather(*turns)
    assert waits == []


async def test_a_process_without_a_shared_budget_sends_nothing_early() -> None:
    budget = LocalBudget(9.5, bursts=False)
    started = time.monotonic()
    await asyncio.gather(*(budget.reserve(priority=Priority.INTERACTIVE, deadline=None) for _ in range(3)))
    assert time.monotonic() - started >= 2 * SLOT - 0.02


async def test_a_429_stops_every_holder_of_the_row(url: URL, waits: list[float]) -> None:
    async with SharedBudget(url, key="stop") as one, SharedBudget(url, key="stop") as other:
        await one.reserve(priority=Priority.NORMAL, deadline=None)
        await one.throttled(0.6)
        started = time.monotonic()
        await other.reserve(priority=Priority.INTERACTIVE, deadline=None)
        assert time.monotonic() - started >= 0.5
        assert sum(waits) <= 2.0
        state = other.state()
        assert (state.throttled_count, round(state.rate, 2)) == (1, 4.75)


async def test_a_turn_beyond_the_deadline_is_not_taken(url: URL) -> None:
    async with SharedBudget(url, key="deadline") as budget:
        await budget.throttled(30.0)
        with pytest.raises(RateLimited) as caught:
            await budget.reserve(priority=Priority.NORMAL, deadline=time.monotonic() + 1.0)
        assert 25 < caught.value.retry_after <= 30.2
        assert budget.state().waiting == 0
        resumes_at = budget.state().resumes_at
        assert resumes_at is not None
        assert 25 < resumes_at - moment().timestamp() <= 31


async def test_workspaces_do_not_wait_for_one_another(url: URL) -> None:
    async with SharedBudget(url, key="a") as one, SharedBudget(url, key="b") as other:
        await one.throttled(30.0)
        await asyncio.wait_for(other.reserve(priority=Priority.NORMAL, deadline=None), 20.0)
        assert one.state().resumes_at is not None
        assert other.state().resumes_at is None


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
        assert time.monotonic() - started >= 2 * ALONE_SHARE / DEFAULT_RATE - 0.05
        assert sum(waits) <= 4.0
        assert budget.state().rate == pytest.approx(DEFAULT_RATE / ALONE_SHARE)
    assert "a fifth of the rate" in caplog.text


@pytest.mark.parametrize("kept", ["nonsense", "[]", "{}", '{"interval": 1, "sent": [], "moon": 2}', "\0"])
async def test_a_row_that_cannot_be_read_begins_afresh_after_a_second(tmp_path: Path, kept: str) -> None:
    url, path = make_url(f"sqlite:///{tmp_path}/state/outreach.db"), tmp_path / "state" / "budget-k.json"
    async with SharedBudget(url, key="k") as budget:
        path.write_text(kept)
        started = time.monotonic()
        await budget.reserve(priority=Priority.INTERACTIVE, deadline=time.monotonic() + 5.0)
        assert time.monotonic() - started > 1.0
        assert path.read_text() != kept


async def test_a_file_that_cannot_be_written_stops_no_request(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    async with SharedBudget(make_url(f"sqlite:///{tmp_path}/file/outreach.db"), key="k") as budget:
        await budget.reserve(priority=Priority.NORMAL, deadline=time.monotonic() + 3.0)


class CountedClock:
    """Seconds that pass only while everybody sleeps, in place of a budget's clock and its waits."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []
        self._yield = asyncio.sleep
        patch.setattr(pace, "boot_time", lambda: self.now)
        patch.setattr(asyncio, "sleep", self._sleep)

    async def _sleep(self, seconds: float) -> None:
        awake = asyncio.Event()
        heapq.heappush(self._sleepers, (self.now + seconds, len(self._sleepers), awake))
        await awake.wait()

    async def until(self, task: asyncio.Task[None]) -> None:
        """Wake one sleeper after the other until the task is done."""
        while not task.done():
            for _ in range(10):  # everybody who can go on does
                await self._yield(0)
            if self._sleepers and not task.done():
                self.now, _, awake = heapq.heappop(self._sleepers)
                awake.set()


@pytest.mark.parametrize(("priority", "most_before", "seconds"), [
    (Priority.NORMAL, 2, 2 * SLOT),
    (Priority.INTERACTIVE, 1, 0.0),
])  # fmt: skip
async def test_bulk_keeps_the_line_short(
    monkeypatch: pytest.MonkeyPatch, priority: Priority, most_before: int, seconds: float
) -> None:
    clock, budget = CountedClock(monkeypatch), LocalBudget(9.5)
    bulk = [asyncio.create_task(budget.reserve(priority=Priority.BULK, deadline=None)) for _ in range(50)]
    other = asyncio.create_task(budget.reserve(priority=priority, deadline=None))
    asked_at = clock.now
    await clock.until(other)
    assert sum(task.done() for task in bulk) <= most_before
    assert clock.now - asked_at <= seconds + 0.001
    for task in bulk:
        task.cancel()
    await asyncio.gather(*bulk, return_exceptions=True)


async def test_a_budget_file_that_is_deleted_is_replaced_for_all(tmp_path: Path) -> None:
    url, path = make_url(f"sqlite:///{tmp_path}/state/outreach.db"), tmp_path / "state" / "budget-k.json"
    async with SharedBudget(url, key="k") as one:
        path.unlink()
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
            async with asyncio.timeout(30):
                await budget.reserve(priority=Priority.NORMAL, deadline=None)
            assert budget.state().rate == pytest.approx(DEFAULT_RATE / ALONE_SHARE)
        finally:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("rate", [0, -1, 10.1, float("nan")])
def test_a_rate_that_the_service_does_not_allow_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="at most 10"):
        LocalBudget(rate)


def test_a_row_of_a_database_is_closed_only_between_two_changes(fresh_postgresql: str) -> None:
    """Two threads on one connection end the process with a segmentation fault."""
    row = row_at(make_url(fresh_postgresql), "k")
    begun, go_on = threading.Event(), threading.Event()

    def slow(pace: Pace, _now: float) -> tuple[Pace, float]:
        begun.set()
        go_on.wait(10)
        return pace, 0.0

    changing = threading.Thread(target=row.change, args=(slow,))
    changing.start()
    begun.wait(10)
    closing = threading.Thread(target=row.close)
    closing.start()
    closing.join(0.1)
    assert closing.is_alive()
    go_on.set()
    changing.join(10)
    closing.join(10)
    assert not closing.is_alive()
