"""Words as people type them and the pages of `open`, by HTTP and by Socket Mode."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.slack import seed
from tests.bot.fake_service import KEY, Remote
from tests.bot.harness import BotHarness, bot_inside, interested, open_harness
from tests.kit.team import HASTE
from tests.kit.waiting import until

SEQUENCES = ("Q3 founders", "Q4 CTOs")


@pytest.fixture
async def bot(tmp_path: Path, remote: Remote) -> AsyncIterator[BotHarness]:
    async with open_harness(tmp_path) as opened:
        opened.environ |= {"OUTREACH_BASE_URL": remote.url, "OUTREACH_API_KEY": KEY}
        async with bot_inside(opened, pace=HASTE):
            yield opened


def shown(message: dict[str, Any]) -> str:
    return json.dumps(message["blocks"], ensure_ascii=False)


async def test_open_is_paged_and_shows_the_page_again_after_a_claim(bot: BotHarness) -> None:
    await bot.control("settings", messages_per_second=0)
    for number in range(32):
        assert await bot.deliver(interested(number)) == 200

    await bot.until_posted(32)  # else a card may come before an answer
    (first,) = await bot.say("open", user=seed.BEN.id)
    assert "1 to 15 of 32" in shown(first)
    (second,) = await bot.press(first, "Next")
    assert "16 to 30 of 32" in shown(second)
    assert "Previous" in shown(second)
    claims = [block for block in second["blocks"] if "Claim" in json.dumps(block)]
    button = claims[0]["elements"][0]
    assert json.loads(button["value"])[1]["then"] == ["replies", {"page": 2}]
    await bot.press(second, "Claim")

    async def repainted() -> dict[str, Any] | None:
        known = await bot.messages(second["channel"])
        return next((m for m in known if "31 unclaimed replies" in m["text"]), None)

    page = await until(repainted)
    assert "16 to 30 of 31" in shown(page)
    assert "claimed Ada" in shown(page)


async def test_a_page_of_long_replies_shows_each_of_them(bot: BotHarness) -> None:
    await bot.control("settings", messages_per_second=0)
    text = "We have been losing hours to exactly this, and our board asked about it yesterday. " * 4
    for number in range(17):
        assert await bot.deliver(interested(number, reply=text, sequence="Win-back customers of 2023")) == 200

    await bot.until_posted(17)
    (page,) = await bot.say("open", user=seed.BEN.id)
    assert "1 to 15 of 17" in shown(page)
    assert shown(page).count('"Claim"') == 15
    assert "more" not in shown(page)
    (second,) = await bot.press(page, "Next")
    assert shown(second).count('"Claim"') == 2
