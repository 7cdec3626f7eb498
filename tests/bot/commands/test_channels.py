"""Channels that are named in commands: asked of Slack first, joined where that helps, and shown by their names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.slack import seed
from tests.bot.harness import BotHarness, interested
from tests.kit.waiting import until


async def answer(bot: BotHarness, line: str) -> str:
    (reply,) = await bot.say(line)
    return json.dumps(reply, ensure_ascii=False)


async def subscriptions(bot: BotHarness, channel: str) -> list[Any]:
    assert bot.running is not None
    return list(await bot.running.store.records.subscriptions("default", channel))


@pytest.mark.parametrize("command", ["subscribe lead.bounced", "digest at 09:00"])
@pytest.mark.parametrize(
    ("channel", "reason", "fix"),
    [
        ("#salez", "The bot can't see #salez", "Did you mean #sales?"),
        ("#q3-launch", "#q3-launch is archived", "Unarchive it"),
        ("#hiring", "The bot can't see #hiring", "/invite @outreach"),
        (f"<#{seed.OUTSIDE}>", "The bot can't see", "/invite @outreach"),
    ],
    ids=["typo", "archived", "private", "private by id"],
)
async def test_a_channel_that_rejects_posts_is_refused_with_the_fix(
    connected_bot: BotHarness, command: str, channel: str, reason: str, fix: str
) -> None:
    text = await answer(connected_bot, f"{command} {channel}")
    assert reason in text
    assert fix in text
    for known in (channel, seed.ARCHIVED, seed.OUTSIDE):
        assert await subscriptions(connected_bot, known) == []


async def test_a_public_channel_is_joined_without_a_greeting(connected_bot: BotHarness) -> None:
    text = await answer(connected_bot, "subscribe reply.interested #general")
    assert "#general now gets interested replies" in text
    assert seed.BOT.id in connected_bot.slack.workspace.channels[seed.GENERAL].members
    assert len(await subscriptions(connected_bot, seed.GENERAL)) == 1
    assert await connected_bot.deliver(interested(1)) == 200

    async def posted() -> bool:
        return len(await connected_bot.messages(seed.GENERAL)) == 1

    await until(posted)
    assert "Outreach is ready" not in json.dumps(await connected_bot.messages(seed.GENERAL))


async def test_a_public_channel_that_cannot_be_joined_is_posted_to_or_refused(
    connected_bot: BotHarness,
) -> None:
    await connected_bot.control("scopes", remove=["channels:join"])
    assert "#general now gets bounces" in await answer(connected_bot, "subscribe lead.bounced #general")
    await connected_bot.control("scopes", remove=["chat:write.public"])
    await answer(connected_bot, "unsubscribe all #general")
    assert "The bot isn't in #general" in await answer(connected_bot, "subscribe lead.bounced #general")


async def test_the_trouble_of_a_removed_subscription_leaves_status(connected_bot: BotHarness) -> None:
    assert connected_bot.running is not None
    store = connected_bot.running.store
    await answer(connected_bot, "subscribe reply.interested #sales")
    await connected_bot.control("channel", channel=seed.SALES, archived=True)
    assert await connected_bot.deliver(interested(1)) == 200
    await connected_bot.until_posted(1)

    async def found() -> bool:
        return (await store.records.summary("default")).broken_channels == {seed.SALES: "is_archived"}

    await until(found)
    await answer(connected_bot, "unsubscribe all #sales")

    async def gone() -> bool:
        now = await store.records.summary("default")
        return (now.broken_channels, now.dead, now.waiting) == ({}, 0, 0)

    await until(gone)  # a slow command is answered before it has ended
    assert await store.posting.broken() == {}


async def test_no_private_channel_of_others_is_suggested(connected_bot: BotHarness) -> None:
    typo = "#leadershp"
    (shown,) = await connected_bot.say(f"subscribe lead.bounced {typo}", user=seed.CLEO.id)
    assert "leadership" not in json.dumps(shown)
    (own,) = await connected_bot.say(f"subscribe lead.bounced {typo}", user=seed.ANN.id)
    assert "Did you mean #leadership?" in own["text"] + json.dumps(own["blocks"])


async def test_nobody_names_a_private_channel_while_slack_does_not_tell_its_members(
    connected_bot: BotHarness,
) -> None:
    await connected_bot.control("faults", method="users.conversations", kind="status", status=503, times=None)
    (shown,) = await connected_bot.say(f"subscriptions <#{seed.PRIVATE}>", user=seed.ANN.id)
    assert "The bot can't see" in shown["text"]
    (public,) = await connected_bot.say("subscriptions #sales", user=seed.ANN.id)
    assert "Subscriptions of #sales" in public["text"]
