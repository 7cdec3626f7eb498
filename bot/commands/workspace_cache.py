"""Caches the sequences and domains of every workspace, for menus and for Home."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, cast

from bot.commands.context import CommandContexts
from shared.api.models import Sequence as Campaign
from shared.api.pace import Priority
from shared.domain.health import DomainHealth, roll_up
from shared.settings import Workspace

FRESH_SECONDS = 15.0
"""Seconds for which a response is cached."""
TIMEOUT = 5.0

T = TypeVar("T")


class WorkspaceCache:
    """Every method raises `OutreachError`, and `TimeoutError` after `PATIENCE`."""

    def __init__(self, contexts: CommandContexts, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._contexts, self._clock = contexts, clock
        self._cached: dict[tuple[str, str], tuple[float, Any]] = {}

    async def sequences(self, workspace: Workspace) -> Sequence[Campaign]:
        """All sequences of a workspace."""
        client = self._contexts.clients[workspace.name]
        return await self._cached_call(
            "sequences", workspace, lambda: client.list_sequences(priority=Priority.INTERACTIVE)
        )

    async def domains(self, workspace: Workspace) -> Sequence[DomainHealth]:
        """The health of its sending domains."""
        client = self._contexts.clients[workspace.name]

        async def read() -> Sequence[DomainHealth]:
            inboxes = await client.list_inboxes(priority=Priority.INTERACTIVE)
            return roll_up(inboxes, thresholds=workspace.thresholds)

        return await self._cached_call("domains", workspace, read)

    def forget(self, workspace: Workspace) -> None:
        self._cached.pop(("sequences", workspace.name), None)
        self._cached.pop(("domains", workspace.name), None)

    async def _cached_call(self, what: str, workspace: Workspace, read: Callable[[], Awaitable[T]]) -> T:
        at, known = self._cached.get((what, workspace.name), (0.0, None))
        if known is not None and self._clock() - at < FRESH_SECONDS:
            return cast("T", known)
        async with asyncio.timeout(TIMEOUT):
            found = await read()
        self._cached[what, workspace.name] = (self._clock(), found)
        return found
