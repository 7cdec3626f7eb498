"""The store alone, on both engines."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import sqlalchemy as sa

from shared.store import Store, open_store
from tests.kit.manual_clock import ManualClock


@pytest.fixture
async def store(url: sa.URL, clock: ManualClock) -> AsyncIterator[Store]:
    """The store alone, on both engines, by a clock that the test holds."""
    async with open_store(url, clock=clock) as opened:
        yield opened
