"""Clicks that fail, arrive late or take long, through Slack and the bot: the person always gets a true answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.interactions import listeners
from sandbox.slack import seed
from tests.bot.fake_service import Remote
from tests.bot.harness import BotHarness, bot_inside, open_harness
from tests.bot.interactions.alert_bot import click, shown
from tests.kit.team import HASTE
from tests.kit.waiting import until

EARLY = 0.1
"""Seconds until an answer is announced as slow; what makes it slow lasts until the note is seen, or a second longer."""


@pytest.fixture
async def bot(tmp_path: Path, remote: Remote) -> AsyncIterator[BotHarness]:
    async with (
        open_harness(tmp_path, OUTREACH_BASE_URL=remote.url) as opened,
        bot_inside(opened, pace=HASTE),
    ):
        yield opened


async def test_a_slow_yes_takes_the_place_of_its_question_and_goes_with_the_answer(
    bot: BotHarness, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    (question,) = await bot.say("pause all", user=seed.BEN.id)
    monkeypatch.setattr(listeners, "PROGRESS_AFTER", EARLY)
    # Held until the note is seen, so that no machine is too quick for it.
    with remote.holding():
        await click(bot, question, "Pause Q3 founders", user=seed.BEN.id, wait=0)
        await shown(bot, question, "Working …")

    async def done() -> bool:
        return any("Q3 founders paused" in m["text"] for m in await bot.messages())

    await until(done)
    assert [m["text"] for m in await bot.messages() if "Working" in m["text"]] == []
