"""One kill at a post delays later alerts of its channel no longer than a lease, though Slack allows one look-up a minute."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from tests.bot.harness import BotHarness, bot_process, interested, open_harness
from tests.kit.waiting import until

LATER = range(1, 6)


@pytest.mark.e2e
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_alerts_after_a_kill_at_a_post_wait_for_no_look_up(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    database = request.getfixturevalue("fresh_postgresql") if engine == "postgresql" else ""
    async with open_harness(tmp_path, database=database) as bot:
        await bot.control(
            "faults", method="conversations.history", kind="rate_limited", retry_after=60, times=None
        )
        await bot.control("faults", method="chat.postMessage", kind="delay", delay=1.0)
        async with bot_process(bot, pace=None) as process:
            assert await bot.deliver(interested(0)) == 200
            await until(lambda: took_a_fault(bot))
            process.send_signal(signal.SIGKILL)
            await process.wait()
        async with bot_process(bot, pace=None):
            delays = [await delay(bot, number) for number in LATER]
            print(json.dumps({"engine": engine, "seconds": [round(one, 2) for one in delays]}))  # noqa: T201 a report
            # Three times less than the pause that Slack asks for, and many times what a busy machine needs.
            assert max(delays) < 20, "Slack allows the next look-up after 60 s"
            assert set((await bot.posted()).values()) == {1}


async def took_a_fault(bot: BotHarness) -> bool:
    """Whether the post is under way: its fault is used up."""
    async with bot.http.get(f"{bot.slack.origin}/control/state") as answer:
        faults = (await answer.json())["faults"]
    return not any(fault["method"] == "chat.postMessage" for fault in faults)


async def delay(bot: BotHarness, number: int) -> float:
    """Seconds from a delivery to its message."""
    began = time.monotonic()
    assert await bot.deliver(interested(number)) == 200

    async def posted() -> bool:
        return any(f"Ada {number}" in one["text"] for one in await bot.messages())

    await until(posted, seconds=90)
    return time.monotonic() - began
