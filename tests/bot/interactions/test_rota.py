"""A rota in Slack: who is mentioned, who is skipped, and what a person says of being away."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.slack import seed
from tests.bot.harness import BotHarness, bot_inside, open_harness
from tests.bot.interactions.alert_bot import card
from tests.kit.team import HASTE
from tests.kit.waiting import until

ANN, BEN, CLEO = seed.ANN.id, seed.BEN.id, seed.CLEO.id
CONFIG = f"""
[routes]
mention = "S0SALESAES"

[routes.rota]
people = ["{BEN}", "{CLEO}"]
pass_after = "1h"
"""


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[BotHarness]:
    async with open_harness(tmp_path) as opened:
        opened.config(CONFIG)
        yield opened


async def asked(bot: BotHarness) -> bool:
    """True once the bot has asked who everybody is."""
    async with bot.http.get(f"{bot.slack.origin}/control/traffic") as answer:
        names = [one["name"] for one in (await answer.json())["exchanges"]]
    return names.count("users.info") >= 2


def mentions(message: dict[str, Any]) -> str:
    return json.dumps(message["blocks"][-1], ensure_ascii=False)


async def test_the_card_mentions_one_owner_and_skips_who_is_deactivated(bot: BotHarness) -> None:
    await bot.control("user", user=BEN, deleted=True)
    async with bot_inside(bot, pace=HASTE):
        await until(lambda: asked(bot))
        message = await card(bot)
        assert mentions(message).count("<@") == 1
        assert f"<@{CLEO}>" in mentions(message)
        assert "@cleo's turn" in json.dumps(message["blocks"], ensure_ascii=False)


async def test_a_reply_is_posted_while_slack_says_nothing_of_anybody(bot: BotHarness) -> None:
    # Longer than the test may take: the card must not wait for who is a member.
    await bot.control("faults", method="users.info", kind="delay", delay=60, times=100)
    async with bot_inside(bot, pace=HASTE):
        message = await card(bot)
        assert f"<@{BEN}>" in mentions(message)


async def test_everybody_away_is_the_groups_turn(bot: BotHarness) -> None:
    for person in (BEN, CLEO):
        await bot.control("user", user=person, deleted=True)
    async with bot_inside(bot, pace=HASTE):
        await until(lambda: asked(bot))
        message = await card(bot)
        assert "<!subteam^S0SALESAES>" in mentions(message)
        assert "everyone in the rota is away" in json.dumps(message["blocks"])
