"""What two people do with one reply: claim, take over, release, finish, close; over HTTP and by Socket Mode."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox.slack import seed
from tests.bot.harness import CHANNEL, TRANSPORTS, BotHarness
from tests.bot.interactions.alert_bot import (
    card,
    choose,
    click,
    in_thread,
    labels,
    open_bot,
    shown,
)


@pytest.fixture(params=TRANSPORTS)
async def bot(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BotHarness]:
    async with open_bot(tmp_path, request.param) as opened:
        yield opened


async def test_a_claimed_reply_is_marked_done_by_its_primary_button(bot: BotHarness) -> None:
    message = await card(bot)
    await click(bot, message, "Claim", user=seed.BEN.id)
    claimed = await shown(bot, message, "Claimed by @ben")
    assert labels(claimed) == ["Mark done", "Remind me in 2 h", "Take over", "Pause sequence", "Open in CRM"]
    (buttons,) = [block["elements"] for block in claimed["blocks"] if block["type"] == "actions"]
    assert [one["text"]["text"] for one in buttons if one.get("style") == "primary"] == ["Mark done"]
    await click(bot, claimed, "Mark done", user=seed.BEN.id)
    done = await shown(bot, message, "Done by @ben")
    assert labels(done) == ["Reopen", "Open in CRM"]


async def test_a_take_over_asks_first_and_mentions_the_claimer_in_the_thread(bot: BotHarness) -> None:
    message = await card(bot)
    await click(bot, message, "Claim", user=seed.BEN.id)
    claimed = await shown(bot, message, "Claimed by @ben")
    (row,) = [block for block in claimed["blocks"] if block["type"] == "actions"]
    button = next(one for one in row["elements"] if one["text"]["text"] == "Take over")
    assert "@ben has claimed it" in button["confirm"]["text"]["text"]
    await click(bot, claimed, "Take over", user=seed.CLEO.id)
    await shown(bot, message, "Claimed by @cleo")
    trace = await in_thread(bot, message, "@cleo took over Ada 1 at Acme from @ben")
    assert f"<@{seed.BEN.id}>" in json.dumps(trace["blocks"])
    assert bot.running is not None
    (entry, *_) = await bot.running.store.records.audit("default")
    assert entry.command.startswith("takeover al_")


async def test_a_late_click_on_claim_offers_to_take_over(bot: BotHarness) -> None:
    message = await card(bot)
    (listed,) = await bot.say("open", user=seed.CLEO.id)
    await click(bot, message, "Claim", user=seed.BEN.id)
    await shown(bot, message, "Claimed by @ben")
    answers = await click(bot, listed, "Claim", user=seed.CLEO.id)
    (refused,) = [one for one in answers if "@ben claimed this" in one["text"]]
    assert labels(refused) == ["Take over"]
    (actions,) = [block for block in refused["blocks"] if block["type"] == "actions"]
    assert actions["elements"][0]["confirm"]


async def test_a_release_is_noted_in_the_thread_without_a_mention(bot: BotHarness) -> None:
    message = await card(bot)
    await click(bot, message, "Claim", user=seed.BEN.id)
    await choose(bot, await shown(bot, message, "Claimed by @ben"), "Release", user=seed.BEN.id)
    trace = await in_thread(bot, message, "@ben released Ada 1 at Acme")
    assert "<@" not in json.dumps(trace["blocks"])
    assert "Claim" in labels(await shown(bot, message, '"Claim"'))


async def test_a_reply_is_closed_as_not_interested_with_a_reason_and_reopened(bot: BotHarness) -> None:
    message = await card(bot)
    (question,) = await click(bot, message, "Not interested …", user=seed.BEN.id)
    assert question["seen_by"] == seed.BEN.id
    await click(bot, question, "Wrong person", user=seed.BEN.id)
    closed = await shown(bot, message, "Closed by @ben: not interested (wrong person)")
    assert bot.running is not None
    assert not (await bot.running.store.records.open_replies("default")).replies
    assert [one for one in await bot.messages(CHANNEL) if one["ts"] == question["ts"]] == []
    await click(bot, closed, "Reopen", user=seed.BEN.id)
    assert "Claim" in labels(await shown(bot, message, '"Claim"'))
