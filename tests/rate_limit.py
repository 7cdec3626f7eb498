"""Requests without the wait for their turn, in tests of something else."""

from __future__ import annotations

import pytest

from shared.api.pace import Priority, Turns


def lift_rate_limit(patch: pytest.MonkeyPatch) -> None:
    """Let every budget of this process admit its requests at once; the service's own limit must be off."""
    patch.setattr(Turns, "reserve", _admit)


async def _admit(_turns: Turns, *, priority: Priority, deadline: float | None) -> None:
    pass
