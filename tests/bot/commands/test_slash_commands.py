"""The commands through Slack, the bot and the real sandbox service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.service import Service
from sandbox.slack import seed
from tests.bot.harness import BotHarness, bot_inside, open_harness, sequences_of
from tests.kit.team import HASTE


@dataclass(kw_only=True)
class BotWithService:
    """A bot and the service it talks to."""

    bot: BotHarness
    service: Service

    async def sequences(self) -> list[dict[str, Any]]:
        return await sequences_of(self.service, http=self.bot.http)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[BotWithService]:
    async with Service(speed=0) as service:
        key = next(iter(service.api_keys.values()))
        where = {"OUTREACH_BASE_URL": service.base_url, "OUTREACH_API_KEY": key}
        async with open_harness(tmp_path, **where) as bot, bot_inside(bot, pace=HASTE):
            yield BotWithService(bot=bot, service=service)


async def test_no_line_whatever_is_left_without_an_answer(served: BotWithService) -> None:
    for line in ("stats by moon", "pause", "x" * 3_000, "“", "🎉\n*b*", "lead <!channel>"):
        (answer,) = await served.bot.say(line)
        assert answer["seen_by"] == seed.ANN.id, line
        assert answer["text"], line
