"""What Slack does wrong, and what becomes of an alert then: posted once, in order, when it can be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from sandbox.slack import seed
from shared.records.records import AlertsSummary
from shared.store.db.schema import deliveries
from shared.store.posting import BUNDLE, LeaseTimings
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


POSTING = {"method": "chat.postMessage"}
FAULTS = [
    {"kind": "accept_then_cut"},
    {"kind": "cut"},
    {"kind": "status", "status": 503},
    {"kind": "error", "error": "internal_error"},
    {"kind": "error", "error": "fatal_error"},
    {"kind": "garbage"},
    {"kind": "rate_limited", "retry_after": 1},
    {"kind": "delay", "delay": 2.0},
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: "-".join(str(v) for v in fault.values()))
async def test_an_alert_is_posted_once_whatever_the_first_attempt_met(
    bot: BotHarness, fault: dict[str, Any]
) -> None:
    await bot.control("faults", **POSTING, **fault)
    assert await bot.deliver(interested(1)) == 200
    assert list((await bot.until_posted(1)).values()) == [1]

    async def settled() -> bool:
        now = await summary(bot)
        return (now.waiting, now.uncertain, now.dead) == (0, 0, 0)

    await until(settled)
    assert list((await bot.posted()).values()) == [1]


async def test_blocks_that_slack_refuses_are_posted_as_text(bot: BotHarness) -> None:
    await bot.control("faults", **POSTING, kind="error", error="msg_blocks_too_long")
    assert await bot.deliver(interested(1)) == 200
    await bot.until_posted(1)
    text = (await bot.messages())[0]["text"]
    assert text.startswith("🟢 Ada 1 at Acme is interested\n> Yes, call me.\n")


async def test_an_archived_channel_is_reported_and_gets_its_alerts_after_recovery(
    bot: BotHarness,
) -> None:
    await bot.control("channel", channel=CHANNEL, archived=True)
    for number in range(3):
        assert await bot.deliver(interested(number)) == 200

    async def found() -> bool:
        return "Can't post to" in json.dumps(await bot.messages(seed.SALES))

    async def kept() -> bool:
        now = await summary(bot)
        return now.dead + now.waiting == 3

    await until(found)
    await until(kept)  # the report may come before the last delivery is routed
    await bot.control("channel", channel=CHANNEL, archived=False)
    await bot.try_again(CHANNEL)
    assert set((await bot.until_posted(3)).values()) == {1}

    async def recovered() -> bool:
        return "accepts alerts again" in json.dumps(await bot.messages(seed.SALES))

    await until(recovered)
    assert (await summary(bot)).dead == 0


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


def alerts_of(message: dict[str, Any]) -> list[str]:
    """The alerts that a message's metadata names."""
    payload = message.get("metadata", {}).get("event_payload", {})
    return list(payload.get("alert_ids") or filter(None, [payload.get("alert_id")]))


async def test_two_thousand_waiting_alerts_are_told_once_each_within_three_minutes(bot: BotHarness) -> None:
    """Counted, not timed: so many messages as Slack takes in three minutes, at one a second."""
    await bot.control("channel", channel=CHANNEL, archived=True)
    for first in range(0, 2_000, 50):
        many = (bot.deliver(interested(number)) for number in range(first, first + 50))
        assert set(await asyncio.gather(*many)) == {200}
    await bot.control("channel", channel=CHANNEL, archived=False)
    await bot.try_again(CHANNEL)
    posted = await bot.until_posted(2_000, seconds=120)
    assert set(posted.values()) == {1}
    messages = [m for m in await bot.messages() if alerts_of(m)]
    assert len(messages) * LeaseTimings().period <= 180.0
    assert max(len(alerts_of(m)) for m in messages) == BUNDLE
