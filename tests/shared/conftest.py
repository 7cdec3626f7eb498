"""A command context for every test, and an account of the service."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox.service import Service
from tests.shared.doubles import CommandHarness, open_harness


@pytest.fixture(scope="session")
def seeded_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A believable account on its first day, founded once; whoever changes it takes a copy."""
    path = tmp_path_factory.mktemp("seeded") / "sandbox.db"

    async def found() -> None:
        async with Service(database=f"sqlite:///{path}", speed=0):
            pass

    asyncio.run(found())
    return path


@pytest.fixture
def account(seeded_database: Path, tmp_path: Path) -> str:
    """An account of the test's own."""
    return f"sqlite:///{shutil.copy(seeded_database, tmp_path / 'sandbox.db')}"


@pytest.fixture
async def harness() -> AsyncIterator[CommandHarness]:
    """A command context over the doubles."""
    harness = open_harness()
    yield harness
    await harness.client.aclose()
