"""The person who asks, in a channel: what they may do and know there, and the context of their commands."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, tzinfo

from bot.commands.answer import Answer
from bot.commands.context import CommandContexts
from bot.slack import permissions
from bot.slack.directory import UserDirectory, Viewer
from bot.slack.permissions import Person, Reach, Standing
from shared.commands import Command, Invocation
from shared.commands.base import HERE, Arguments, InChannel
from shared.commands.run import CommandContext
from shared.commands.subscribe import list_sources
from shared.domain.card import Card, Tone
from shared.domain.wall_clock import find_zone
from shared.frozen import frozen
from shared.records.audit import Actor, AuditEntry


@frozen
class Access:
    """The rules of the settings, applied to the people of the Slack workspace."""

    contexts: CommandContexts
    directory: UserDirectory
    face: str = "slack"
    """The face through which people ask; the audit tells it."""

    def of(self, person: Person, channel: str) -> Caller:
        """The person as they stand in a channel."""
        rules = self.contexts.settings.roles
        return Caller(person=person, rules=rules, channel=channel, access=self)


@frozen
class Caller(Standing):
    """A person in a channel."""

    access: Access

    @property
    def actor(self) -> Actor:
        face = self.access.face
        channel = self.channel if face == "slack" else ""
        return Actor(name=self.person.name, id=self.person.id, face=face, channel=channel)

    @property
    def viewer(self) -> Viewer:
        return Viewer(user=self.person.id, channel=self.channel)

    @property
    def zone(self) -> tzinfo:
        """The person's own time zone from Slack, or that of the settings."""
        return find_zone(self.person.zone) or find_zone(self.access.contexts.settings.routes.timezone) or UTC

    def context(self, workspace: str | None) -> CommandContext:
        """The context of a command in this workspace, or in that of the channel. Raises `UnknownWorkspace`."""
        contexts, directory, viewer = self.access.contexts, self.access.directory, self.viewer
        place = contexts.workspace(workspace, channel=self.channel)
        return replace(
            contexts.at(place, self.actor, role=self.role),
            permits=lambda command: self.may(command.name),
            display_name=directory.display_name,
            find_place=lambda channel: directory.find_place(channel, viewer),
            sees_channel=lambda channel: directory.sees(channel, viewer),
            zone=self.zone,
            permalink=self._permalink,
        )

    async def _permalink(self, alert: str) -> str:
        places = await self.access.contexts.store.alerts.messages([alert])
        return await self.access.directory.permalink(*places[alert]) if alert in places else ""

    async def located(self, arguments: Arguments) -> Arguments | Card:
        """The arguments with the id of the channel that they name; the refusal of one of which this person may not know."""
        if not isinstance(arguments, InChannel) or not arguments.channel:
            return arguments
        place = await self.access.directory.locate(arguments.channel, self.viewer)
        if place.refusal:
            return Card(title=place.refusal, text=(place.fix,), tone=Tone.WARN)
        return replace(arguments, channel=place.channel)

    async def readable(self, asked: Invocation) -> Invocation | None:
        """The line in the workspace that this person may read here; None if it may not be answered."""
        name = asked.command.name
        if not self.may(name):
            return None
        if self.reach is not Reach.CHANNEL or self.is_among(self.rules.commands.get(name, frozenset())):
            return asked
        if isinstance(asked.arguments, InChannel) and asked.arguments.channel not in {HERE, self.channel}:
            return None
        workspaces = self.access.contexts.settings.workspaces.values()
        open_here = [place.name for place in workspaces if place.alert_channel == self.channel]
        if name in permissions.SHOWN:
            open_here += [line.workspace for line in await list_sources(self.context(None), self.channel)]
        wanted = asked.workspace
        fitting = [other for other in open_here if wanted is None or wanted.casefold() == other.casefold()]
        return replace(asked, workspace=fitting[0]) if fitting else None

    async def refuse(self, command: Command, line: str, workspace: str | None) -> Answer:
        """Record the refusal of a line, and explain it."""
        contexts = self.access.contexts
        entry = AuditEntry(
            at=datetime.now(UTC),
            actor=self.actor,
            # That there is no workspace of this name is not for whoever may not ask.
            workspace=contexts.workspace_or_own(workspace, channel=self.channel).name,
            command=line,
            result="refused: role",
            effect="refused",
        )
        await contexts.store.records.record(entry)
        return Answer(card=self.refusal(command.name))
