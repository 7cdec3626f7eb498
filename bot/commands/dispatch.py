"""From a line that somebody typed or clicked to the Card that answers it; every failure is a Card too.

Knows nothing of how Slack is spoken to: the listeners hand in who, where and what, and post what comes back.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import structlog

from bot.commands import alert_actions, bulk_pause, sharing
from bot.commands.acknowledge import ACK, acknowledge
from bot.commands.alert_actions import ALERT, LOOKS, VERBS, AlertActions, line_of_lead, whole_reply
from bot.commands.answer import Answer, followed
from bot.commands.bulk_pause import UNDO_SECONDS, BulkPause
from bot.commands.canned_replies import UNKNOWN
from bot.commands.confirmation_cards import changed_since, not_confirmed
from bot.commands.context import CommandContexts
from bot.slack import permissions
from bot.slack.directory import UserDirectory
from bot.slack.permissions import Person, Reach
from bot.store.alerts.confirmations import Answered, Verdict
from bot.store.alerts.undo import Question
from shared import commands, operations
from shared.commands import COMMANDS, CONFIRMED, Command, Invocation, Role, UsageError
from shared.domain.card import Button, Card, Tone
from shared.domain.records import Actor, AuditEntry, RecordsUnavailable
from shared.domain.recurrence import find_zone
from shared.operations import subscription_sources
from shared.operations.context import CommandContext
from shared.operations.sequences import UNDO
from shared.settings import CLAIM, UnknownWorkspace
from shared.text.formats import show_time
from shared.text.slack_ids import in_team, split_id

FORMS = ("pause", "subscribe", "add", "guard")
"""The commands that can be filled in instead of typed."""
CONFIRM_SECONDS = 600.0
THEN = " > "
"""Between what a button does to an alert and what is shown after it: `claim al_1 > open 2`."""
_ANSWERS = frozenset({"yes", "undo"})

log = structlog.get_logger("acts")


BotCommand = Callable[[CommandContext, Person], Awaitable[Answer]]
"""Answers a command that is given without arguments as only the bot can."""


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
        self._contexts, self._directory, self._account_changed = contexts, directory, account_changed
        self._bot_commands = bot_commands
        self._rules = contexts.settings.roles
        self._store = contexts.store
        self._alert_changed = alert_changed
        self._bulk = BulkPause(contexts.store)
        self._alert_actions = AlertActions(
            contexts.store,
            changed=alert_changed,
            zone=find_zone(contexts.settings.routes.zone) or UTC,
            link=contexts.settings.links.lead,
        )

    async def perform(
        self, line: str, person: Person, *, channel: str, progress: Callable[[int], None] | None = None
    ) -> Answer:
        """Parse, check the role, run; what a person did for all to see is signed with their name.

        `progress` is told how many leads a search has looked at.
        """
        with_role = permissions.with_role(person, rules=self._rules, channel=channel)
        try:
            return await self._perform(line.strip(), with_role, channel=channel, progress=progress)
        except UsageError as error:
            return Answer(card=_with_form(error.card, line))
        except Exception as error:  # noqa: BLE001 # whatever it is, the person gets an answer and a reference
            return Answer(card=failure(error))

    async def may_fill_in(self, verb: str, person: Person, *, channel: str) -> Card | None:
        """Why the person may not fill in this command's form here; None: they may."""
        with_role = permissions.with_role(person, rules=self._rules, channel=channel)
        command = COMMANDS[verb]
        if self._may(with_role, command, channel=channel):
            return None
        return await self._refusal(verb, verb, command.role, with_role, channel=channel)

    async def _perform(
        self, line: str, person: Person, *, channel: str, progress: Callable[[int], None] | None
    ) -> Answer:
        verb, _, rest = line.partition(" ")
        if verb in {*VERBS, ACK} and rest.startswith(ALERT):
            return await self._act(verb, rest, person, channel=channel, progress=progress)
        if verb in _ANSWERS and rest.startswith("q_"):
            return await self._confirm(rest, person, channel=channel)
        if verb == sharing.SHARE:
            return await self._share(rest, person, channel=channel)
        if line == "no":
            return Answer(card=_CANCELLED, settles=True)
        if verb in LOOKS and rest.startswith(ALERT):
            return await self._look_at(verb, rest, person, channel=channel, progress=progress)
        return await self._command(commands.parse(line), person, channel=channel, progress=progress)

    async def _act(
        self, verb: str, rest: str, person: Person, *, channel: str, progress: Callable[[int], None] | None
    ) -> Answer:
        """An act on an alert, and the line that goes with it, if any."""
        alert, _, then = rest.partition(THEN)
        done = await self._act_on_alert(verb, alert, person, channel=channel)
        if not then:
            return done
        return followed(done, await self._perform(then, person, channel=channel, progress=progress))

    async def _look_at(
        self, verb: str, alert: str, person: Person, *, channel: str, progress: Callable[[int], None] | None
    ) -> Answer:
        """The lead of an alert, or its whole reply, for whoever may look up leads here."""
        state = await self._store.alerts.find(alert)
        several = len(self._contexts.settings.workspaces) > 1
        line = line_of_lead(state, several=several) if state else ""
        if state is None or not line or not await self._is_shown(alert):
            return Answer(card=alert_actions.GONE)
        if verb == "lead":
            return await self._command(commands.parse(line), person, channel=channel, progress=progress)
        invocation = commands.parse(line)
        if not self._may(person, invocation.command, channel=channel) or (
            permissions.reach_of(person) is Reach.CHANNEL
            and not await self._readable_workspace(invocation, person, channel=channel)
        ):
            return await self._refuse(invocation, person, channel=channel)
        return Answer(card=whole_reply(state))

    def _in_own_team(self, invocation: Invocation) -> Invocation:
        """The line with the channel that it names in the team where it was said; raises `UsageError` for another's."""
        named, own = invocation.values.get("channel"), self._directory.team
        if not named or not own:
            return invocation
        team, name = split_id(named)
        if team not in {"", own} or name.startswith("#"):
            raise UsageError(_ELSEWHERE)
        return replace(invocation, values={**invocation.values, "channel": in_team(own, name)})

    async def _is_shown(self, alert: str) -> bool:
        """Whether an alert belongs to a workspace that this team may see."""
        if not self._directory.team:
            return True
        return await self._store.alerts.workspace_of(alert) in self._contexts.settings.workspaces

    async def _share(self, line: str, person: Person, *, channel: str) -> Answer:
        invocation = commands.parse(line)
        if not (sharing.can_be_shared(invocation) and sharing.may_share(person)):
            return Answer(card=sharing.REFUSAL)
        answer = await self._command(invocation, person, channel=channel)
        if answer.card.refused:
            return answer
        card = sharing.for_channel(answer.card, person)
        return replace(answer, card=card, public=True, whole=True, settles=True)

    async def _act_on_alert(self, verb: str, rest: str, person: Person, *, channel: str) -> Answer:
        if not permissions.may(person, CLAIM, needed=Role.OPERATOR, rules=self._rules, channel=channel):
            return Answer(card=await self._refusal(CLAIM, verb, Role.OPERATOR, person, channel=channel))
        if not await self._is_shown(rest.partition(" ")[0]):
            return Answer(card=UNKNOWN)
        if verb == ACK:
            done = await acknowledge(
                self._store, rest, _actor(person, channel), zone=person.zone, changed=self._alert_changed
            )
            return Answer(card=done.card, on_card=done.shown)
        granted = replace(person, role=Role.ADMIN if role_is_less(person) else person.role)
        done = await self._alert_actions.perform(verb, rest, granted, _actor(person, channel))
        return Answer(
            card=done.card, on_card=done.shown, settles=verb in {"snooze", "dismiss"} and " " in rest
        )

    async def _command(
        self,
        invocation: Invocation,
        person: Person,
        *,
        channel: str,
        progress: Callable[[int], None] | None = None,
    ) -> Answer:
        invocation = self._in_own_team(invocation)
        command = invocation.command
        if not self._may(person, command, channel=channel):
            return await self._refuse(invocation, person, channel=channel)
        if permissions.reach_of(person) is Reach.CHANNEL and not permissions.is_named(
            person, command.name, self._rules
        ):
            shown = await self._readable_workspace(invocation, person, channel=channel)
            if not shown:
                return await self._refuse(invocation, person, channel=channel)
            invocation = replace(invocation, workspace=shown)
        context = self._context(invocation.workspace, person, channel=channel)
        context = replace(context, progress=progress) if progress else context
        page, others = invocation.values.get("page"), {**invocation.values, "page": None}
        if command.name in self._bot_commands and not any(others.values()):
            context = replace(context, page=page or 1)
            return await self._bot_commands[command.name](context, person)
        if bulk_pause.scope(invocation) and (
            question := await self._bulk.ask(invocation, person, context=context)
        ):
            return Answer(card=question)
        return await self._run(_unconfirmed(invocation), person, context=context)

    async def _refuse(self, invocation: Invocation, person: Person, *, channel: str) -> Answer:
        command = invocation.command
        await self._record_refusal(invocation, person, channel=channel)
        return Answer(
            card=await self._refusal(command.name, command.name, command.role, person, channel=channel)
        )

    async def _readable_workspace(self, invocation: Invocation, person: Person, *, channel: str) -> str:
        """The workspace that an outsider may read here, the named one if one is named; empty: none."""
        if invocation.values.get("channel") not in {None, "", channel}:
            return ""  # another channel's subscriptions
        known = self._contexts.settings.workspaces
        names = [one.name for one in known.values() if one.alert_channel == channel]
        if invocation.command.name in permissions.SHOWN:
            context = self._context(None, person, channel=channel)
            names += [line.workspace for line in await subscription_sources.list_sources(context, channel)]
        wanted = invocation.workspace
        fitting = (name for name in names if wanted is None or wanted.casefold() == name.casefold())
        return next(fitting, "")

    async def _run(self, invocation: Invocation, person: Person, *, context: CommandContext) -> Answer:
        card = await operations.run(invocation, context)
        if line := operations.confirming_command(card):
            return Answer(card=await self._ask_confirmation(card, line, person, context=context))
        if invocation.values.get("act") == "list":
            card = _with_form(card, invocation.command.name)
        if (about := invocation.values.get("command")) and context.allows(commands.COMMANDS[about]):
            card = _with_form(card, about)
        done = invocation.command.changes and not (card.refused or card.unchanged)
        card = await self._with_undo(card, context) if done else card
        card = sharing.with_button(card, invocation, person, channel=context.actor.channel)
        return self._changed_answer(card, person, context=context) if done else Answer(card=card)

    async def _with_undo(self, card: Card, context: CommandContext) -> Card:
        """The card, its Undo bound to what was just done: a later change is left as it is."""
        try:
            return replace(
                card, buttons=tuple([await self._undo(button, context) for button in card.buttons])
            )
        except RecordsUnavailable:  # it is done all the same
            return replace(card, buttons=tuple(button for button in card.buttons if button.label != UNDO))

    async def _undo(self, button: Button, context: CommandContext) -> Button:
        if button.label != UNDO or button.command.startswith("undo "):
            return button
        back = commands.parse(button.command)
        nonce = await self._store.confirmations.ask_undo(
            button.command, back.values["target"],
            workspace=context.workspace.name, person=context.actor.id, seconds=UNDO_SECONDS,
        )  # fmt: skip
        return replace(button, command=f"undo {nonce}")

    def _changed_answer(self, card: Card, person: Person, *, context: CommandContext) -> Answer:
        self._account_changed()  # cards show what was changed
        return Answer(card=_signed(card, person), public=True, settles=True, workspace=context.workspace.name)

    def _context(self, workspace: str | None, person: Person, *, channel: str) -> CommandContext:
        context = self._contexts.at(
            self._contexts.workspace(workspace, channel=channel),
            _actor(person, channel),
            role=permissions.role_of(person),
        )
        may = partial(self._may, person, channel=channel)
        return replace(
            context,
            permits=may,
            display_name=self._directory.display_name,
            find_place=self._directory.find_place,
            zone=find_zone(person.zone) or find_zone(self._contexts.settings.routes.zone) or UTC,
            permalink=self._permalink,
        )

    async def _permalink(self, alert: str) -> str:
        place = (await self._store.alerts.messages([alert])).get(alert)
        return await self._directory.permalink(*place) if place else ""

    def _may(self, person: Person, command: Command, *, channel: str) -> bool:
        return permissions.allowed(person, command, rules=self._rules, channel=channel)

    async def _ask_confirmation(
        self, card: Card, line: str, person: Person, *, context: CommandContext
    ) -> Card:
        """A question whose yes is bound to who was asked, and ends."""
        question = Question(line=line, person=person.id, workspace=context.workspace.name)
        nonce = await self._store.confirmations.ask(question, seconds=CONFIRM_SECONDS)
        buttons = tuple(
            replace(b, command=f"yes {nonce}", tone=Tone.BAD) if CONFIRMED in b.command.split() else b
            for b in card.buttons
        )
        text = f"Only @{person.name} can confirm this, within {CONFIRM_SECONDS / 60:.0f} minutes."
        footer = " ".join(filter(None, (card.footer, text)))
        return replace(card, buttons=(*buttons, Button(label="Cancel", command="no")), footer=footer)

    async def _confirm(self, nonce: str, person: Person, *, channel: str) -> Answer:
        """A yes or an undo: the person's role is checked anew, before the answer is used up; it counts once."""
        on_card = await self._store.confirmations.look(nonce, person.id)
        if on_card.question is None or on_card.verdict is not Verdict.OPEN:
            return not_confirmed(on_card)
        invocation = commands.parse(on_card.question.line)
        if not self._may(person, invocation.command, channel=channel):
            asked = replace(invocation, workspace=on_card.question.workspace, line=on_card.question.line)
            return await self._refuse(asked, person, channel=channel)
        context = self._context(on_card.question.workspace, person, channel=channel)
        counted = await self._store.confirmations.answer(nonce, person.id)
        if counted.question is None or counted.verdict is not Verdict.TAKEN:
            return not_confirmed(counted)
        try:
            answer = await self._carry_out(counted, invocation, person, context=context)
        except Exception:
            if counted.question.since:
                await self._store.confirmations.give_back(nonce)  # an Undo that failed can be tried again
            raise
        with contextlib.suppress(RecordsUnavailable):
            await self._store.confirmations.carried_out(nonce, person.name)
        return await self._with_snooze(answer, nonce, person) if counted.question.since else answer

    async def _with_snooze(self, answer: Answer, nonce: str, person: Person) -> Answer:
        """The answer to an Undo; that of a guardrail's pause snoozes the rule, too."""
        switch = await self._store.incidents.undone(nonce, person.name)
        if switch is None or switch.until is None:
            return answer
        until = show_time(datetime.fromtimestamp(switch.until, UTC), now=datetime.now(UTC))
        text = (*answer.card.text, f"Guardrail {switch.rule} is snoozed until {until}.")
        return replace(answer, card=replace(answer.card, text=text))

    async def _carry_out(
        self, counted: Answered, invocation: Invocation, person: Person, *, context: CommandContext
    ) -> Answer:
        question = counted.question
        assert question is not None
        if not bulk_pause.scope(invocation):
            return await self._run(invocation, person, context=context)
        left = tuple(name for name in question.names if name not in counted.moved)
        card = await self._bulk.carry_out(replace(question, names=left), invocation, context=context)
        kept = (changed_since(len(counted.moved), counted.moved.values()),) if counted.moved else ()
        card = replace(card, text=(*card.text, *kept))
        return (
            Answer(card=card, settles=True)
            if card.unchanged
            else self._changed_answer(card, person, context=context)
        )

    async def _refusal(self, name: str, text: str, needed: Role, person: Person, *, channel: str) -> Card:
        can = await self._directory.display_names(permissions.who_can(name, needed=needed, rules=self._rules))
        everywhere = permissions.reach_of(person) is Reach.EVERYTHING
        here = everywhere and permissions.may(person, name, needed=needed, rules=self._rules)
        return permissions.refusal(
            person, f"“{text}”", needed=needed, can=f"Who can: {can}." if can else "", here=here
        )

    async def _record_refusal(self, invocation: Invocation, person: Person, *, channel: str) -> None:
        try:
            workspace = self._contexts.workspace(invocation.workspace, channel=channel)
        except UnknownWorkspace:  # which there are is not for everybody
            workspace = self._contexts.workspace(None, channel=channel)
        entry = AuditEntry(
            at=datetime.now(UTC),
            actor=_actor(person, channel),
            workspace=workspace.name,
            command=invocation.line,
            result="refused: role",
        )
        await self._contexts.store.records.record(entry)


