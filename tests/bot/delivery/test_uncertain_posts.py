"""A post whose outcome is unknown delays no other, and is settled when Slack can be read again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bot.harness import BotHarness, bot_inside, interested, open_harness
from tests.kit.team import HASTE
from tests.kit.waiting import until


@pytest.fixture(params=["sqlite", "postgresql"])
async def bot(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BotHarness]:
    database = request.getfixturevalue("fresh_postgresql") if request.param == "postgresql" else ""
    async with open_harness(tmp_path, database=database) as opened:
        await opened.control("settings", messages_per_second=0)
        async with bot_inside(opened, pace=HASTE):
            yield opened


async def unconfirmed(bot: BotHarness) -> dict[str, int]:
    return dict(json.loads((await bot.get("/readyz"))[1])["unconfirmed_posts"])


async def test_a_post_that_cannot_be_looked_up_is_unsure_and_settled_when_slack_can_be_read(
    bot: BotHarness,
) -> None:
    # What can't be read proves neither that the post is there nor that it isn't.
    fault = {"method": "conversations.history", "kind": "answer", "answer": {"ok": True, "messages": [7]}}
    await bot.control("faults", method="chat.postMessage", kind="accept_then_cut")
    await bot.control("faults", **fault, times=None)
    assert await bot.deliver(interested(1)) == 200

    async def unsure() -> bool:
        return await unconfirmed(bot) == {"uncertain": 0, "unsure": 1}

    await until(unsure, seconds=40)
    (shown,) = await bot.say("status")
    assert "1 unsure" in json.dumps(shown["blocks"], ensure_ascii=False)
    await bot.control("faults", clear=True)
    assert bot.running is not None
    await bot.running.store.posting.revive()

    async def settled() -> bool:
        return await unconfirmed(bot) == {"uncertain": 0, "unsure": 0}

    await until(settled)
    assert list((await bot.posted()).values()) == [1]
