"""Slack refuses to edit a card: what it should have said is posted anew, and clicks on the old one are answered."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.slack import seed
from tests.bot.harness import CHANNEL, HASTE, BotHarness, bot_inside, interested, open_harness
from tests.waiting import until

REFUSALS = ["edit_window_closed", "message_not_found", "cant_update_message", "update_failed"]


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[BotHarness]:
    async with open_harness(tmp_path) as opened:
        await opened.control("settings", messages_per_second=0)
        opened.config(f'[[routes.rules]]\nchannel = "{CHANNEL}"\nevents = ["lead.replied"]\n')
        async with bot_inside(opened, pace=HASTE):
            yield opened


async def refuse_edits(bot: BotHarness, ts: str, error: str) -> None:
    fault = {"kind": "error", "error": error, "times": None, "arguments": {"ts": ts}}
    await bot.control("faults", method="chat.update", **fault)


async def click(bot: BotHarness, message: dict[str, Any], text: str, user: str) -> None:
    await bot.control("click", channel=CHANNEL, ts=message["ts"], text=text, user=user)


async def shown(bot: BotHarness, words: str) -> list[dict[str, Any]]:
    return [m for m in await bot.messages() if words in json.dumps(m, ensure_ascii=False)]


async def until_shown(bot: BotHarness, words: str) -> dict[str, Any]:
    async def there() -> dict[str, Any] | None:
        return next(iter(await shown(bot, words)), None)

    return dict(await until(there))


@pytest.mark.parametrize("error", REFUSALS[:2])
async def test_a_claim_on_a_card_that_cannot_be_edited_is_shown_in_its_thread(
    bot: BotHarness, error: str
) -> None:
    assert await bot.deliver(interested()) == 200
    await bot.until_posted(1)
    (card,) = await bot.messages()
    await refuse_edits(bot, card["ts"], error)
    await click(bot, card, "Claim", seed.ANN.id)
    current = await until_shown(bot, "claimed by @ann")
    assert current["thread_ts"] == card["ts"]
    await click(bot, card, "Claim", seed.BEN.id)
    answer = await until_shown(bot, "Claimed by @ann after")
    assert answer["seen_by"] == seed.BEN.id
    await click(bot, current, "Mark done", seed.ANN.id)
    done = await until_shown(bot, "done by @ann")
    assert done["ts"] == current["ts"]
    assert list((await bot.posted()).values()) == [1]
