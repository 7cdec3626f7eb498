"""What was answered 200 is posted exactly once, whatever dies in between: real processes, both engines."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.bot.house import House, bot_process, interested, open_house


@pytest.fixture(params=["sqlite", "postgresql"])
async def home(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    database = request.getfixturevalue("fresh_postgresql") if request.param == "postgresql" else ""
    async with open_house(tmp_path, database=database) as house:
        await house.control("settings", messages_per_second=0)
        yield house


async def burst(house: House, numbers: range) -> set[int]:
    """Deliver them all, a few at a time; returns those that were answered 200 before the bot was gone."""
    accepted: set[int] = set()
    places = asyncio.Semaphore(8)

    async def one(number: int) -> None:
        async with places:
            try:
                if await house.deliver(interested(number)) == 200:
                    accepted.add(number)
            except aiohttp.ClientError:
                pass

    await asyncio.gather(*(one(number) for number in numbers))
    return accepted


async def test_a_bot_killed_in_the_middle_of_a_burst_posts_every_accepted_delivery_once(home: House) -> None:
    async with bot_process(home) as process:
        sending = asyncio.create_task(burst(home, range(100)))
        await home.until_posted(1)
        process.send_signal(signal.SIGKILL)
        accepted = await sending
    assert accepted
    async with bot_process(home):
        accepted |= await burst(home, range(100))  # the sender tries everything again
        assert len(accepted) == 100
        posted = await home.until_posted(100, seconds=40)
    assert set(posted.values()) == {1}


async def test_a_bot_that_is_told_to_stop_ends_by_itself_with_everything_kept(home: House) -> None:
    async with bot_process(home) as process:
        assert await burst(home, range(20)) == set(range(20))
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 10) == 0
    async with bot_process(home):
        posted = await home.until_posted(20, seconds=40)
    assert set(posted.values()) == {1}
