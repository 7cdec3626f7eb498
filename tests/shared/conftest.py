"""A command context for every test, and an account of the service."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox.service import Service
from tests.shared.doubles import Office, open_office


@pytest.fixture(scope="session")
def founded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A believable account on its first day, founded once; whoever changes it takes a copy."""
    path = tmp_path_factory.mktemp("founded") / "sandbox.db"

    async def found() -> None:
        async with Service(database=f"sqlite:///{path}", speed=0):
            pass

    asyncio.run(found())
    return path


@pytest.fixture
def account(founded: Path, tmp_path: Path) -> str:
    """An account of the test's own."""
    return f"sqlite:///{shutil.copy(founded, tmp_path / 'sandbox.db')}"


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    """A command context over the doubles."""
    office = open_office()
    yield office
    await office.client.aclose()
