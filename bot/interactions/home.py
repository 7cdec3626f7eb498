"""Reads what Home shows to a person, for one or all workspaces, and publishes the view.

The selected workspace is stored in the view, which Slack returns with every visit, so it survives restarts.
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
from bot.interactions.home_view import HomeState, Paused, Waiting, viewed_workspace
from bot.slack import permissions
from bot.slack.directory import UserDirectory
from bot.slack.permissions import Person, Reach
from bot.slack.web_api import SlackError, WebApi
from shared.api.errors import OutreachError
from shared.commands import COMMANDS
from shared.domain.wall_clock import find_zone, moment
from shared.records.records import RecordsUnavailable
from shared.settings import UnknownWorkspace, Workspace
from shared.store.history import BEGINNING
from shared.text.formats import clip, show_time
from shared.text.links import lead_link
from shared.text.quotations import without_quotation

MOST_VISITORS = 2_000

log = structlog.get_logger("visits")
T = TypeVar("T")


class HomeTab:
    """`show` the current Home tab to a person."""

    def __init__(
        self,
        contexts: CommandContexts,
        directory: UserDirectory,
        slack: WebApi,
        *,
        cache: WorkspaceCache,
        links: Callable[[Sequence[str]], Awaitable[Mapping[str, str]]],
    ) -> None:
        self._contexts, self._directory, self._slack = contexts, directory, slack
        self._cache, self._links = cache, links
        self._store, self._page = contexts.store, contexts.settings.links.lead
        self._chosen: dict[str, str] = {}
        """The workspace that each visitor has selected; empty: all."""

    async def show(
        self, user: str, *, view: Mapping[str, Any] | None = None, workspace: str | None = None
    ) -> None:
        """Publish it; `view` is what the person sees now, `workspace` is chosen, all of them where it is empty."""
        if view is None and user not in self._chosen:
            await self._publish(user, home_view.loading())
        seen = self._chosen.get(user, viewed_workspace(view))
        if len(self._chosen) >= MOST_VISITORS:
            self._chosen.clear()
        self._chosen[user] = seen if workspace is None else workspace
        rules = self._contexts.settings.roles
        person = permissions.with_role(await self._directory.find(user), rules=rules, channel="")
        if permissions.reach_of(person) is Reach.EVERYTHING:
            chosen = self._workspace(self._chosen[user])
            shown = home_view.view(await self._read_state(person, chosen, refresh=view is not None))
        else:
            shown = home_view.closed(OUTSIDE if person.is_known else UNKNOWN_PERSON)
        await self._publish(user, shown)

    async def _publish(self, user: str, view: Mapping[str, Any]) -> None:
        try:
            await self._slack.call("views.publish", user_id=user, view=view)
        except SlackError as error:
            log.warning("home not shown", error=str(error)[:200])

    async def refresh(self, user: str) -> None:
        if user in self._chosen:
            await self.show(user)

    def _workspace(self, name: str) -> Workspace | None:
        """The selected workspace; None: all of several."""
        known = self._contexts.settings.workspaces
        if len(known) == 1:
            return next(iter(known.values()))
        try:
            return self._contexts.settings.workspace(name) if name else None
        except UnknownWorkspace:
            return None

    async def _read_state(self, person: Person, one: Workspace | None, *, refresh: bool) -> HomeState:
        known = tuple(self._contexts.settings.workspaces.values())
        shown = (one,) if one else known
        for workspace in shown if refresh or one else ():
            self._cache.forget(workspace)
        problems: list[BaseException] = []

        async def attempt(reading: Awaitable[T]) -> T | None:
            try:
                return await reading
            except (OutreachError, RecordsUnavailable, TimeoutError) as error:
                problems.append(error)
                return None

        waiting, claims, absence, paused, domains = await asyncio.gather(
            attempt(self._waiting(shown)),
            attempt(self._claims(person)),
            attempt(self._absence(person)),
            attempt(self._paused(shown)),
            asyncio.gather(*(attempt(self._cache.domains(workspace)) for workspace in shown)),
        )
        rules = self._contexts.settings.roles
        return HomeState(
            now=datetime.now(UTC),
            workspaces=tuple(workspace.name for workspace in known),
            viewed_workspace=one.name if one else "",
            waiting=waiting[0] if waiting else None,
            unclaimed=waiting[1] if waiting else {},
            claims=claims,
            paused=paused or (),
            domains={
                workspace.name: found
                for workspace, found in zip(shown, domains, strict=True)
                if found is not None
            },
            absence=absence or "",
            may_change=permissions.allowed(person, COMMANDS["pause"], rules=rules, channel=""),
            problem=_describe(problems),
        )

    async def _waiting(self, workspaces: Sequence[Workspace]) -> tuple[Sequence[Waiting], Mapping[str, int]]:
        """Those that have waited longest, and how many wait in each workspace."""
        counts, found = dict[str, int](), []
        for workspace in workspaces:
            unclaimed = await self._store.records.open_replies(workspace.name, most=home_view.UNCLAIMED)
            found += [(workspace.name, reply) for reply in unclaimed.replies]
            counts |= {workspace.name: unclaimed.count} if unclaimed.count else {}
        found = sorted(found, key=lambda pair: pair[1].received_at)[: home_view.UNCLAIMED]
        links = await self._links([reply.alert_id for _, reply in found])
        waiting = [
            Waiting(
                alert=reply.alert_id,
                workspace=name,
                lead=" at ".join(filter(None, (reply.lead or reply.email, reply.company))),
                sequence=reply.sequence,
                since=reply.received_at,
                reply=reply.reply,
                link=links.get(reply.alert_id, ""),
                page=lead_link(self._page, reply.email),
            )
            for name, reply in found
        ]
        return waiting, counts

    async def _claims(self, person: Person) -> Sequence[Waiting]:
        held = await self._store.alerts.claimed_by(person.id)
        links = await self._links([one.id for one in held[: home_view.CLAIMS]])
        return [
            Waiting(
                alert=one.id,
                workspace=one.workspace,
                lead=" at ".join(filter(None, (one.event.lead.name, one.event.lead.company))),
                sequence=one.event.sequence or "",
                reply=clip(without_quotation(one.event.reply or ""), length=BEGINNING),
                since=moment(one.claimed_at or one.received_at),
                link=links.get(one.id, ""),
                page=lead_link(self._page, one.event.lead.email),
            )
            for one in held
        ]

    async def _paused(self, workspaces: Sequence[Workspace]) -> Sequence[Paused]:
        found: dict[tuple[str, str], Paused] = {}
        for workspace in workspaces:
            for one in await self._store.alerts.paused_domains(workspace.name):
                if one.domain:
                    paused = Paused(domain=one.domain, since=one.received, workspace=workspace.name)
                    found.setdefault((workspace.name, one.domain), paused)
        return sorted(found.values(), key=lambda one: one.since)

    async def _absence(self, person: Person) -> str:
        away = [one for one in await self._store.turns.absences() if one.person == person.id]
        if not away:
            return ""
        until, zone = away[0].until, find_zone(person.zone) or UTC
        if until is None:
            return "until you are back"
        return f"until {show_time(until, now=self._contexts.now(), zone=zone)}"


def _describe(problems: Sequence[BaseException]) -> str:
    """The first problem, and how many more there are."""
    if not problems:
        return ""
    first, more = problems[0], f" (and {len(problems) - 1} more)" if problems[1:] else ""
    if isinstance(first, OutreachError):
        return f"The service: {first.message}{more}"
    if isinstance(first, RecordsUnavailable):
        return f"{first}{more}"
    return f"The outreach service didn't respond in time{more}"
