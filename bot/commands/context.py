"""The context in which a person asks: clients, store and clock, what they may do and know there, and their answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, Literal

from bot.cards import CardSettings, card_settings
from bot.slack.directory import UserDirectory
from bot.slack.permissions import SHOWN, Reach, Standing
from shared.api.client import OutreachClient
from shared.api.pace import Priority
from shared.commands import Invocation
from shared.commands.base import HERE, Arguments, CommandContext, InChannel
from shared.commands.pause import Pause
from shared.commands.run import open_client
from shared.commands.subscribe import list_sources
from shared.domain.card import Card, warning
from shared.domain.wall_clock import find_zone, moment
from shared.frozen import frozen
from shared.records import Actor, AuditEntry
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

    def at(self, name: str, actor: Actor) -> CommandContext:
        """The context of someone's command in a workspace."""
        return CommandContext(
            workspace=self.settings.workspaces[name],
            client=self.clients[name],
            actor=actor,
            records=self.store,
            settings=self.settings,
            problems=self.problems,
            now=self.now,
        )

    def now(self) -> datetime:
        """The time by the store's clock, which decides when timers are due."""
        return moment(self.store.database.clock())

    @property
    def cards(self) -> CardSettings:
        return card_settings(self.settings)

    def workspace(self, name: str | None, *, channel: str = "") -> Workspace:
        """The named workspace, or the one whose alerts go to this channel, or the default."""
        # A channel speaks of its own workspace, so that nobody types its name there.
        places = self.settings.workspaces.values() if channel and not name else ()
        own = (place for place in places if place.alert_channel == channel)
        return next(own, None) or self.settings.workspace(name)

    def workspace_or_own(self, name: str | None, *, channel: str = "") -> Workspace:
        """The named workspace, should it still be there; else the channel's own."""
        try:
            return self.workspace(name, channel=channel)
        except UnknownWorkspace:
            return self.workspace(None, channel=channel)


@asynccontextmanager
async def open_contexts(
    settings: Settings,
    store: Store,
    *,
    problems: Callable[[], Sequence[str]] = tuple,
) -> AsyncIterator[CommandContexts]:
    """Open every workspace's client, without requests to the service."""
    async with AsyncExitStack() as stack:
        clients = {
            name: await stack.enter_async_context(open_client(settings, workspace, look=False))
            for name, workspace in settings.workspaces.items()
        }
        yield CommandContexts(settings=settings, store=store, clients=clients, problems=problems)


class WorkspaceCache:
    """The sequences and inboxes of every workspace, kept for a moment: for menus and for Home."""

    def __init__(self, contexts: CommandContexts) -> None:
        self._clients = contexts.clients
        self._cached: dict[tuple[str, str], tuple[float, Any]] = {}

    async def read(self, method: Literal["list_sequences", "list_inboxes"], workspace: str) -> Any:
        """Raises `OutreachError`, and `TimeoutError` after `TIMEOUT_SECONDS`."""
        at, answer = self._cached.get((method, workspace), (0.0, None))
        if answer is None or time.monotonic() - at >= CACHED_SECONDS:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                answer = await getattr(self._clients[workspace], method)(priority=Priority.INTERACTIVE)
            self._cached[method, workspace] = (time.monotonic(), answer)
        return answer


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and whether the whole channel sees it."""

    card: Card
    _: KW_ONLY
    public: bool = False
    by: str = ""
    """The signature of who did it, empty where the card says so itself."""
    items: tuple[Card, ...] = ()
    """Listed below the card, each with its own buttons."""
    settles: bool = False
    """The clicked question is answered and can be removed."""
    on_card: bool = False
    """The alert's card shows it; only people who clicked elsewhere get it as an answer."""
    edited: bool = False
    """The message of a change shows it by now; who clicked there needs no answer."""
    noted: bool = False
    """A note in the thread of the alert's card says it: an answer there would be a second message."""
    workspace: str = ""
    setting: str = ""
    """The setting whose message it is."""
    about: str = ""
    """The channel that it tells of."""
    number: int = 0
    """The number of the change in the audit."""


@frozen
class Caller(Standing):
    """A person in a channel."""

    contexts: CommandContexts
    directory: UserDirectory
    face: str
    """The face through which they ask; the audit tells it."""

    @property
    def actor(self) -> Actor:
        channel = self.channel if self.face == "slack" else ""
        return Actor(name=self.person.name, id=self.person.id, face=self.face, channel=channel)

    @property
    def zone(self) -> tzinfo:
        """The person's own time zone from Slack, or that of the settings."""
        return find_zone(self.person.zone) or find_zone(self.contexts.settings.routes.timezone) or UTC

    def context(self, workspace: str | None) -> CommandContext:
        """The context of a command in this workspace, or in that of the channel. Raises `UnknownWorkspace`."""
        contexts, directory, actor = self.contexts, self.directory, self.actor

        async def permalink(alert: str) -> str:
            posted = [place for place in (await contexts.store.alerts.cards(alert)).items() if place[1]]
            return await directory.permalink(*posted[0]) if posted else ""

        return replace(
            contexts.at(contexts.workspace(workspace, channel=self.channel).name, actor),
            role=self.role,
            allows=self.may,
            find_place=lambda channel: directory.find_place(channel, actor),
            zone=self.zone,
            permalink=permalink,
        )

    async def located(self, arguments: Arguments) -> Arguments | Card:
        """The arguments with the id of the channel and the names of the people in them.

        Of a channel of which this person may not know it is the refusal.
        """
        if isinstance(arguments, Pause):
            return replace(arguments, reason=await self.directory.with_names(arguments.reason))
        if not isinstance(arguments, InChannel) or not arguments.channel:
            return arguments
        place = await self.directory.locate(arguments.channel, self.actor)
        if place.refusal:
            return warning(place.refusal, place.fix)
        return replace(arguments, channel=place.channel)

    async def readable(self, asked: Invocation) -> Invocation | None:
        """The line in the workspace that this person may read here; None if it may not be answered."""
        name = asked.arguments.verb
        if not self.may(name):
            return None
        if self.reach is not Reach.CHANNEL or self.is_among(self.rules.commands.get(name, frozenset())):
            return asked
        if isinstance(asked.arguments, InChannel) and asked.arguments.channel not in {HERE, self.channel}:
            return None
        workspaces = self.contexts.settings.workspaces.values()
        open_here = [place.name for place in workspaces if place.alert_channel == self.channel]
        if name in SHOWN:
            open_here += [line.workspace for line in await list_sources(self.context(None), self.channel)]
        wanted = asked.workspace
        fitting = [other for other in open_here if not wanted or wanted.casefold() == other.casefold()]
        return replace(asked, workspace=fitting[0]) if fitting else None

    async def refuse(self, name: str, line: str, workspace: str | None, *, act: str = "") -> Answer:
        """Record the refusal of a line, and explain it; `act` are the words that they used."""
        entry = AuditEntry(
            at=datetime.now(UTC),
            actor=self.actor,
            # Whoever may not ask must not learn that no workspace has this name.
            workspace=self.contexts.workspace_or_own(workspace, channel=self.channel).name,
            command=line,
            result="refused: role",
            effect="refused",
        )
        await self.contexts.store.record(entry)
        return Answer(self.refusal(name, act=act))
