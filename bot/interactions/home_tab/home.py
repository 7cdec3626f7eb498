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
from bot.interactions.home_tab import home_view
from bot.interactions.home_tab.home_state import (
    HomeState,
    Paused,
    Waiting,
    viewed_workspace,
)
from bot.slack import permissions
from bot.slack.directory import UserDirectory, Viewer
from bot.slack.permissions import Person, Reach
from bot.slack.web_api import SlackError, WebApi
from shared.api.errors import OutreachError
from shared.commands import COMMANDS
from shared.commands.base import clip
from shared.domain.wall_clock import find_zone, moment
from shared.records.records import RecordsUnavailable
from shared.records.replies import OpenReply
from shared.settings import UnknownWorkspace, Workspace
from shared.store.queue.alert_row import AlertRow
from shared.store.records.records import BEGINNING
from shared.text.formats import show_time
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
        choice = seen if workspace is None else workspace
        if len(self._chosen) >= MOST_VISITORS:
            self._chosen.clear()
        self._chosen[user] = choice
        person = permissions.with_role(
            await self._directory.find(user), rules=self._contexts.settings.roles, channel=""
        )
        if permissions.reach_of(person) is Reach.EVERYTHING:
            shown = home_view.view(
                await self._read_state(person, self._workspace(choice), refresh=view is not None)
            )
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
        problem: list[BaseException] = []
        waiting, claims, absence, paused, domains, sequences = await asyncio.gather(
            _attempt(self._waiting(shown), problem),
            _attempt(self._claims(person), problem),
            _attempt(self._absence(person), problem),
            _attempt(self._paused_domains(shown), problem),
            self._each(shown, self._cache.domains, problem),
            self._each(shown, self._cache.sequences, problem),
        )
        digests = await _attempt(self._digests(one, person), problem)
        return HomeState(
            now=datetime.now(UTC),
            workspaces=tuple(workspace.name for workspace in known),
            viewed_workspace=one.name if one else "",
            waiting=waiting[0] if waiting else None,
            unclaimed=waiting[1] if waiting else {},
            claims=claims,
            paused=paused or (),
            domains=domains,
            sequences=sequences,
            digests=digests or (),
            zone=find_zone(person.zone) or find_zone(self._contexts.settings.routes.zone) or UTC,
            absence=absence or "",
            may_change=self._may_change(person),
            problem=_describe(problem),
        )

    async def _digests(self, one: Workspace | None, person: Person) -> Sequence[tuple[str, str]]:
        """The digests of the workspace in channels that this person may know, by their names."""
        if one is None:
            return ()
        viewer, found = Viewer(user=person.id), []
        for channel, at in await self._store.digests.scheduled(one.name, most=home_view.DIGESTS):
            if await self._directory.sees(channel, viewer):
                found.append((await self._directory.shown_name(channel, viewer), at))
        return found

    def _may_change(self, person: Person) -> bool:
        rules = self._contexts.settings.roles
        return permissions.allowed(person, COMMANDS["pause"], rules=rules, channel="")

    async def _each(
        self,
        workspaces: Sequence[Workspace],
        ask: Callable[[Workspace], Awaitable[T]],
        problem: list[BaseException],
    ) -> dict[str, T]:
        answers = await asyncio.gather(*(_attempt(ask(workspace), problem) for workspace in workspaces))
        pairs = zip(workspaces, answers, strict=True)
        return {workspace.name: answer for workspace, answer in pairs if answer is not None}

    async def _waiting(self, workspaces: Sequence[Workspace]) -> tuple[Sequence[Waiting], Mapping[str, int]]:
        """Those that have waited longest, and how many wait in each workspace."""
        records, counts = self._contexts.store.records, dict[str, int]()
        found: list[tuple[str, OpenReply]] = []
        for workspace in workspaces:
            unclaimed = await records.open_replies(workspace.name, most=home_view.WAITING)
            found += [(workspace.name, reply) for reply in unclaimed.replies]
            counts |= {workspace.name: unclaimed.count} if unclaimed.count else {}
        found = sorted(found, key=lambda pair: pair[1].received_at)[: home_view.WAITING]
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

    async def _paused_domains(self, workspaces: Sequence[Workspace]) -> Sequence[Paused]:
        found: dict[tuple[str, str], Paused] = {}
        for workspace in workspaces:
            for one in await self._contexts.store.subjects.paused_domains(workspace.name):
                if one.domain:
                    paused = Paused(domain=one.domain, since=one.received, workspace=workspace.name)
                    found.setdefault((workspace.name, one.domain), paused)
        return sorted(found.values(), key=lambda one: one.since)

    async def _absence(self, person: Person) -> str:
        away = [one for one in await self._store.turns.absences() if one.person == person.id]
        now, zone = self._contexts.now(), find_zone(person.zone) or UTC
        until = away[0].until if away else None
        return f"until {show_time(until, now=now, zone=zone)}" if until else "until you are back" * bool(away)

    async def _claims(self, person: Person) -> Sequence[Waiting]:
        held = await self._store.alerts.claimed_by(person.id)
        links = await self._links([one.id for one in held[: home_view.CLAIMS]])
        return [_claimed(one, link=links.get(one.id, ""), page=self._page) for one in held]


def _claimed(one: AlertRow, *, link: str, page: str) -> Waiting:
    lead = one.event.lead
    return Waiting(
        alert=one.id,
        workspace=one.workspace,
        lead=" at ".join(filter(None, (lead.name, lead.company))),
        sequence=one.event.sequence or "",
        reply=clip(without_quotation(one.event.reply or ""), length=BEGINNING),
        since=moment(one.claimed_at or one.received_at),
        link=link,
        page=lead_link(page, lead.email),
    )


async def _attempt(refresh: Awaitable[T], problem: list[BaseException]) -> T | None:
    try:
        return await refresh
    except (OutreachError, RecordsUnavailable, TimeoutError) as error:
        problem.append(error)
        return None


def _describe(problem: Sequence[BaseException]) -> str:
    if not problem:
        return ""
    first = problem[0]
    if isinstance(first, OutreachError):
        text = f"The service: {first.message}"
    elif isinstance(first, RecordsUnavailable):
        text = str(first)
    else:
        text = "The outreach service didn't respond in time"
    return text if len(problem) == 1 else f"{text} (and {len(problem) - 1} more)"
