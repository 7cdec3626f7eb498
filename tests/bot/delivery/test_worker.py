"""What Slack does wrong, and what becomes of an alert then: posted once, in order, when it can be."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from sandbox.slack import seed
from shared.records.records import AlertsSummary
from shared.store.db.schema import deliveries
from tests.bot.harness import CHANNEL, HASTE, BotHarness, bot_inside, interested, open_harness
from tests.waiting import until


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[BotHarness]:
    """A bot that posts twenty messages a second, to a Slack that takes them."""
    async with open_harness(tmp_path) as opened:
        await opened.control("settings", messages_per_second=0)
        opened.config(f'[routes]\nfallback = "{seed.SALES}"\n')
        async with bot_inside(opened, pace=HASTE):
            yield opened


async def summary(bot: BotHarness) -> AlertsSummary:
    assert bot.running is not None
    return await bot.running.store.records.summary("default")


async def test_an_alert_of_a_channel_archived_for_31_days_is_posted_with_its_reply(bot: BotHarness) -> None:
    await bot.control("channel", channel=CHANNEL, archived=True)
    for number in range(2):
        assert await bot.deliver(interested(number)) == 200

    async def broken() -> bool:
        now = await summary(bot)
        return now.dead + now.waiting == 2 and CHANNEL in now.broken_channels

    await until(broken)
    assert bot.running is not None
    store = bot.running.store
    month_ago = sa.update(deliveries).values(received_at=deliveries.c.received_at - 31 * 86_400)
    await store.database.write(lambda tx: tx.execute(month_ago))
    await store.retention.prune(bodies_after=30 * 86_400.0, hashes_after=90 * 86_400.0)
    await bot.control("channel", channel=CHANNEL, archived=False)
    await bot.try_again(CHANNEL)
    await bot.until_posted(2)
    assert json.dumps(await bot.messages()).count("Yes, call me.") >= 2
