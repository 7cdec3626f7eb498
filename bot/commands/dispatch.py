"""Answers a typed or clicked line with a Card; every failure is a Card too.

Makes no calls to Slack: the listeners pass in who, where and what, and post the result.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import structlog

from bot.alerts import interested, rendering
from bot.alerts.links import links_of
from bot.blockkit.actions import (
    LEAD,
    LOOKS,
    Cancel,
    Confirm,
    OnAlert,
    Perform,
    ShowSample,
    read_line,
)
from bot.blockkit.channel_names import channels_in, with_channel_names
from bot.commands.access import Access
from bot.commands.alerts import alert_actions, named_replies
from bot.commands.alerts.alert_actions import AlertActions
from bot.commands.alerts.named_replies import NamedReply, read_named
from bot.commands.answer import Answer, followed
from bot.commands.canned_replies import SAMPLE_PRESSED, WHICH_ALERT, sample
from bot.commands.command_help import with_form
from bot.commands.context import CommandContexts
from bot.commands.runner import CommandRunner
from bot.slack.directory import UserDirectory, Viewer
from bot.slack.permissions import Person
from shared import commands
from shared.api.errors import OutreachError
from shared.api.event_kinds import kind_of
from shared.commands import COMMANDS, Invocation, Role, UsageError, invocation
from shared.commands.errors import error_card, failed_card
from shared.commands.help import Doctor, Help
from shared.commands.leads import Lead
from shared.commands.replies import Replies
from shared.commands.run import CommandContext
from shared.domain.card import Action, Card, Typed
from shared.settings import CLAIM

KNOWN_WITHIN = 1.5
"""Seconds for Slack to say who someone is before a form is opened: its trigger lives for three."""
MOST_NAMED = 20
"""The number of channels per answer that are looked up in Slack."""
_NO_NAMES = frozenset({"", "privategroup", "directmessage"})
"""What Slack sends as the name of a conversation that is private."""

log = structlog.get_logger("acts")


BotCommand = Callable[[Any, CommandContext, Person], Awaitable[Answer]]
"""Answers a command that only the bot can answer, by its arguments."""


class CommandDispatcher:
    """`perform` a line for a person."""

    def __init__(
        self,
        contexts: CommandContexts,
        directory: UserDirectory,
        *,
        bot_commands: Mapping[str, BotCommand],
        alert_changed: Callable[[], None],
        account_changed: Callable[[], None],
    ) -> None:
        self._store, self._bot_commands = contexts.store, bot_commands
        self._directory, self._now = directory, contexts.now
        self._several = len(contexts.settings.workspaces) > 1
        self._links = links_of(contexts.settings)
        self._access = Access(contexts, directory)
        self._runner = CommandRunner(contexts.store, self._access, account_changed=account_changed)
        self._alert_actions = AlertActions(
            store=contexts.store,
            directory=directory,
            access=self._access,
            links=self._links,
            changed=alert_changed,
        )

    async def perform(
        self,
        asked: str | Action,
        user: str,
        *,
        name: str = "",
        is_bot: bool = False,
        channel: str,
        channel_name: str = "",
        progress: Callable[[int], None] | None = None,
    ) -> Answer:
        """Carry out a typed line or an action; changes that everyone sees are signed with the person's name.

        `progress` gets the number of leads searched so far.
        """
        person = await self._directory.find(user, name=name)
        person = self._access.with_role(replace(person, is_bot=person.is_bot or is_bot), channel=channel)
        viewer = Viewer(user=user, channel=channel)
        line, typed = (asked, True) if isinstance(asked, str) else (asked.line, False)
        try:
            if isinstance(asked, str):
                line = await self._directory.with_channels(asked, viewer)
            answer = await self._answer(line if typed else asked, person, channel=channel, progress=progress)
        except UsageError as error:
            answer = Answer(card=with_form(error.card, line))
        except Exception as error:  # noqa: BLE001 # whatever it is, the person gets an answer and a reference
            answer = Answer(card=failure(error))
        here = {channel: f"#{channel_name}"} if channel_name not in _NO_NAMES else {}
        return await self._with_channel_names(answer, here, viewer=viewer)

    async def _answer(
        self, asked: str | Action, person: Person, *, channel: str, progress: Callable[[int], None] | None
    ) -> Answer:
        if not isinstance(asked, str):
            return await self._perform(asked, person, channel=channel, progress=progress)
        if named := read_named(asked):
            return await self._on_named(named, person, channel=channel)
        try:
            action = read_line(asked)
        except UsageError as error:
            return self._near_miss(asked, error)
        return await self._perform(action, person, channel=channel, progress=progress)

    def _near_miss(self, line: str, error: UsageError) -> Answer:
        """The refusal of a line that is no command, with a button that runs what was probably meant."""
        if nearest := named_replies.nearest(line):
            return Answer(card=named_replies.near_miss(error.card, nearest))
        return Answer(card=with_form(error.card, line))

    async def _with_channel_names(
        self, answer: Answer, names: Mapping[str, str], *, viewer: Viewer
    ) -> Answer:
        """The answer with its channels by name, as far as all its readers may know them; `names` are already known."""
        if answer.public:
            viewer = Viewer(channel=viewer.channel)
        unknown = [channel for channel in channels_in(answer.card) if channel not in names][:MOST_NAMED]
        found = await asyncio.gather(*(self._directory.shown_name(channel, viewer) for channel in unknown))
        names = {**names, **dict(zip(unknown, found, strict=True))}
        return replace(answer, card=with_channel_names(answer.card, names))

    async def form_refusal(self, verb: str, user: str, *, channel: str) -> Card | None:
        """Why a person can't open this command's form here (it shows workspaces and sequences); None if they can."""
        try:
            person = await asyncio.wait_for(self._directory.find(user), KNOWN_WITHIN)
        except TimeoutError:
            person = Person(id=user, name=user, is_known=False)
        person, command = self._access.with_role(person, channel=channel), COMMANDS[verb]
        if self._access.may(person, command, channel=channel):
            return None
        return await self._access.refusal(verb, verb, command.role, person, channel=channel)

    async def _perform(
        self,
        asked: Action,
        person: Person,
        *,
        channel: str,
        progress: Callable[[int], None] | None,
    ) -> Answer:
        match asked:
            case Invocation():
                return await self._command(asked, person, channel=channel, progress=progress)
            case OnAlert():
                return await self._on_alert(asked, person, channel=channel, progress=progress)
            case Confirm() | Perform():
                return await self._runner.click(asked, person, channel=channel)
            case Cancel() | ShowSample():
                return self._without_effect(asked)
            case Typed():
                return await self._answer(asked.line, person, channel=channel, progress=progress)
        return await self._command(commands.parse(asked.line), person, channel=channel)

    def _without_effect(self, asked: Cancel | ShowSample) -> Answer:
        if isinstance(asked, Cancel):
            return Answer(card=_CANCELLED, settles=True)
        return Answer(card=SAMPLE_PRESSED if asked.pressed else sample(self._now(), self._links))

    async def _on_alert(
        self, asked: OnAlert, person: Person, *, channel: str, progress: Callable[[int], None] | None
    ) -> Answer:
        if asked.verb in LOOKS:
            return await self._look_at(asked, person, channel=channel, progress=progress)
        done = await self._act_on_alert(asked, person, channel=channel)
        if asked.then is None:
            return done
        return followed(done, await self._command(asked.then, person, channel=channel))

    async def _on_named(self, asked: NamedReply, person: Person, *, channel: str) -> Answer:
        """Act on the one reply that fits a name; several are offered, and nothing changes."""
        if not self._access.may_use(CLAIM, person, channel=channel):
            refusal = self._access.refusal(CLAIM, asked.verb, Role.OPERATOR, person, channel=channel)
            return Answer(card=await refusal)
        listing = invocation(Replies(), workspace=asked.workspace)
        readable = await self._access.readable(listing, person, channel=channel)
        if readable is None:
            return await self._refuse(listing, person, channel=channel)
        context = self._access.context(readable.workspace, person, channel=channel)
        known = await self._store.alerts.candidates(
            context.workspace.name, person.id, done=asked.verb == "reopen"
        )
        found = named_replies.fitting(asked, known, person.id)
        if len(found) == 1:
            act = named_replies.act_on(asked, found[0])
            return await self._act_on_alert(act, person, channel=channel)
        if not found and not asked.name:
            return Answer(card=WHICH_ALERT)
        if not found:
            return Answer(card=named_replies.not_found(asked, known))
        card, items = named_replies.choice(asked, found)
        return Answer(card=card, items=items)

    async def _look_at(
        self, asked: OnAlert, person: Person, *, channel: str, progress: Callable[[int], None] | None
    ) -> Answer:
        alert = await self._store.alerts.find(asked.alert)
        if alert is None or not alert.event.lead.email:
            return Answer(card=alert_actions.GONE)
        look = Lead(who=alert.event.lead.email, status=kind_of(alert.event.kind).lead_status)
        looking = invocation(look, workspace=alert.workspace if self._several else None)
        if asked.verb == LEAD:
            return await self._command(looking, person, channel=channel, progress=progress)
        if await self._access.readable(looking, person, channel=channel) is None:
            return await self._refuse(looking, person, channel=channel)
        shown = rendering.alert_of_row(alert, several=self._several, links=self._links)
        return Answer(card=interested.details(shown))

    async def _act_on_alert(self, asked: OnAlert, person: Person, *, channel: str) -> Answer:
        if not self._access.may_use(CLAIM, person, channel=channel):
            refusal = self._access.refusal(CLAIM, asked.verb, Role.OPERATOR, person, channel=channel)
            return Answer(card=await refusal)
        return await self._alert_actions.perform(asked, person, channel=channel)

    async def _command(
        self,
        invocation: Invocation,
        person: Person,
        *,
        channel: str,
        progress: Callable[[int], None] | None = None,
    ) -> Answer:
        readable = await self._access.readable(invocation, person, channel=channel)
        if readable is None:
            return await self._refuse(invocation, person, channel=channel)
        if hidden := await self._access.hidden(readable, person, channel=channel):
            return hidden
        context = self._access.context(readable.workspace, person, channel=channel)
        context = replace(context, progress=progress) if progress else context
        match readable.arguments:
            case Replies() | Help(command=None) | Doctor():
                answer = self._bot_commands[readable.command.name]
                return await answer(readable.arguments, context, person)
        try:
            return await self._runner.run(readable, person, context=context)
        except OutreachError as error:
            return Answer(card=failure(error, readable))

    async def _refuse(self, asked: Invocation, person: Person, *, channel: str) -> Answer:
        return await self._access.refuse(asked.command, asked.line, asked.workspace, person, channel=channel)


_CANCELLED = Card(title="Nothing was changed")


def failure(error: Exception, asked: Invocation | None = None) -> Card:
    reference = f"ref-{secrets.token_hex(4)}"
    log.warning("command failed", reference=reference, error=type(error).__name__, exc_info=error)
    return failed_card(error, asked, reference) if asked else error_card(error, reference)
