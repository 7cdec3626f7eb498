"""A history that tests of several pages look back at."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from shared.api.models import Inbox
from shared.domain.snapshot import Reading
from shared.history import History
from shared.storage.database import parse_url
from tests.tui.accounts import NOW, account
from tui.feed.history_access import HistoryAccess


@pytest.fixture
async def falling(tmp_path: Path) -> AsyncIterator[HistoryAccess]:
    """A history in which the first inbox has lost three points a day, from 99 down to 84."""
    async with History(parse_url(f"sqlite:///{tmp_path}/history.db")) as store:
        for days, score in ((5, 99.0), (4, 96.0), (3, 93.0), (2, 90.0), (1, 87.0), (0, 84.0)):
            at = NOW - timedelta(days=days)
            box = Inbox(email="ann@useacme.example", health_score=score, daily_limit=40, status="active")
            snapshot = account(now=at)
            await store.add(replace(snapshot, inboxes=Reading(value=(box,), read_at=at)), now=at)
        yield HistoryAccess(store, workspace="acme")
