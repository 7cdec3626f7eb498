"""What was answered 200 is posted exactly once, whatever dies in between: real processes, both engines."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from shared.domain.wall_clock import DAY
from shared.storage.database import parse_url
from shared.store import open_store
from tests.bot.harness import BotHarness, bot_process, interested, open_harness
from tests.bot.manual_clock import ManualClock, arrive
from tests.kit.clock import moment
from tests.kit.service import Account, open_account
from tests.kit.team import HASTE
from tests.kit.waiting import until

pytestmark = pytest.mark.e2e

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


async def test_alerts_after_a_kill_at_a_post_wait_for_no_look_up(tmp_path: Path) -> None:
    """One kill delays later alerts of its channel no longer than a lease, though Slack allows one look-up a minute."""
    async with open_harness(tmp_path) as bot:
        await bot.control(
            "faults", method="conversations.history", kind="rate_limited", retry_after=60, times=None
        )
        await bot.control("faults", method="chat.postMessage", kind="delay", delay=1.0)

        async def is_posting() -> bool:
            async with bot.http.get(f"{bot.slack.origin}/control/state") as answer:
                faults = (await answer.json())["faults"]
            return "chat.postMessage" not in {fault["method"] for fault in faults}  # it is used up

        async with bot_process(bot, pace=None) as process:
            assert await bot.deliver(interested(0)) == 200
            await until(is_posting)
            process.send_signal(signal.SIGKILL)
            await process.wait()
        async with bot_process(bot, pace=None):
            assert await burst(bot, range(1, 4)) == {1, 2, 3}
            # Three times less than the pause that Slack asks for, and many times what a busy machine needs.
            await until(lambda: is_shown(bot, "Ada 3"), seconds=20)
            assert set((await bot.posted()).values()) == {1}


async def is_shown(bot: BotHarness, words: str) -> bool:
    return any(words in one["text"] for one in await bot.messages())


async def test_sigterm_ends_the_bot_and_loses_nothing(home: BotHarness) -> None:
    async with bot_process(home, pace=SWIFT) as process:
        assert await burst(home, range(20)) == set(range(20))
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 60) == 0
    async with bot_process(home, pace=SWIFT):
        posted = await home.until_posted(20, seconds=60)
    assert set(posted.values()) == {1}


async def test_two_bots_on_one_postgresql_share_the_work_and_one_that_dies_delays_nothing_for_long(
    fresh_postgresql: str, tmp_path: Path
) -> None:
    async with open_harness(tmp_path, database=fresh_postgresql) as bot:
        other = bot.second()
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


async def test_a_bot_that_sleeps_through_its_lease_says_nothing_twice_when_it_wakes(
    fresh_postgresql: str, tmp_path: Path
) -> None:
    async with open_harness(tmp_path, database=fresh_postgresql) as bot:
        other = bot.second()
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


# -- Guardrails of two processes on one PostgreSQL: whatever dies, paused once and told once.

NAME = "Manufacturing DACH"
RULE = "pause sequence for 4h when bounces > 5% of at least 50 sends in 24h"
OFTEN = """
from bot import guardrails
from bot.jobs import samples
guardrails.EVERY, samples.EVERY, samples.BACKFILL = 0.2, 0.5, 0
"""
DIE = """
import os, signal
from bot.guardrails import Guardrails
async def die(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
Guardrails.{method} = die
"""


@pytest.fixture
async def crisis(fresh_postgresql: str, tmp_path: Path) -> AsyncIterator[tuple[BotHarness, Account]]:
    """A bot that is not started yet, and a service one of whose sequences bounces."""
    async with (
        open_account() as account,
        open_harness(tmp_path, database=fresh_postgresql, **account.environ) as bot,
    ):
        await bot.control("settings", messages_per_second=0)
        bot.config(f'[[guardrails]]\nname = "bounces-5"\nrule = "{RULE}"\n')
        clock = ManualClock()
        # A rule judges nothing before bounces are known for as long as its window and its baseline look back.
        clock.now = moment().timestamp() - 31 * DAY
        async with open_store(parse_url(fresh_postgresql), clock=clock) as store:
            await arrive(store, b'{"event": "sequence.completed", "lead": {"email": "first@acme.example"}}')
        groups = ((await account.sequence(NAME))["id"], "sam@mail.example")
        rows = [{"group": group, "sends": 60, "replies": 1} for group in groups]
        account.answer("GET /stats", {"data": rows, "next_cursor": None})
        yield bot, account


async def bounce(bot: BotHarness) -> None:
    for number in range(6):
        assert await bot.deliver(interested(number, event="lead.bounced", sequence=NAME)) == 200


async def messages_of_the_guardrail(bot: BotHarness) -> list[str]:
    async def told() -> list[str]:
        return [one["text"] for one in await bot.messages() if "Guardrail bounces-5" in one["text"]]

    await until(told)
    # That nothing more is said has no event: a second message would be there after ten looks of both bots.
    await asyncio.sleep(2)
    return await told()


@pytest.mark.parametrize("method", ["_pause", "_finish"])
async def test_a_guardrails_process_that_is_killed_at_a_pause_is_followed_by_another(
    crisis: tuple[BotHarness, Account], method: str
) -> None:
    """Killed before the pause, and after it, before it is told."""
    bot, account = crisis
    async with bot_process(bot, before=OFTEN + DIE.format(method=method)) as process:
        await bounce(bot)
        assert await asyncio.wait_for(process.wait(), 60) == -signal.SIGKILL
    assert len(account.changes) == (1 if method == "_finish" else 0)
    async with bot_process(bot, before=OFTEN), bot_process(bot.second(), before=OFTEN):
        (message,) = await messages_of_the_guardrail(bot)
        assert f"paused {NAME} until" in message
        sequence = (await account.sequence(NAME))["id"]
        assert account.changes == [(sequence, "paused")]
        audit = json.dumps(await bot.say("audit"))
        assert audit.count(f"{NAME} ({sequence}) paused") == 1
        assert audit.count("guardrail bounces-5") == 1


async def test_a_guardrails_process_that_is_slower_than_its_lease_tells_nothing_twice(
    crisis: tuple[BotHarness, Account],
) -> None:
    bot, account = crisis
    # Longer than the lease: the other bot takes the incident over while the first still waits for its answer.
    await account.fail(endpoint="PATCH /sequences/{id}", delay=4.0, times=None, executed=True)
    async with bot_process(bot, before=OFTEN), bot_process(bot.second(), before=OFTEN):
        await bounce(bot)
        assert len(await messages_of_the_guardrail(bot)) == 1
    assert await account.is_paused(NAME)
