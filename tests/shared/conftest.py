"""A desk for every test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.shared.doubles import Office, open_office


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    """A desk with the doubles behind it."""
    office = open_office()
    yield office
    await office.client.aclose()
