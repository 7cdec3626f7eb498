"""Answers to mentions and lines about changes go through the queue; over HTTP and by Socket Mode."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox.slack import seed
from tests.bot.fake_service import Remote
from tests.bot.harness import TRANSPORTS, BotHarness, bot_inside, open_harness
from tests.bot.interactions.alert_bot import (
    card,
    click,
    in_thread,
    labels,
    mention,
    open_bot,
    shown,
)
from tests.kit.team import HASTE

NAME = "Q3 founders"
SEQUENCES = (NAME, "Spring")


@pytest.fixture(params=TRANSPORTS)
async def bot(request: pytest.FixtureRequest, remote: Remote, tmp_path: Path) -> AsyncIterator[BotHarness]:
    async with open_bot(tmp_path, request.param, OUTREACH_BASE_URL=remote.url) as opened:
        yield opened


async def test_a_mention_in_a_cards_thread_means_that_card(bot: BotHarness, remote: Remote) -> None:
    message = await card(bot)
    await mention(bot, message, "claim")
    answer = await in_thread(bot, message, "@ben claimed Ada 1 at Acme")
    assert labels(answer) == ["Mark done", "Open in CRM"]
    await shown(bot, message, "claimed by @ben")
    await mention(bot, message, "take over", user=seed.CLEO.id)
    await click(bot, await in_thread(bot, message, "@ben has claimed"), "Take over", user=seed.CLEO.id)
    await in_thread(bot, message, "@cleo took over Ada 1 at Acme from @ben")
    await mention(bot, message, "pause for 2h reason too many bounces", user=seed.CLEO.id)
    await in_thread(bot, message, "Q3 founders paused until")
    assert remote.patched == [("sq_0001", "paused")]
    await mention(bot, message, "not interested wrong market", user=seed.CLEO.id)
    await shown(bot, message, "not interested (wrong market), says @cleo")
    await mention(bot, message, "reopen", user=seed.CLEO.id)
    await in_thread(bot, message, "@cleo reopened Ada 1 at Acme")
    await mention(bot, message, "done", user=seed.CLEO.id)
    await shown(bot, message, "done by @cleo")
    replies = [one["text"] for one in await bot.messages() if one.get("thread_ts") == message["ts"]]
    took = f"<@{seed.BEN.id}> @cleo took over Ada 1 at Acme from @ben"
    assert [text for text in replies if "took over" in text] == [took]


async def test_an_answer_outlives_a_slack_that_refuses_to_take_it(bot: BotHarness, remote: Remote) -> None:
    """Three retries of a call are over long before Slack takes messages again."""
    message = await card(bot)
    await bot.control("faults", method="chat.postMessage", kind="error", error="internal_error", times=2)
    await mention(bot, message, "pause")
    await in_thread(bot, message, "Q3 founders paused")
    assert remote.patched == [("sq_0001", "paused")]
    texts = [m for m in await bot.messages() if "Q3 founders paused" in m["text"]]
    assert len(texts) == 1


async def test_an_answer_that_was_planned_is_posted_after_a_restart(tmp_path: Path, remote: Remote) -> None:
    async with open_harness(tmp_path, OUTREACH_BASE_URL=remote.url) as bot:
        async with bot_inside(bot, pace=HASTE):
            message = await card(bot)
            await bot.control("faults", method="chat.postMessage", kind="rate_limited", retry_after=3)
            # Slack puts the answer off for longer than this bot lives.
            await mention(bot, message, "claim")
            await shown(bot, message, "claimed by @ben")
        async with bot_inside(bot, pace=HASTE):
            assert await in_thread(bot, message, "@ben claimed Ada 1")
