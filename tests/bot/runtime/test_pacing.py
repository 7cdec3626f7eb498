"""Visits to many workspaces are spread over time, and no more than a few run at once."""

from __future__ import annotations

import asyncio

import pytest

from bot import runtime
from bot.runtime import visit


async def test_every_workspace_is_visited_once_and_only_a_few_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runtime, "PER_SECOND", 1_000.0)
    visited: list[str] = []
    inside = most = 0

    async def act(name: str) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.005)
        inside -= 1
        visited.append(name)

    names = [f"w{number}" for number in range(40)]
    await visit(names, act)
    assert (sorted(visited), most <= runtime.WORKSPACES_AT_ONCE) == (sorted(names), True)


async def test_visits_beyond_the_first_few_begin_at_a_bounded_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "PER_SECOND", 50.0)
    began: list[float] = []

    async def act(_name: str) -> None:
        began.append(asyncio.get_running_loop().time())

    await visit([f"w{number}" for number in range(runtime.WORKSPACES_AT_ONCE + 10)], act)
    assert began[-1] - began[0] >= 0.19
