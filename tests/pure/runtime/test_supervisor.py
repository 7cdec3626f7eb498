"""Tasks that fail are started again, and whoever asks how the bot is learns of it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from bot import runtime
from bot.runtime import FAILING, Supervisor
from bot.telemetry import metrics
from tests.kit.waiting import until


async def test_a_task_that_recovers_no_longer_counts_as_failing(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses, runs = list[float](), 0

    async def pause(seconds: float) -> None:
        pauses.append(seconds * 1000)

    monkeypatch.setattr(runtime, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": pause}))
    monkeypatch.setattr(runtime, "FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(runtime, "LONGEST_PAUSE_SECONDS", 0.02)
    supervisor = Supervisor()
    failing = metrics.TASK_FAILING.labels("task")
    before = metrics.TASK_FAILURES.labels("task")._value.get()

    async def run() -> None:
        nonlocal runs
        runs += 1
        assert bool(supervisor.problems()) == (failing._value.get() == 1) == (runs > FAILING)
        if runs < 8:
            raise ValueError("x" * 300)
        await asyncio.Event().wait()

    async with supervisor.running("task", run):
        await until(lambda: asyncio.sleep(0, result=runs == 8))
        error = f"ValueError: {'x' * 188}"
        assert supervisor.problems() == [f"task failed 7 times in a row: {error}"]
        assert supervisor.state == {"task": {"restarts": 7, "failing": True, "error": error}}
        await until(lambda: asyncio.sleep(0, result=not supervisor.problems()))
        assert (supervisor.state["task"]["failing"], failing._value.get()) == (False, 0)
    assert pauses == pytest.approx([1, 2, 4, 8, 16, 20, 20])
    assert metrics.TASK_FAILURES.labels("task")._value.get() == before + 7


async def test_an_unresponsive_peer_is_no_failure_of_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "FIRST_PAUSE_SECONDS", 0.001)
    supervisor = Supervisor(expected=(ConnectionError,))
    runs = 0

    async def run() -> None:
        nonlocal runs
        runs += 1
        raise ConnectionError

    async with supervisor.running("task", run):
        await until(lambda: asyncio.sleep(0, result=runs > FAILING))
    assert not supervisor.problems()


async def test_a_task_is_cancelled_and_waited_for_at_the_end() -> None:
    ended = False

    async def run() -> None:
        nonlocal ended
        try:
            await asyncio.Event().wait()
        finally:
            # A cleanup that takes a turn of the loop: not waited for, it would be cut off.
            await asyncio.sleep(0)
            ended = True

    async with Supervisor().running("task", run):
        await asyncio.sleep(0)
    assert ended