def settles(line: str) -> bool:
    return line.partition(" ")[0] in {*_ANSWERS, "no"}


def role_is_less(person: Person) -> bool:
    return permissions.role_of(person) is Role.READER


def _unconfirmed(invocation: Invocation) -> Invocation:
    if not invocation.confirmed:
        return invocation
    return replace(invocation, values={**invocation.values, "yes": False})


_ELSEWHERE = Card(
    title="This channel isn't in this Slack workspace",
    tone=Tone.WARN,
    text=("Name a channel of this workspace that the bot can see, like #sales, or use here.",),
    refused=True,
)
_CANCELLED = Card(title="Nothing was changed")


def _with_form(card: Card, line: str) -> Card:
    """A command that was given without its arguments can be filled in."""
    verb, _, named = line.strip().lower().removesuffix(" add").partition(" @")
    if verb not in FORMS or " " in named:
        return card
    asked = f"form {verb} @{named}" if named else f"form {verb}"
    form = Button(label="Open form", command=asked, tone=Tone.GOOD)
    return replace(card, buttons=(form, *card.buttons))


def _actor(person: Person, channel: str) -> Actor:
    return Actor(name=person.name, id=person.id, face="slack", channel=channel)


def _signed(card: Card, person: Person) -> Card:
    return replace(card, footer=" · ".join(filter(None, (card.footer, f"by @{person.name}"))))


def failure(error: Exception) -> Card:
    reference = f"ref-{secrets.token_hex(4)}"
    log.warning("act failed", reference=reference, error=type(error).__name__, exc_info=error)
    return operations.error_card(error, reference)
