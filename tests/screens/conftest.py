"""A history that tests of several pages look back at."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from shared.history.history import History
from shared.storage.database import parse_url
from tests.screens.desk import crisis
from tests.tui.accounts import NOW, account
from tests.tui.conftest import *  # noqa: F403 -- fixtures are found by their names
from tests.tui.conftest import _draw_once, _in_utc  # noqa: F401
from tui.feed.history_access import HistoryAccess


@pytest.fixture
async def recorded(tmp_path: Path) -> AsyncIterator[HistoryAccess]:
    """Two calm hours, and the crisis since 14:02; polls every ten minutes."""
    async with History(parse_url(f"sqlite:///{tmp_path}/history.db")) as store:
        for minutes in range(150, -1, -10):
            at = NOW - timedelta(minutes=minutes)
            await store.add(account(now=at) if minutes > 30 else crisis(), now=at)
        yield HistoryAccess(store, workspace="acme")
