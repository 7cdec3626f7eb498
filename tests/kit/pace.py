"""Requests without the wait for their turn, in tests of something else. The service's own limit must be off."""

from __future__ import annotations

from typing import Self

import pytest
from sqlalchemy.engine import URL

from shared.api.pace import LocalBudget, Priority


class UnpacedBudget(LocalBudget):
    """Stands in for `SharedBudget` without a file or a row: a person waits for nothing, jobs keep to the rate."""

    def __init__(self, url: URL, *, key: str, rate: float) -> None:
        super().__init__(rate)

    async def reserve(self, *, priority: Priority = Priority.NORMAL, deadline: float | None = None) -> None:
        if priority is not Priority.INTERACTIVE:
            await super().reserve(priority=priority, deadline=deadline)

    async def aclose(self) -> None:
        """Nothing is open."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is open."""


class NoPacing(LocalBudget):
    """Waits for nothing: the rate is a test of its own."""

    async def reserve(self, *, priority: Priority = Priority.NORMAL, deadline: float | None = None) -> None:
        pass


def lift_rate_limit(patch: pytest.MonkeyPatch) -> None:
    """Let every budget of this process admit its requests at once."""
    patch.setattr(LocalBudget, "reserve", _admit)


async def _admit(_budget: LocalBudget, *, priority: Priority, deadline: float | None) -> None:
    pass
