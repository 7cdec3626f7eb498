"""A budget of requests in which people's have their turn at once."""

from __future__ import annotations

from typing import Self

from sqlalchemy.engine import URL

from shared.api.pace import LocalBudget, Priority


class UnpacedBudget(LocalBudget):
    """In the place of `SharedBudget`, without a file or a row; jobs in the background keep to the rate."""

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
