"""Who looks at Home, and at which workspace: what is read for it, and the view that is published.

The choice of a workspace stands in the view itself, which Slack hands back with every visit: it outlives the bot.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import structlog

from bot.commands.canned_replies import OUTSIDE, UNKNOWN_PERSON
from bot.commands.context import CommandContexts
from bot.commands.workspace_cache import WorkspaceCache
from bot.interactions import home_view
from bot.interactions.home_state import HomeState, Paused, Waiting, chosen, looked_at
from bot.slack import permissions
from bot.slack.directory import UserDirectory
from bot.slack.permissions import Person, Reach
from bot.slack.web_api import SlackError, WebApi
from bot.store.alerts.claims import ClaimState
from bot.store.interaction_store import Interaction
from shared.api.errors import OutreachError
from shared.api.events import Event, read_event
from shared.commands import COMMANDS
from shared.domain.records import RecordsUnavailable
from shared.settings import UnknownWorkspace, Workspace

MOST_VISITORS = 2_000

log = structlog.get_logger("visits")
T = TypeVar("T")


class HomeTab:
    """`show` the Home tab to one person, as things stand."""

    def __init__(
        self,
        contexts: CommandContexts,
        people: UserDirectory,
        slack: WebApi,
        *,
        catalogue: WorkspaceCache,
        links: Callable[[Sequence[str]], Awaitable[Mapping[str, str]]],
    ) -> None:
        self._contexts, self._people, self._slack = contexts, people, slack
        self._catalogue, self._links = catalogue, links
        self._interaction = Interaction(contexts.ledger.store)
        self._chosen: dict[str, str] = {}
        """What each visitor looks at: the name of a workspace, or empty for all."""

    async def show(self, user: str, *, view: Mapping[str, Any] | None = None, line: str = "home") -> None:
        """Publish it; `view` is what the person sees now, `line` chooses: `home`, `home @acme`, `home all`."""
        choice = chosen(line, seen=self._chosen.get(user, looked_at(view)))
        if len(self._chosen) >= MOST_VISITORS:
            self._chosen.clear()
        self._chosen[user] = choice
        person = permissions.seated(
            await self._people.find(user), rules=self._contexts.settings.roles, channel=""
        )
        if permissions.reach_of(person) is Reach.EVERYTHING:
            shown = home_view.view(
                await self._standing(person, self._workspace(choice), asked=view is not None)
            )
        else:
            shown = home_view.closed(OUTSIDE if person.is_known else UNKNOWN_PERSON)
        try:
            await self._slack.call("views.publish", user_id=user, view=shown)
        except SlackError as error:
            log.warning("home not shown", error=str(error)[:200])

    async def refresh(self, user: str) -> None:
        """Publish it anew for somebody who has looked at it since the start."""
        if user in self._chosen:
            await self.show(user)

    def _workspace(self, name: str) -> Workspace | None:
        """The one that is looked at; None: all, of several."""
        known = self._contexts.settings.workspaces
        if len(known) == 1:
            return next(iter(known.values()))
        try:
            return self._contexts.settings.workspace(name) if name else None
        except UnknownWorkspace:
            return None

    async def _standing(self, person: Person, one: Workspace | None, *, asked: bool) -> HomeState:
        """Everything about one workspace, or what is urgent in all of them; read anew for whoever `asked`."""
        known = tuple(self._contexts.settings.workspaces.values())
        shown = (one,) if one else known
        for workspace in shown if asked or one else ():
            self._catalogue.forget(workspace)
        trouble: list[BaseException] = []
        waiting, claims, paused, domains, sequences = await asyncio.gather(
            _tried(self._waiting(shown), trouble),
            _tried(self._claims(person), trouble),
            _tried(self._paused(shown), trouble),
            self._each(shown, self._catalogue.domains, trouble),
            self._each(shown, self._catalogue.sequences, trouble),
        )
        return HomeState(
            now=datetime.now(UTC),
            workspaces=tuple(workspace.name for workspace in known),
            looked_at=one.name if one else "",
            waiting=waiting,
            claims=claims,
            paused=paused or (),
            domains=domains,
            sequences=sequences,
            may_change=self._may_change(person),
            trouble=_said(trouble),
        )

    def _may_change(self, person: Person) -> bool:
        rules = self._contexts.settings.roles
        return permissions.allowed(person, COMMANDS["pause"], rules=rules, channel="")

    async def _each(
        self,
        workspaces: Sequence[Workspace],
        ask: Callable[[Workspace], Awaitable[T]],
        trouble: list[BaseException],
    ) -> dict[str, T]:
        """The answers by workspace; one that is not there could not be asked."""
        answers = await asyncio.gather(*(_tried(ask(workspace), trouble) for workspace in workspaces))
        pairs = zip(workspaces, answers, strict=True)
        return {workspace.name: answer for workspace, answer in pairs if answer is not None}

    async def _waiting(self, workspaces: Sequence[Workspace]) -> Sequence[Waiting]:
        """Over all of them, who has waited longest first."""
        found = [
            (workspace.name, reply)
            for workspace in workspaces
            for reply in await self._contexts.ledger.open_replies(workspace.name)
        ]
        found.sort(key=lambda pair: pair[1].received_at)
        links = await self._links([reply.alert_id for _, reply in found[: home_view.WAITING]])
        return [
            Waiting(
                alert=reply.alert_id,
                workspace=name,
                lead=" at ".join(filter(None, (reply.lead or reply.email, reply.company))),
                sequence=reply.sequence,
                since=reply.received_at,
                link=links.get(reply.alert_id, ""),
            )
            for name, reply in found
        ]

    async def _paused(self, workspaces: Sequence[Workspace]) -> Sequence[Paused]:
        found: dict[tuple[str, str], Paused] = {}
        for workspace in workspaces:
            for one in await self._contexts.ledger.watched(workspace.name):
                if one.kind == "domain.paused" and one.domain:
                    since = datetime.fromtimestamp(one.received_at, UTC)
                    paused = Paused(domain=one.domain, since=since, workspace=workspace.name)
                    found.setdefault((workspace.name, one.domain), paused)
        return sorted(found.values(), key=lambda one: one.since)

    async def _claims(self, person: Person) -> Sequence[Waiting]:
        """What this person has, in whatever workspace."""
        held = await self._interaction.held_by(person.id)
        links = await self._links([one.alert_id for one in held[: home_view.CLAIMS]])
        return [_claimed(one, link=links.get(one.alert_id, "")) for one in held]


def _claimed(one: ClaimState, *, link: str) -> Waiting:
    event = read_event(one.body or b"")
    known = event if isinstance(event, Event) else None
    return Waiting(
        alert=one.alert_id,
        workspace=one.workspace,
        lead=" at ".join(filter(None, (known.lead.name, known.lead.company))) if known else "",
        sequence=(known.sequence or "") if known else "",
        since=datetime.fromtimestamp(one.at or one.received_at, UTC),
        link=link,
    )


async def _tried(asked: Awaitable[T], trouble: list[BaseException]) -> T | None:
    """The answer; a failure is kept, to be told, and hides nothing else."""
    try:
        return await asked
    except (OutreachError, RecordsUnavailable, TimeoutError) as error:
        trouble.append(error)
        return None


def _said(trouble: Sequence[BaseException]) -> str:
    """The first thing that went wrong, and how many more did."""
    if not trouble:
        return ""
    first = trouble[0]
    if isinstance(first, OutreachError):
        said = f"The service: {first.message}"
    elif isinstance(first, RecordsUnavailable):
        said = str(first)
    else:
        said = "The service does not answer in time"
    return said if len(trouble) == 1 else f"{said} (and {len(trouble) - 1} more)"
