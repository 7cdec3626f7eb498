"""Of the visits to many workspaces no more than a few run at once."""

from __future__ import annotations

import asyncio

from bot.runtime import WORKSPACES_AT_ONCE, visit


async def test_every_workspace_is_visited_once_and_only_a_few_at_once() -> None:
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
    assert (sorted(visited), most <= WORKSPACES_AT_ONCE) == (sorted(names), True)
