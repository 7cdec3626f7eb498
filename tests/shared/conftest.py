"""A desk for every test; properties are judged by what they find, not by the clock of a shared machine."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, settings

from tests.shared.doubles import Office, open_office

settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    """A desk with the doubles behind it."""
    office = open_office()
    yield office
    await office.client.aclose()
