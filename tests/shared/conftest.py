"""A command context for every test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.shared.doubles import CommandHarness, open_harness


@pytest.fixture
async def harness() -> AsyncIterator[CommandHarness]:
    """A command context over the doubles."""
    harness = open_harness()
    yield harness
    await harness.client.aclose()
