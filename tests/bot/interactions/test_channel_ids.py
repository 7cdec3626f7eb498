"""A channel that Slack gives another id: what the settings say of the old one holds for the new one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox.service import Service
from sandbox.slack import seed
from tests.bot.harness import CHANNEL, BotHarness, bot_inside, interested, open_harness
from tests.waiting import BOUND

NEW = "C0SHARED07"


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[BotHarness]:
    """One that is not started yet."""
    async with Service(speed=0) as service, open_harness(tmp_path) as opened:
        opened.environ |= {
            "OUTREACH_BASE_URL": service.base_url,
            "OUTREACH_API_KEY": next(iter(service.api_keys.values())),
        }
        yield opened


async def move(bot: BotHarness, old: str) -> None:
    """Give a channel another id while the bot runs, until it has taken note."""
    async with bot_inside(bot) as running:
        await bot.control("channel", channel=old, id=NEW)
        await asyncio.wait_for(running.outdated.wait(), BOUND)


async def said(bot: BotHarness, text: str, *, channel: str = NEW) -> str:
    return json.dumps(await bot.say(text, channel=channel, user="ben"), ensure_ascii=False)


async def test_a_limit_on_a_channel_follows_it_to_its_new_id(bot: BotHarness) -> None:
    bot.config(f'[roles.channels]\n{seed.PRIVATE} = "reader"\n')
    await move(bot, seed.PRIVATE)
    async with bot_inside(bot) as running:
        assert "don't have permission to run “pause”" in await said(bot, "pause nothing")
        assert not running.outdated.is_set()
        told = f"[roles.channels] in the settings names a channel by its old id, {seed.PRIVATE}"
        assert told in await said(bot, "status")
        assert told in json.dumps(await bot.say("doctor", channel=CHANNEL, user="ann"))


async def test_commands_that_a_channel_is_limited_to_stay_so_under_its_new_id(bot: BotHarness) -> None:
    bot.config(f'[roles.channels]\n{seed.PRIVATE} = ["resume"]\n')
    await move(bot, seed.PRIVATE)
    async with bot_inside(bot):
        assert "don't have permission to run “pause”" in await said(bot, "pause nothing")
        assert "don't have permission" not in await said(bot, "resume nothing")


async def test_an_alert_channel_with_a_subscription_gets_one_card_under_its_new_id(bot: BotHarness) -> None:
    quiet = f'[routes.channels.{CHANNEL}]\nmention = "{seed.BEN.id}"\n'
    bot.config(quiet)
    async with bot_inside(bot):
        await said(bot, "subscribe reply.interested", channel=CHANNEL)
    await move(bot, CHANNEL)
    async with bot_inside(bot):
        assert await bot.deliver(interested(1)) == 200

        await bot.until_posted(1)
        (alert,) = [m for m in await bot.messages(NEW) if "Ada 1" in m["text"]]
        assert f"<@{seed.BEN.id}>" in json.dumps(alert)


async def test_settings_with_the_new_id_are_not_complained_of(bot: BotHarness) -> None:
    await move(bot, CHANNEL)
    bot.environ["OUTREACH_ALERT_CHANNEL"] = NEW
    async with bot_inside(bot):
        assert "old id" not in await said(bot, "status")
