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

ANN, BEN = seed.ANN.id, seed.BEN.id


@asynccontextmanager
async def queue_of(
    bot: Installation, user: str | None = ANN, *, text: str = "", **environ: str
) -> AsyncIterator[SlackReplyQueue]:
    """The queue as a dashboard opens it, with settings of its own."""
    file = Path(bot.environ["XDG_STATE_HOME"]) / "dashboard.toml"
    file.write_text(f'{text}\n[dashboard]\nslack_user = "{user}"\n' if user else text)
    own = {**bot.environ, "OUTREACH_CONFIG": str(file), **environ}
    settings = shared_settings.load(environ={key: value for key, value in own.items() if value})
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


async def test_without_permission_nothing_changes_and_the_reason_is_given(bot: Installation) -> None:
    await card(bot)
    for user, text, environ, reason in REFUSED:
        async with queue_of(bot, user, text=text, **environ) as queue:
            reply = await standing(queue)
            assert reason in (await queue.permission()).refusal
            for verb in ("claim", "done", "assign", "snooze", "dismiss"):
                done = await queue.act(verb, reply.alert_id, detail="1h", person="@ben")
                assert not done.changed
                assert done.card.title == "Nothing was changed"
            assert (await standing(queue)).is_unclaimed
    assert bot.running
    assert await bot.running.store.records.audit("default") == []


REFUSED: tuple[tuple[str | None, str, dict[str, str], str], ...] = (
    (None, "", {}, "Set slack_user under [dashboard]"),
    (ANN, "", {"SLACK_BOT_TOKEN": ""}, "Set SLACK_BOT_TOKEN here, too"),
    (ANN, "", {"SLACK_API_URL": "http://127.0.0.1:9/api/"}, "Slack didn't say who that is."),
    ("U0NOBODY99", "", {}, "Slack didn't say who that is."),
    (seed.GUS.id, "", {}, "@gus may not claim replies. Guests of this Slack workspace"),
    (seed.EVA.id, "", {}, "@eva may not claim replies. People from other organizations"),
    (seed.BOT.id, "", {}, "@outreach is a bot."),
    (ANN, f'[roles]\nadmin = ["{BEN}"]\noperator = ["{BEN}"]\n', {}, "@ann may not claim replies."),
)


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
