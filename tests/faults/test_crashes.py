"""What was answered 200 is posted exactly once, whatever dies in between: real processes, both engines."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from tests.kit.bot import interested
from tests.kit.team import HASTE, Installation, installed
from tests.kit.waiting import until

pytestmark = pytest.mark.e2e

SWIFT = replace(HASTE, period=0.01)


async def burst(bot: Installation, numbers: Iterable[int]) -> set[int]:
    """Deliver them all, a few at a time; returns those that were answered 200 before the bot was gone."""
    accepted: set[int] = set()
    places = asyncio.Semaphore(8)

    async def one(number: int) -> None:
        async with places:
            try:
                if await bot.deliver(interested(number)) == 200:
                    accepted.add(number)
            except aiohttp.ClientError:
                pass

    await asyncio.gather(*(one(number) for number in numbers))
    return accepted


async def test_alerts_after_a_kill_at_a_post_wait_for_no_look_up(tmp_path: Path) -> None:
    """One kill delays later alerts of its channel no longer than a lease, though Slack allows one look-up a minute."""
    async with installed(tmp_path) as bot:
        await bot.act(
            "faults", method="conversations.history", kind="rate_limited", retry_after=60, times=None
        )
        await bot.act("faults", method="chat.postMessage", kind="delay", delay=1.0)

        async def is_posting() -> bool:
            faults = (await bot.query("state"))["faults"]
            return "chat.postMessage" not in {fault["method"] for fault in faults}  # it is used up

        async with bot.process(pace=None) as process:
            assert await bot.deliver(interested(0)) == 200
            await until(is_posting)
            process.send_signal(signal.SIGKILL)
            await process.wait()
        async with bot.process(pace=None):
            assert await burst(bot, range(1, 4)) == {1, 2, 3}
            # Three times less than the pause that Slack asks for, and many times what a busy machine needs.
            await until(lambda: is_shown(bot, "Ada 3"), seconds=20)
            assert set((await bot.posted()).values()) == {1}


async def is_shown(bot: Installation, words: str) -> bool:
    return any(words in one["text"] for one in await bot.messages())


async def test_two_bots_on_one_postgresql_share_the_work_and_one_that_dies_delays_nothing_for_long(
    fresh_postgresql: str, tmp_path: Path
) -> None:
    async with installed(tmp_path, database=fresh_postgresql) as bot:
        other = bot.second()
        await bot.act("settings", messages_per_second=0)
        async with bot.process(pace=SWIFT) as doomed, other.process(pace=SWIFT):
            sending = asyncio.gather(burst(bot, range(120)), burst(other, range(120)))
            await bot.until_posted(1)
            doomed.send_signal(signal.SIGKILL)
            first, second = await sending
            assert second == set(range(120))
            # The other bot outlives the first: what is answered by neither would be lost by the service alone.
            assert first <= second
            posted = await other.until_posted(120, seconds=60)
    assert set(posted.values()) == {1}


async def test_a_bot_that_sleeps_through_its_lease_says_nothing_twice_when_it_wakes(
    fresh_postgresql: str, tmp_path: Path
) -> None:
    async with installed(tmp_path, database=fresh_postgresql) as bot:
        other = bot.second()
        await bot.act("settings", messages_per_second=0)
        async with bot.process(pace=SWIFT) as sleeper, other.process(pace=SWIFT):
            assert await burst(other, range(60)) == set(range(60))
            for _ in range(3):
                sleeper.send_signal(signal.SIGSTOP)
                await asyncio.sleep(0.6)  # with what it holds
                sleeper.send_signal(signal.SIGCONT)
            # It wakes when others have done its work: whatever it still holds is of an old lease, whose token counts no more.
            sleeper.send_signal(signal.SIGSTOP)
            posted = await other.until_posted(60, seconds=60)
            sleeper.send_signal(signal.SIGCONT)
            assert await burst(bot, range(60, 62)) == {60, 61}, "it is awake"
            posted = await other.until_posted(62)
    assert set(posted.values()) == {1}


SET = """
import pathlib, time
wall, by = time.time, pathlib.Path({file!r})
time.time = lambda: wall() + float(by.read_text())
"""
MONTH, HOURS = 30 * 86_400, 2 * 3_600


async def test_a_clock_set_forward_a_month_and_back_two_hours_loses_and_doubles_nothing(
    tmp_path: Path,
) -> None:
    """While the bot runs, and between two runs; in each time one message has an answer that is lost."""
    by, number = tmp_path / "by", 0

    async def some_alerts(bot: Installation) -> None:
        nonlocal number
        await bot.act("faults", method="chat.postMessage", kind="accept_then_cut")
        for _ in range(4):
            assert await bot.deliver(interested(number)) == 200
            number += 1
        assert set((await bot.until_posted(number, seconds=30)).values()) == {1}

    async def settled(bot: Installation) -> bool:
        unconfirmed = json.loads((await bot.get("/readyz"))[1])["unconfirmed_posts"]
        return not any(unconfirmed.values())

    def set_clock(seconds: int) -> None:
        new = tmp_path / "new"
        new.write_text(str(seconds))
        # A rename: the bot never reads a file that is half written.
        new.replace(by)  # the bot reads it all the time

    async with installed(tmp_path) as bot:
        await bot.act("settings", messages_per_second=0)
        for times in ((0, MONTH, -HOURS), (MONTH, -HOURS), (0,)):
            set_clock(times[0])
            async with bot.process(pace=SWIFT, before=SET.format(file=str(by))) as process:
                for seconds in times:
                    set_clock(seconds)
                    await some_alerts(bot)
                # A post whose fate is unknown is looked up at a time by the clock that was set: it must still come.
                await until(lambda: settled(bot), seconds=30)
                process.send_signal(signal.SIGKILL)
                await process.wait()
        assert set((await bot.posted()).values()) == {1}
