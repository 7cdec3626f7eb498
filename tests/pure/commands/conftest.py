"""A command context for every test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.kit.commands import CommandHarness, open_harness


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[CommandHarness]:
    """A command context over a scripted service and the real store."""
    async with open_harness(tmp_path) as opened:
        yield opened
