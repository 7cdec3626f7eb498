from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox.service import Service
from tests.bot.house import House, bot_inside, open_house


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """Slack and a bot in this process."""
    async with open_house(tmp_path) as opened, bot_inside(opened):
        yield opened


@pytest.fixture(scope="session")
def founded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of an account with nine weeks of history, made once; whoever wants it takes a copy."""
    file = tmp_path_factory.mktemp("founded") / "service.db"

    async def found() -> None:
        async with Service(speed=0, database=f"sqlite:///{file}"):
            pass

    asyncio.run(found())
    return file


@pytest.fixture
def account(founded: Path, tmp_path: Path) -> str:
    """The address of such a database, for one test alone."""
    return f"sqlite:///{shutil.copy(founded, tmp_path / 'service.db')}"
