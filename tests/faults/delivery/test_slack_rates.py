"""What the bot asks of Slack when much changes at once, over each transport, with Slack's own limits in force."""

from __future__ import annotations

import json

import sqlalchemy as sa

from sandbox.slack import seed
from shared.store.messages import redraw
from tests.kit.bot import CHANNEL, interested
from tests.kit.team import Installation
from tests.kit.waiting import until

CARDS = 40


async def make_stale(bot: Installation) -> None:
    assert bot.running is not None
    await bot.running.store.database.write(lambda tx: redraw(tx, sa.true()))
    bot.running.signals.jobs.set()


async def test_a_click_is_shown_at_once_while_many_cards_are_repainted(connected_bot: Installation) -> None:
    for number in range(CARDS):
        assert await connected_bot.deliver(interested(number)) == 200
    await connected_bot.until_posted(CARDS)
    await make_stale(connected_bot)
    card = (await connected_bot.messages())[-1]
    await connected_bot.act("click", channel=CHANNEL, ts=card["ts"], text="Claim", user=seed.CLEO.id)

    async def shown() -> bool:
        now = next(one for one in await connected_bot.messages() if one["ts"] == card["ts"])
        return "claimed by @cleo" in json.dumps(now["blocks"])

    await until(shown)
    updates = await connected_bot.calls("chat.update")
    assert [one for one in updates if one["status"] == 429] == []
    assert len(updates) <= 30, "it did not wait for the others"
