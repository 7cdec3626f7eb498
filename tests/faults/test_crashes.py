"""What was answered 200 is posted exactly once, whatever dies in between: real processes, both engines."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from pathlib import Path

import aiohttp
import psycopg
import pytest

from tests.bot.harness import HASTE, BotHarness, bot_inside, bot_process, interested, open_harness
from tests.bot.random_faults import restart
from tests.kit.ports import free_port
from tests.kit.waiting import until

SWIFT = replace(HASTE, period=0.01)


@pytest.fixture(params=["sqlite", "postgresql"])
async def home(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BotHarness]:
    database = request.getfixturevalue("fresh_postgresql") if request.param == "postgresql" else ""
    async with open_harness(tmp_path, database=database) as bot:
        await bot.control("settings", messages_per_second=0)
        yield bot


async def burst(bot: BotHarness, numbers: Iterable[int]) -> set[int]:
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


@pytest.mark.e2e
async def test_a_bot_killed_in_the_middle_of_a_burst_posts_every_accepted_delivery_once(
    home: BotHarness,
) -> None:
    async with bot_process(home, pace=SWIFT) as process:
        sending = asyncio.create_task(burst(home, range(100)))
        # Posting has begun, so that the kill meets deliveries that are stored, being posted, and still under way.
        await home.until_posted(1)
        process.send_signal(signal.SIGKILL)
        accepted = await sending
    assert accepted
    async with bot_process(home, pace=SWIFT):
        # What was answered before the kill, but after its answer was lost, comes a second time here.
        for _ in range(5):  # the sender tries everything again, as often as it ever does
            accepted |= await burst(home, range(100))
        assert len(accepted) == 100
        posted = await home.until_posted(100, seconds=60)
    assert set(posted.values()) == {1}


@pytest.mark.e2e
async def test_sigterm_ends_the_bot_and_loses_nothing(home: BotHarness) -> None:
    async with bot_process(home, pace=SWIFT) as process:
        assert await burst(home, range(20)) == set(range(20))
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 60) == 0
    async with bot_process(home, pace=SWIFT):
        posted = await home.until_posted(20, seconds=60)
    assert set(posted.values()) == {1}


@pytest.mark.e2e
async def test_two_bots_on_one_postgresql_share_the_work_and_one_that_dies_delays_nothing_for_long(
    fresh_postgresql: str, tmp_path: Path
) -> None:
    async with open_harness(tmp_path, database=fresh_postgresql) as bot, second_bot(bot) as other:
        await bot.control("settings", messages_per_second=0)
        async with bot_process(bot, pace=SWIFT) as doomed, bot_process(other, pace=SWIFT):
            sending = asyncio.gather(burst(bot, range(120)), burst(other, range(120)))
            await bot.until_posted(1)
            doomed.send_signal(signal.SIGKILL)
            first, second = await sending
            assert second == set(range(120))
            # The other bot outlives the first: what is answered by neither would be lost by the service alone.
            assert first <= second
            posted = await other.until_posted(120, seconds=60)
    assert set(posted.values()) == {1}


@pytest.mark.e2e
async def test_a_bot_that_sleeps_through_its_lease_says_nothing_twice_when_it_wakes(
    fresh_postgresql: str, tmp_path: Path
) -> None:
    async with open_harness(tmp_path, database=fresh_postgresql) as bot, second_bot(bot) as other:
        await bot.control("settings", messages_per_second=0)
        async with bot_process(bot, pace=SWIFT) as sleeper, bot_process(other, pace=SWIFT):
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


@pytest.mark.e2e
async def test_a_clock_set_forward_a_month_and_back_two_hours_loses_and_doubles_nothing(
    tmp_path: Path,
) -> None:
    """While the bot runs, and between two runs; in each time one message has an answer that is lost."""
    by, number = tmp_path / "by", 0

    async def some_alerts(bot: BotHarness) -> None:
        nonlocal number
        await bot.control("faults", method="chat.postMessage", kind="accept_then_cut")
        for _ in range(4):
            assert await bot.deliver(interested(number)) == 200
            number += 1
        assert set((await bot.until_posted(number, seconds=30)).values()) == {1}

    async def settled(bot: BotHarness) -> bool:
        unconfirmed = json.loads((await bot.get("/readyz"))[1])["unconfirmed_posts"]
        return not any(unconfirmed.values())

    def set_clock(seconds: int) -> None:
        new = tmp_path / "new"
        new.write_text(str(seconds))
        # A rename: the bot never reads a file that is half written.
        new.replace(by)  # the bot reads it all the time

    async with open_harness(tmp_path) as bot:
        await bot.control("settings", messages_per_second=0)
        for times in ((0, MONTH, -HOURS), (MONTH, -HOURS), (0,)):
            set_clock(times[0])
            async with bot_process(bot, pace=SWIFT, before=SET.format(file=str(by))) as process:
                for seconds in times:
                    set_clock(seconds)
                    await some_alerts(bot)
                # A post whose fate is unknown is looked up at a time by the clock that was set: it must still come.
                await until(lambda: settled(bot), seconds=30)
                process.send_signal(signal.SIGKILL)
                await process.wait()
        assert set((await bot.posted()).values()) == {1}


@contextlib.asynccontextmanager
async def second_bot(bot: BotHarness) -> AsyncIterator[BotHarness]:
    """The same Slack and database, for a bot on another port."""
    port = free_port()
    yield replace(bot, port=port, environ={**bot.environ, "OUTREACH_PORT": str(port)})


async def test_postgresql_that_cuts_every_connection_loses_no_delivery(
    fresh_postgresql: str, tmp_path: Path
) -> None:
    async with open_harness(tmp_path, database=fresh_postgresql) as bot, bot_inside(bot, pace=SWIFT):
        await bot.control("settings", messages_per_second=0)
        assert await bot.deliver(interested(1)) == 200
        # The pool finds out at the next use of each connection, also in the middle of a commit.
        await asyncio.to_thread(cut_everybody, fresh_postgresql)

        async def taken() -> bool:
            return await bot.deliver(interested(2)) == 200

        await until(taken)
        assert set((await bot.until_posted(2)).values()) == {1}


@pytest.mark.e2e
async def test_a_postgresql_that_is_restarted_under_a_running_bot_loses_no_delivery(
    fresh_postgresql: str, tmp_path: Path
) -> None:
    async with open_harness(tmp_path, database=fresh_postgresql) as bot, bot_inside(bot, pace=SWIFT):
        await bot.control("settings", messages_per_second=0)
        sending = asyncio.create_task(patient_burst(bot, range(30)))
        await bot.until_posted(1)
        await asyncio.to_thread(restart, fresh_postgresql)
        await sending
        assert set((await bot.until_posted(30)).values()) == {1}
        ready = json.loads((await bot.get("/readyz"))[1])
        assert ready["database"] == "ok"


async def patient_burst(bot: BotHarness, numbers: range) -> None:
    """Each until it is accepted, one after the other."""
    for number in numbers:

        async def taken(body: bytes = interested(number)) -> bool:
            return await bot.deliver(body) == 200

        await until(taken)


def cut_everybody(url: str) -> None:
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(others)
