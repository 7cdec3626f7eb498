"""Checks who can run which command where, and builds the context it runs in."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from functools import partial

from bot.commands.answer import Answer
from bot.commands.context import CommandContexts
from bot.slack import permissions
from bot.slack.directory import UserDirectory, Viewer
from bot.slack.permissions import Person, Reach
from shared.commands import Command, Invocation, Role
from shared.commands.base import HERE, InChannel, Problem
from shared.commands.run import CommandContext
from shared.commands.subscribe import list_sources
from shared.domain.card import Card, Tone
from shared.domain.wall_clock import find_zone
from shared.records.audit import Actor, AuditEntry
from shared.settings import UnknownWorkspace


class Access:
    """The rules of the settings, applied to the people of the Slack workspace."""

    def __init__(self, contexts: CommandContexts, directory: UserDirectory) -> None:
        self._contexts, self._directory = contexts, directory
        self._rules = contexts.settings.roles

    def with_role(self, person: Person, *, channel: str) -> Person:
        return permissions.with_role(person, rules=self._rules, channel=channel)

    def may(self, person: Person, command: Command, *, channel: str) -> bool:
        return permissions.allowed(person, command, rules=self._rules, channel=channel)

    def may_use(self, name: str, person: Person, *, channel: str) -> bool:
        """The same for what is not in the table of commands."""
        return permissions.may(person, name, needed=Role.OPERATOR, rules=self._rules, channel=channel)

    def context(self, workspace: str | None, person: Person, *, channel: str) -> CommandContext:
        context = self._contexts.at(
            self._contexts.workspace(workspace, channel=channel),
            actor_of(person, channel),
            role=permissions.role_of(person),
        )
        viewer = Viewer(user=person.id, channel=channel)
        return replace(
            context,
            permits=partial(self.may, person, channel=channel),
            display_name=self._directory.display_name,
            find_place=partial(self._directory.find_place, viewer=viewer),
            sees_channel=partial(self._directory.sees, viewer=viewer),
            zone=self.zone(person),
            permalink=self._permalink,
        )

    def zone(self, person: Person) -> tzinfo:
        """The person's own time zone from Slack, or that of the settings."""
        return find_zone(person.zone) or find_zone(self._contexts.settings.routes.timezone) or UTC

    async def _permalink(self, alert: str) -> str:
        known = await self._contexts.store.alerts.messages([alert])
        place = known.get(alert)
        return await self._directory.permalink(*place) if place else ""

    async def hidden(self, invocation: Invocation, person: Person, *, channel: str) -> Answer | None:
        """The refusal of a line that names a channel of which this person may not know."""
        named = invocation.arguments
        if not isinstance(named, InChannel) or not named.channel:
            return None
        place = await self._directory.refusal(named.channel, Viewer(user=person.id, channel=channel))
        if place is None:
            return None
        card = Card(title=place.refusal, text=(place.fix,), tone=Tone.WARN)
        return Answer(card=card, problem=Problem(text=place.refusal, argument="channel"))

    async def readable(self, invocation: Invocation, person: Person, *, channel: str) -> Invocation | None:
        """The line in the workspace that this person may read here; None if it may not be answered."""
        command = invocation.command
        if not self.may(person, command, channel=channel):
            return None
        if permissions.reach_of(person) is not Reach.CHANNEL or permissions.is_named(
            person, command.name, self._rules
        ):
            return invocation
        shown = await self._readable_workspace(invocation, person, channel=channel)
        return replace(invocation, workspace=shown) if shown else None

    async def _readable_workspace(self, invocation: Invocation, person: Person, *, channel: str) -> str:
        """The workspace that an outsider may read here, the named one if one is named; empty: none."""
        named = invocation.arguments
        if isinstance(named, InChannel) and named.channel not in {HERE, channel}:
            return ""  # another channel's subscriptions
        known = self._contexts.settings.workspaces
        names = [one.name for one in known.values() if one.alert_channel == channel]
        if invocation.command.name in permissions.SHOWN:
            context = self.context(None, person, channel=channel)
            names += [line.workspace for line in await list_sources(context, channel)]
        wanted = invocation.workspace
        fitting = (name for name in names if wanted is None or wanted.casefold() == name.casefold())
        return next(fitting, "")

    async def refuse(
        self, command: Command, line: str, workspace: str | None, person: Person, *, channel: str
    ) -> Answer:
        """Record the refusal of a line, and explain it."""
        try:
            place = self._contexts.workspace(workspace, channel=channel)
        except UnknownWorkspace:  # names of workspaces are confidential
            place = self._contexts.workspace(None, channel=channel)
        entry = AuditEntry(
            at=datetime.now(UTC),
            actor=actor_of(person, channel),
            workspace=place.name,
            command=line,
            result="refused: role",
            effect="refused",
        )
        await self._contexts.store.records.record(entry)
        card = await self.refusal(command.name, command.name, command.role, person, channel=channel)
        return Answer(card=card, problem=Problem(text="role"))

    async def refusal(self, name: str, text: str, needed: Role, person: Person, *, channel: str) -> Card:
        can = await self._directory.display_names(permissions.who_can(name, needed=needed, rules=self._rules))
        everywhere = permissions.reach_of(person) is Reach.EVERYTHING
        here = everywhere and permissions.may(person, name, needed=needed, rules=self._rules)
        return permissions.refusal(
            person, f"“{text}”", needed=needed, can=f"Who can: {can}." if can else "", here=here
        )


def actor_of(person: Person, channel: str) -> Actor:
    return Actor(name=person.name, id=person.id, face="slack", channel=channel)
