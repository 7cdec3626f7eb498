"""The context of a command: workspace, client, person, the bot's records, clock."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from shared.api.client import OutreachClient
from shared.api.pace import SharedBudget, budget_key
from shared.commands.table import Command, Role
from shared.records.audit import Actor
from shared.records.records import Records
from shared.settings import Settings, Workspace

if TYPE_CHECKING:
    import httpx

    from shared.commands.running.session import SessionChanges


async def show_as_is(who: str) -> str:
    return who


async def no_link(_alert: str) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A channel to post to. `refusal` says why that is impossible, `fix` what to do about it.

    `error` is Slack's word for that.
    """

    channel: str
    error: str = ""
    refusal: str = ""
    fix: str = ""
    note: str = ""
    """What the answer adds where it is taken as it is."""


UNCHECKED = "Not checked with Slack: this channel may not exist, or may not accept messages."


async def sees_every_channel(_channel: str) -> bool:
    return True


async def take_as_is(channel: str) -> Place:
    return Place(channel=channel, note=UNCHECKED)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """What a command of one person, or of one timer, runs with. `now` gives aware times in UTC."""

    workspace: Workspace
    client: OutreachClient
    actor: Actor
    records: Records | None
    now: Callable[[], datetime]
    session: SessionChanges | None = None
    """What this process has changed, for an Undo without records."""
    asks_always: bool = False
    """Every change is asked about first: a key is pressed by mistake more easily than a line is typed."""
    unseen: bool = False
    """What is asked is answered by yes without being shown, so that nothing is read only to show it."""
    pages_searched: int = 20
    """How many pages are gone through for one lead: the service offers no search, so each is a request."""
    progress: Callable[[int], None] = lambda _count: None
    """Told how many leads a search has looked at."""
    role: Role = Role.ADMIN
    """Who sits at the machine may do everything; Slack says who its people are."""
    permits: Callable[[Command], bool] | None = None
    """Where the settings say more than roles."""
    settings: Settings | None = None
    """What is set for all workspaces together; None: nothing is known beside this one."""
    problems: Callable[[], Sequence[str]] = tuple
    """What the running bot knows to be wrong with itself."""
    zone: tzinfo = UTC
    """In which the reader's times of day are."""
    limit: int | None = None
    """How many entries of a list to show; None: the command's default."""
    page: int = 1
    mine: bool = False
    """Of `replies`: what the person has claimed, instead of what is unclaimed."""
    """Which part of a list that is longer than one answer."""
    display_name: Callable[[str], Awaitable[str]] = show_as_is
    """How people say whom an id in the settings means."""
    permalink: Callable[[str], Awaitable[str]] = no_link
    """The address of an alert's card, for faces that can lead there; empty where there is none."""
    find_place: Callable[[str], Awaitable[Place]] = take_as_is
    """Whether a channel exists and takes posts; only Slack knows."""
    sees_channel: Callable[[str], Awaitable[bool]] = sees_every_channel
    """Whether the reader may know of a channel; private ones are for their members."""

    def allows(self, command: Command) -> bool:
        return self.role.includes(command.role) if self.permits is None else self.permits(command)


def setting_hint(argument: str) -> str:
    """How to give an argument of the client another value in the settings."""
    if argument == "api_key":
        return "Create a new key in the account settings and set OUTREACH_API_KEY."
    if argument == "base_url":
        return "If it has moved, set OUTREACH_BASE_URL to its new address."
    section, _, name = argument.removeprefix("fields.").partition(".")
    return f'Set its path in outreach.toml under [fields.{section}]: {name} = "path.to.it"'


@asynccontextmanager
async def open_client(
    settings: Settings,
    workspace: Workspace,
    *,
    transport: httpx.AsyncBaseTransport | None = None,
    look: bool = True,
) -> AsyncIterator[OutreachClient]:
    """A client that shares its key's budget with every other process; closes both at the end.

    `look`: read the state of the budget at once instead of with the first request.
    """
    key = workspace.api_key.get_secret_value()
    budget = SharedBudget(settings.budget_database, key=budget_key(key), rate=workspace.rate)
    async with (
        budget if look else aclosing(budget),
        OutreachClient(
            base_url=workspace.base_url,
            api_key=key,
            pacer=budget,
            fields={str(key): paths for key, paths in workspace.fields.items()},
            transport=transport,
            explain=setting_hint,
        ) as client,
    ):
        yield client
