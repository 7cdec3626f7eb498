"""Tasks that fail are started again, and whoever asks how the bot is learns of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bot.runtime import FAILING, Supervisor
from tests.bot.harness import BotHarness, bot_process, interested, open_harness
from tests.kit.service import open_account
from tests.kit.waiting import until

REFRESH_FAILS = """
from shared.store.alerts import Alerts
async def paused_domains(self, workspace):
    raise OverflowError("date value out of range")
Alerts.paused_domains = paused_domains
"""


async def ready(bot: BotHarness) -> tuple[int, dict[str, Any]]:
    status, body = await bot.get("/readyz")
    return status, json.loads(body)


@pytest.mark.e2e
async def test_a_task_that_keeps_failing_is_restarted_and_shown_while_alerts_are_posted(
    tmp_path: Path,
) -> None:
    async with (
        open_account() as account,
        open_harness(tmp_path, **account.environ) as bot,
        bot_process(bot, before=REFRESH_FAILS),
    ):

        async def failing() -> dict[str, Any] | None:
            status, state = await ready(bot)
            task: dict[str, Any] = state["tasks"].get("card_refresh", {})
            return task if status == 503 and task.get("failing") else None

        task = await until(failing)
        assert task["restarts"] >= FAILING
        assert "OverflowError" in task["error"]
        assert 'outreach_task_failing{task="card_refresh"} 1.0' in (await bot.get("/metrics"))[1]
        assert "card_refresh failed" in json.dumps(await bot.say("status"))
        assert await bot.deliver(interested(1)) == 200
        await bot.until_posted(1)


async def test_a_task_that_recovers_no_longer_counts_as_failing() -> None:
    supervisor = Supervisor(first_pause=0.001, longest_pause=0.02)
    runs = 0

    async def run() -> None:
        nonlocal runs
        runs += 1
        if runs <= FAILING:
            raise ValueError
        await asyncio.Event().wait()

    async with supervisor.running("task", run):
        await until(lambda: asyncio.sleep(0, result=runs > FAILING))
        await until(lambda: asyncio.sleep(0, result=not supervisor.problems()))
        assert supervisor.state["task"]["restarts"] == FAILING


async def test_an_unresponsive_peer_is_no_failure_of_the_task() -> None:
    supervisor = Supervisor(expected=(ConnectionError,), first_pause=0.001)
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
