"""Replies that are worked on outside of Slack, in the name of a Slack user, beside a bot in a process of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.commands.reply_queue import SlackReplyQueue, open_reply_queue
from sandbox.slack import seed
from shared import settings as shared_settings
from shared.domain.reply_queue import QueuedReply
from tests.kit.bot import interested
from tests.kit.team import HASTE, Installation, Message, installed

ANN = seed.ANN.id


@asynccontextmanager
async def queue_of(bot: Installation, user: str = ANN) -> AsyncIterator[SlackReplyQueue]:
    """The queue as a dashboard opens it, with settings of its own."""
    file = Path(bot.environ["XDG_STATE_HOME"]) / "dashboard.toml"
    file.write_text(f'[dashboard]\nslack_user = "{user}"\n')
    settings = shared_settings.load(environ={**bot.environ, "OUTREACH_CONFIG": str(file)})
    async with open_reply_queue(settings, "default") as queue:
        yield queue


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Installation]:
    """A bot that shares only the database with the queue."""
    async with installed(tmp_path) as opened, opened.inside(pace=HASTE):
        yield opened


async def card(bot: Installation, number: int = 1, **changes: Any) -> Message:
    assert await bot.deliver(interested(number, **changes)) == 200
    return await bot.card(f"Ada {number}")


async def standing(queue: SlackReplyQueue) -> QueuedReply:
    (reply,) = (await queue.read()).replies
    return reply


async def test_a_claim_is_on_the_card_and_in_the_audit_under_the_persons_name(bot: Installation) -> None:
    message = await card(bot)
    async with queue_of(bot) as queue:
        reply = await standing(queue)
        assert (reply.lead, reply.company, reply.text) == ("Ada 1", "Acme", "Yes, call me.")
        assert reply.is_unclaimed
        done = await queue.act("claim", reply.alert_id)
        assert done.changed
        assert done.card.title == "@ann claimed Ada 1 at Acme"
        assert (await standing(queue)).is_own
        assert (await queue.read()).unclaimed == 0
    await bot.changed(message, "claimed by @ann")
    assert bot.running
    (entry,) = await bot.running.store.records.audit("default")
    assert (entry.actor.id, entry.actor.shown, entry.actor.face) == (ANN, "@ann", "dashboard")


async def test_a_reply_of_a_private_channel_is_for_its_members(tmp_path: Path) -> None:
    async with (
        installed(tmp_path, OUTREACH_ALERT_CHANNEL=seed.PRIVATE) as bot,
        bot.inside(pace=HASTE),
    ):
        assert await bot.deliver(interested(1)) == 200
        await bot.until_posted(1)
        async with queue_of(bot, seed.CLEO.id) as queue:
            reply = await standing(queue)
            done = await queue.act("claim", reply.alert_id)
            assert not done.changed
            assert "isn't in the private channel" in done.card.text[0]
        async with queue_of(bot, ANN) as queue:
            assert (await queue.act("claim", reply.alert_id)).changed
