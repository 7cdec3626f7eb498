"""What the bot keeps for the dashboard's past."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.commands.context import open_contexts
from bot.jobs.samples import HistorySampler
from shared import settings as shared_settings
from shared.domain.health import DEFAULT
from shared.history.history import History
from shared.store import open_store
from tests.bot.fake_service import Remote
from tests.bot.harness import BotHarness, open_harness
from tests.kit.clock import moment

ADDRESS = "sam@getacme.example"


@pytest.fixture
async def bot(tmp_path: Path, remote: Remote) -> AsyncIterator[BotHarness]:
    async with open_harness(tmp_path, OUTREACH_BASE_URL=remote.url) as opened:
        yield opened


async def test_the_bot_keeps_how_things_stand_where_no_dashboard_does(
    bot: BotHarness, remote: Remote
) -> None:
    remote.inboxes = [
        {"id": ADDRESS, "email": ADDRESS, "health_score": 84, "daily_limit": 40, "status": "active"}
    ]
    settings = shared_settings.load(environ=bot.environ)

    async with (
        open_store(settings.database) as store,
        open_contexts(settings, store) as contexts,
        History(settings.history_database, thresholds=DEFAULT) as history,
    ):
        memory = HistorySampler(contexts, history)
        await memory.sample()
        remote.refuses = 401
        await memory.sample()
        now = moment()
        kept = await history.health("default", kind="inbox", key=ADDRESS, start=now, end=now, points=1)
    assert [sample.value for sample in kept] == [84]
