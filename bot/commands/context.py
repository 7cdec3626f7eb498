"""Command contexts: the workspace's client, the store and the clock for the person who runs a command."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from typing import Any

from shared.api.client import OutreachClient
from shared.api.models import Sequence as Campaign
from shared.api.pace import Priority
from shared.api.transport import Transport
from shared.commands import Role
from shared.commands.run import CommandContext, open_client
from shared.domain.health import DomainHealth, roll_up
from shared.domain.wall_clock import moment
from shared.frozen import frozen
from shared.records.audit import Actor
from shared.settings import Settings, UnknownWorkspace, Workspace
from shared.store import Store

CACHED_SECONDS = 15.0
TIMEOUT_SECONDS = 5.0


@frozen
class CommandContexts:
    """One client per workspace, kept open while the bot runs."""

    settings: Settings
    store: Store
    clients: Mapping[str, OutreachClient]
    problems: Callable[[], Sequence[str]] = tuple
    """The bot's own current problems."""

    def at(self, workspace: Workspace, actor: Actor, *, role: Role = Role.ADMIN) -> CommandContext:
        """The context of a person's command in a workspace."""
        return CommandContext(
            workspace=workspace,
            client=self.clients[workspace.name],
            actor=actor,
            role=role,
            records=self.store.records,
            settings=self.settings,
            problems=self.problems,
            now=self.now,
        )

    def now(self) -> datetime:
        """The time by the store's clock, which decides when timers are due."""
        return moment(self.store.database.clock())

    def workspace(self, name: str | None, *, channel: str = "") -> Workspace:
        """The named workspace, or the one whose alerts go to this channel, or the default."""
        if name is None:
            for workspace in self.settings.workspaces.values():
                # A channel speaks of its own workspace, so that nobody types its name there.
                if channel and workspace.alert_channel == channel:
                    return workspace
        return self.settings.workspace(name)

    def workspace_or_own(self, name: str | None, *, channel: str = "") -> Workspace:
        """The named workspace, should it still be there; else the channel's own."""
        try:
            return self.workspace(name or None, channel=channel)
        except UnknownWorkspace:
            return self.workspace(None, channel=channel)


@asynccontextmanager
async def open_contexts(
    settings: Settings,
    store: Store,
    *,
    problems: Callable[[], Sequence[str]] = tuple,
    transport: Transport | None = None,
) -> AsyncIterator[CommandContexts]:
    """Open every workspace's client, without requests to the service."""
    async with AsyncExitStack() as stack:
        clients = {
            name: await stack.enter_async_context(
                open_client(settings, workspace, transport=transport, look=False)
            )
            for name, workspace in settings.workspaces.items()
        }
        yield CommandContexts(settings=settings, store=store, clients=clients, problems=problems)


class WorkspaceCache:
    """Sequences and domains of every workspace, for menus and for Home.

    Each method raises `OutreachError`, and `TimeoutError` after `TIMEOUT_SECONDS`.
    """

    def __init__(self, contexts: CommandContexts) -> None:
        self._clients = contexts.clients
        self._cached: dict[tuple[str, str], tuple[float, Any]] = {}

    async def sequences(self, workspace: Workspace) -> Sequence[Campaign]:
        listed: Sequence[Campaign] = await self._cached_call("list_sequences", workspace)
        return listed

    async def domains(self, workspace: Workspace) -> Sequence[DomainHealth]:
        return roll_up(await self._cached_call("list_inboxes", workspace), thresholds=workspace.thresholds)

    def forget(self) -> None:
        self._cached.clear()

    async def _cached_call(self, method: str, workspace: Workspace) -> Any:
        at, answer = self._cached.get((method, workspace.name), (0.0, None))
        if answer is None or time.monotonic() - at >= CACHED_SECONDS:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                answer = await getattr(self._clients[workspace.name], method)(priority=Priority.INTERACTIVE)
            self._cached[method, workspace.name] = (time.monotonic(), answer)
        return answer
