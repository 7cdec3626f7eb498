"""Replies that are worked on outside of Slack, in the name of a Slack user, beside a bot in a process of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.commands.reply_queue import SlackReplyQueue, open_reply_queue
from sandbox.slack import seed
from shared import settings as shared_settings
from shared.domain.reply_queue import QueuedReply
from tests.kit.bot import interested
from tests.kit.team import HASTE, Installation, installed

ANN = seed.ANN.id


@asynccontextmanager
async def queue_of(bot: Installation, user: str = ANN) -> AsyncIterator[SlackReplyQueue]:
    """The queue as a dashboard opens it, with settings of its own."""
    file = Path(bot.environ["XDG_STATE_HOME"]) / "dashboard.toml"
    file.write_text(f'[dashboard]\nslack_user = "{user}"\n')
    settings = shared_settings.load(environ={**bot.environ, "OUTREACH_CONFIG": str(file)})
    async with open_reply_queue(settings, "default") as queue:
        yield queue


async def standing(queue: SlackReplyQueue) -> QueuedReply:
    (reply,) = (await queue.read()).replies
    return reply


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
