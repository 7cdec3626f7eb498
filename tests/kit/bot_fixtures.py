from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot import guardrails, worker
from bot.http import webhook
from bot.interactions import listeners
from sandbox.service.api import guard
from shared.commands import run
from shared.storage.database import parse_url
from shared.store import Store, open_store
from tests.kit.bot import interested
from tests.kit.databases import migrated_file, migrated_postgresql
from tests.kit.manual_clock import ManualClock, arrive, post_all
from tests.kit.pace import UnpacedBudget
from tests.kit.team import HASTE, Installation, installed
from tests.kit.waiting import BOUND_SECONDS


@pytest.fixture(autouse=True)
def no_idle_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests to the service wait for no turn and are never too many, and timers are looked for often: the rate has
    tests of its own (tests/faults/rate). No answer is announced as slow, and no delivery refused, because the machine is slow."""
    monkeypatch.setattr(run, "SharedBudget", UnpacedBudget)
    monkeypatch.setattr(guard, "RATE", 10_000)
    monkeypatch.setattr(worker, "POLL_SECONDS", 0.2)
    monkeypatch.setattr(guardrails, "BACKFILL", 2)  # thirty days are sixty requests of each bot
    monkeypatch.setattr(listeners, "PROGRESS_AFTER", 60.0)
    monkeypatch.setattr(webhook, "STORED_WITHIN", BOUND_SECONDS)


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Installation]:
    """Slack and a bot in this process."""
    async with installed(tmp_path) as opened, opened.inside():
        yield opened


@pytest.fixture
async def connected_bot(tmp_path: Path) -> AsyncIterator[Installation]:
    """Slack and a bot in this process that posts twenty messages a second."""
    async with installed(tmp_path) as opened:
        await opened.act("settings", messages_per_second=0)
        async with opened.inside(pace=HASTE):
            yield opened


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> sa.URL:
    """A database of either engine that has the schema and no data."""
    if request.param == "postgresql":
        return parse_url(migrated_postgresql(request.getfixturevalue("postgresql")))
    return parse_url(migrated_file(tmp_path / "bot.db"))


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> sa.URL:
    """A database of either engine without a schema."""
    if request.param == "postgresql":
        return parse_url(request.getfixturevalue("fresh_postgresql"))
    return parse_url(f"sqlite:///{tmp_path}/bot.db")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def store(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Store]:
    async with open_store(parse_url(migrated_file(tmp_path / "bot.db")), clock=clock) as opened:
        yield opened


@pytest.fixture
async def alert(store: Store, clock: ManualClock) -> str:
    """An interested reply whose card is in the channel."""
    await arrive(store, interested(1))
    (post,) = await post_all(store, clock)
    return post.alert_id
