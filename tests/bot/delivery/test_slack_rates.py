"""What the bot asks of Slack when much changes at once, over each transport, with Slack's own limits in force."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

from bot.blockkit.card_blocks import Message
from bot.slack.messages import MessageSender
from bot.slack.web_api import open_web_api
from sandbox.slack import seed
from shared.api.pace import boot_time
from shared.store.messages import Sent, redraw
from tests.bot.harness import CHANNEL, BotHarness, interested
from tests.kit.clock import moment
from tests.kit.waiting import until

CARDS = 40


async def calls(bot: BotHarness, method: str) -> list[dict[str, Any]]:
    async with bot.http.get(f"{bot.slack.origin}/control/traffic") as answer:
        return [one for one in (await answer.json())["exchanges"] if one["name"] == method]


async def make_stale(bot: BotHarness) -> None:
    assert bot.running is not None
    await bot.running.store.database.write(lambda tx: redraw(tx, sa.true()))
    bot.running.signals.jobs.set()


async def test_a_click_is_shown_at_once_while_many_cards_are_repainted(connected_bot: BotHarness) -> None:
    for number in range(CARDS):
        assert await connected_bot.deliver(interested(number)) == 200
    await connected_bot.until_posted(CARDS)
    await make_stale(connected_bot)
    card = (await connected_bot.messages())[-1]
    await connected_bot.control("click", channel=CHANNEL, ts=card["ts"], text="Claim", user=seed.CLEO.id)

    async def shown() -> bool:
        now = next(one for one in await connected_bot.messages() if one["ts"] == card["ts"])
        return "claimed by @cleo" in json.dumps(now["blocks"])

    await until(shown)
    updates = await calls(connected_bot, "chat.update")
    assert [one for one in updates if one["status"] == 429] == []
    assert len(updates) <= 30, "it did not wait for the others"


async def test_a_rate_limited_look_up_continues_where_it_was(connected_bot: BotHarness) -> None:
    token, base = connected_bot.environ["SLACK_BOT_TOKEN"], connected_bot.environ["SLACK_API_URL"]
    async with open_web_api(token, base_url=base) as slack:
        sender = MessageSender(slack, timeout=5.0)
        world, since = connected_bot.slack.workspace, moment().timestamp()
        sent = await sender.post(
            CHANNEL,
            Message(text="words", blocks=[]),
            payload={"key": "there"},
            deadline=boot_time() + 5,
            thread_ts="",
        )
        assert isinstance(sent, Sent)
        for number in range(500):
            world.post(world.channel(CHANNEL), user=seed.ANN.id, text=f"{number}")
        connected_bot.slack.settings.tier_factor = 0.02  # a single call in a minute, after a burst of five
        for _ in range(4):
            connected_bot.slack.workspace.limits.take_call("conversations.history", tier=3, factor=0.02)
        look = await sender.look(CHANNEL, {"there"}, since=since, deadline=boot_time() + 60)
        assert look.pages == 1
        for _ in range(5):
            assert look.after is not None
            assert look.after > 30
            await connected_bot.control("clock", advance=61)
            sender = MessageSender(slack, timeout=5.0)  # another process goes on
            look = await sender.look(
                CHANNEL, {"there"}, since=since, deadline=boot_time() + 60, position=look.position
            )
            if look.found:
                break
        assert look.found == {"there": sent.ts}
    read = [one["request"].get("cursor") for one in await calls(connected_bot, "conversations.history")]
    asked = [cursor for cursor in read if cursor]
    assert read.count(None) == 1, "the first page was read once"
    assert asked
