from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bot.house import House, bot_inside, open_house


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """Slack and a bot in this process."""
    async with open_house(tmp_path) as opened, bot_inside(opened):
        yield opened
