"""Answers a typed or clicked line with a Card; every failure is a Card too.

Makes no calls to Slack: the listeners pass in who, where and what, and post the result.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime

import structlog

from bot.blockkit.actions import (
    LEAD,
    LOOKS,
    Cancel,
    Confirm,
    OnAlert,
    OpenForm,
    Perform,
    ShowSample,
    read_line,
)
from bot.blockkit.card_blocks import channels_in, with_channel_names
from bot.cards import CardSettings, card_settings, details_card, reply_card
from bot.commands import replies
from bot.commands.context import Access, Answer, Caller, CommandContexts
from bot.commands.replies import GONE, AlertActions, NamedReply, list_replies, read_named
from bot.runtime import DeliverySignals
from bot.slack.directory import UserDirectory, Viewer
from bot.slack.permissions import Person
from shared import commands
from shared.api.errors import OutreachError
from shared.api.events import Event, EventLead
from shared.commands import COMMANDS, Invocation, UsageError, invocation
from shared.commands.base import ALIASES, Act, Question, Result
from shared.commands.errors import error_card, failed_card
from shared.commands.help import Doctor, Help, first_help
from shared.commands.leads import Lead
from shared.commands.replies import Replies
from shared.commands.run import CommandContext, carry_out, read_question, run, write_question
from shared.domain.alert import Alert
from shared.domain.card import Action, Button, Card, Tone, Typed
from shared.frozen import frozen
from shared.records.records import RecordsUnavailable
from shared.settings import CLAIM, UnknownWorkspace
from shared.store.audit import Verdict

FORMS = {"pause": ("Pause a sequence", "Pause"), "add": ("Add a lead", "Add")}
"""The title of each command's form, and its button."""
PERSON_SECONDS = 1.5
"""Seconds that Slack gets to say who someone is before a form is opened: its trigger lives for three."""
CONFIRM_SECONDS = 600.0
MOST_NAMED = 20
"""The number of channels per answer that are looked up in Slack."""
_NO_NAMES = frozenset({"", "privategroup", "directmessage"})
"""Slack sends these as the name of a private conversation."""

log = structlog.get_logger("acts")


@frozen
class Asker:
    """The sender of a request, as Slack names them in it, and their channel."""

    user: str
    name: str = ""
    is_bot: bool = False
    channel: str = ""
    channel_name: str = ""


class CommandDispatcher:
    """`perform` a line for a person."""

    def __init__(
        self,
        contexts: CommandContexts,
        directory: UserDirectory,
        *,
        signals: DeliverySignals,
        self_test: Callable[[CommandContext], Awaitable[Card]],
    ) -> None:
        """`self_test` is the answer to `doctor`."""
        self._store, self._directory, self._now = contexts.store, directory, contexts.now
        self._account_changed, self._self_test = signals.account_changed, self_test
        self._cards = card_settings(contexts.settings)
        self._access = Access(contexts=contexts, directory=directory)
        self._alert_actions = AlertActions(
            store=contexts.store, access=self._access, cards=self._cards, changed=signals.changed
        )

    async def perform(self, asked: Action, asker: Asker) -> Answer:
        """Carry out an action or a typed line."""
        person = await self._directory.find(asker.user, name=asker.name)
        person = replace(person, is_bot=person.is_bot or asker.is_bot)
        caller = self._access.of(person, asker.channel)
        try:
            answer = await self._act(asked, caller)
        except UsageError as error:
            answer = Answer(card=with_form(error.card, asked.line))
        except Exception as error:  # noqa: BLE001 # whatever it is, the person gets an answer and a reference
            answer = Answer(card=failure(error))
        # What a private channel gets is its members' alone: elsewhere only the person reads it.
        if answer.public and not await self._directory.may_read(answer.about, asker.channel):
            answer = replace(answer, public=False)
        return await self._with_channel_names(answer, asker, caller)

    async def _with_channel_names(self, answer: Answer, asker: Asker, caller: Caller) -> Answer:
        """The answer with its channels by name, as far as all its readers may know them."""
        channels = frozenset() if answer.on_card else channels_in(answer.card)
        if not channels:
            return answer
        names = {} if asker.channel_name in _NO_NAMES else {asker.channel: f"#{asker.channel_name}"}
        if asker.channel.startswith("D"):
            names[asker.channel] = "this conversation"
        viewer = Viewer(channel=asker.channel) if answer.public else caller.viewer
        unnamed = [channel for channel in channels if channel not in names][:MOST_NAMED]
        told = await asyncio.gather(*(self._directory.shown_name(channel, viewer) for channel in unnamed))
        names |= zip(unnamed, told, strict=True)
        return replace(answer, card=with_channel_names(answer.card, names))

    async def form_refusal(self, verb: str, asker: Asker) -> Card | None:
        """The refusal of this command's form, which shows workspaces and sequences; None if the person may open it."""
        try:
            person = await asyncio.wait_for(self._directory.find(asker.user), PERSON_SECONDS)
        except TimeoutError:
            person = Person(id=asker.user, name=asker.user, is_known=False)
        caller = self._access.of(person, asker.channel)
        return None if caller.may(verb) else caller.refusal(verb)

    async def _act(self, asked: Action, caller: Caller) -> Answer:  # noqa: PLR0911 # a kind of action each
        match asked:
            case Invocation():
                return await self._command(asked, caller)
            case OnAlert() if asked.verb in LOOKS:
                return await self._look_at(asked, caller)
            case OnAlert():
                done = await self._alert_actions.perform(asked, caller)
                return _followed(done, await self._command(asked.then, caller)) if asked.then else done
            case Confirm():
                return await self._confirm(asked, caller)
            case Perform(act=act):
                if not caller.may(act.verb):
                    return await caller.refuse(COMMANDS[act.verb], act.line, asked.workspace)
                context = caller.context(asked.workspace)
                return await self._changed(await carry_out(act, context), context)
            case Cancel():
                return Answer(card=_CANCELLED, settles=True)
            case ShowSample():
                return Answer(card=_SAMPLE_PRESSED if asked.pressed else sample(self._now(), self._cards))
            case Typed():
                return await self._typed(asked.line, caller)
        return await self._command(commands.parse(asked.line), caller)

    async def _typed(self, line: str, caller: Caller) -> Answer:
        if named := read_named(line):
            return await self._on_named(named, caller)
        try:
            action = read_line(line)
        except UsageError as error:
            if nearest := replies.nearest(line):
                return Answer(card=replies.near_miss(error.card, nearest))
            raise
        return await self._act(action, caller)

    async def _on_named(self, asked: NamedReply, caller: Caller) -> Answer:
        """Act on the one reply that fits a name; several are offered, and nothing changes."""
        if not caller.may(CLAIM):
            return Answer(card=caller.refusal(CLAIM, act=asked.verb))
        listing = invocation(Replies(), workspace=asked.workspace)
        readable = await caller.readable(listing)
        if readable is None:
            return await caller.refuse(listing.command, listing.line, asked.workspace)
        workspace, user = caller.context(readable.workspace).workspace.name, caller.person.id
        # Also of those done lately, so that a whole name of theirs isn't the beginning of another's.
        read = self._store.alerts.candidates
        known = [one for done in (False, True) for one in await read(workspace, user, done=done)]
        fitting = replies.fitting(asked, known, user)
        if len(fitting) == 1:
            return await self._alert_actions.perform(asked.act_on(fitting[0]), caller)
        if fitting:
            card, items = replies.choice(asked, fitting)
            return Answer(card=card, items=items)
        return Answer(card=replies.not_found(asked, known) if asked.name else WHICH_ALERT)

    async def _look_at(self, asked: OnAlert, caller: Caller) -> Answer:
        alert = await self._store.alerts.find(asked.alert)
        if alert is None or not alert.event.lead.email:
            return Answer(card=GONE)
        look = Lead(who=alert.event.lead.email)
        looking = invocation(look, workspace=alert.workspace if self._cards.several else None)
        if asked.verb == LEAD:
            return await self._command(looking, caller)
        if await caller.readable(looking) is None:
            return await caller.refuse(looking.command, looking.line, looking.workspace)
        described = self._cards.on_card(alert)
        return Answer(card=details_card(described))

    async def _command(self, asked: Invocation, caller: Caller) -> Answer:
        located = await caller.located(asked.arguments)
        if not isinstance(located, Card) and located != asked.arguments:
            # A private channel's name must not get into the audit, which other people read.
            asked = replace(asked, arguments=located, line=located.line)
        readable = await caller.readable(asked)
        if readable is None:
            return await caller.refuse(asked.command, asked.line, asked.workspace)
        if isinstance(located, Card):
            return Answer(card=located)
        return await self._run(readable, caller)

    async def _run(self, asked: Invocation, caller: Caller) -> Answer:
        """Run what the person may; some lines the bot answers in its own way."""
        context = caller.context(asked.workspace)
        match asked.arguments:
            case Replies() as listed:
                return await list_replies(listed, context, self._cards)
            case Help(command=None):
                return Answer(card=first_card(context))
            case Doctor():
                return Answer(card=await self._self_test(context))
        try:
            done = await run(asked, context)
        except OutreachError as error:
            return Answer(card=failure(error, asked))
        if isinstance(done, Question):
            return await self._ask(done, caller, context)
        match asked.arguments:
            case Help(command="all") if caller.may(CLAIM):
                footer = f"{replies.ACTS} {done.card.footer}"
                done = replace(done, card=replace(done.card, footer=footer))
            case Help(command=str(about)) if about in COMMANDS and context.allows(COMMANDS[about]):
                done = replace(done, card=with_form(done.card, about))
        return await self._changed(done, context)

    async def _changed(self, result: Result, context: CommandContext) -> Answer:
        """The answer with a result: everybody sees a change, signed with the person's name."""
        if not result.changed:
            return Answer(card=result.card)
        self._account_changed()  # cards show what was changed
        answer = Answer(card=result.card, settles=True, workspace=context.workspace.name)
        if result.undoes and await self._store.repaints.shows(result.undoes):
            # What was left as it is, the message of the change doesn't say.
            return replace(answer, edited=not result.card.text)
        by, setting = f"by @{context.actor.name}", result.setting
        return replace(answer, by=by, public=True, setting=setting, about=result.about, number=result.number)

    async def _ask(self, question: Question, caller: Caller, context: CommandContext) -> Answer:
        """A question that is bound to the person and expires."""
        nonce = await self._store.confirmations.ask(
            write_question(question),
            person=caller.person.id,
            workspace=context.workspace.name,
            seconds=CONFIRM_SECONDS,
        )
        buttons = tuple(
            Button(choice.label, Confirm(nonce=nonce, choice=number), tone=Tone.BAD)
            for number, choice in enumerate(question.choices)
        )
        whose = f"Only @{caller.person.name} can confirm this, within {CONFIRM_SECONDS / 60:.0f} minutes."
        card = question.card
        footer = " ".join(filter(None, (card.footer, whose)))
        no = Button(question.no, Cancel())
        return Answer(card=replace(card, buttons=(*buttons, no), footer=footer))

    async def _confirm(self, asked: Confirm, caller: Caller) -> Answer:
        """Carry out the answer to a question: the person's role is checked again, and it counts once."""
        kept = self._store.confirmations
        question = await kept.look(asked.nonce, caller.person.id)
        if question.verdict is Verdict.GIVEN:
            return _given(question.result)
        if question.verdict is not Verdict.OPEN:
            return Answer(card=_NOT_CONFIRMED[question.verdict], settles=question.verdict is Verdict.LATE)
        try:
            line, acts = read_question(question.data)
        except ValueError:  # it was asked by another version
            return Answer(card=_NOT_CONFIRMED[Verdict.UNKNOWN], settles=True)
        act: Act = acts[asked.choice]
        if not caller.may(act.verb):
            return await caller.refuse(COMMANDS[act.verb], line, question.workspace)
        # Taken before it is carried out: of two taps at once, one carries it out.
        if not await kept.take(asked.nonce):
            return _given("")
        context = caller.context(question.workspace)
        try:
            result = await carry_out(act, context, line=line)
        except Exception as error:
            await self._settle(asked.nonce, error_card(error, changes=True))
            raise
        await self._settle(asked.nonce, result.card)
        return replace(await self._changed(result, context), settles=True)

    async def _settle(self, nonce: str, card: Card) -> None:
        with contextlib.suppress(RecordsUnavailable):
            result = json.dumps({"title": card.title, "text": card.text}, ensure_ascii=False)
            await self._store.confirmations.settle(nonce, result)


def _given(result: str) -> Answer:
    """The answer to another tap on a question: what became of the first, once that is over."""
    if not result:
        card = Card("This is still being carried out", text=("`audit` will show what was done.",))
        return Answer(card=card)
    kept = json.loads(result)
    return Answer(card=Card(kept["title"], text=tuple(kept["text"])), settles=True)


def failure(error: Exception, asked: Invocation | None = None) -> Card:
    if isinstance(error, UnknownWorkspace):
        return error_card(error)  # a mistake in the command: nothing failed
    reference = f"ref-{secrets.token_hex(4)}"
    log.warning("command failed", reference=reference, error=type(error).__name__, exc_info=error)
    return failed_card(error, asked, reference) if asked else error_card(error, reference)


def _followed(done: Answer, then: Answer) -> Answer:
    """The second answer replaces the clicked message, with the result of the first on top."""
    if not then.items:  # a list whose last item was taken
        return Answer(card=replace(done.card, footer=then.card.title), settles=True)
    text = (done.card.title, *then.card.text)
    return replace(then, card=replace(then.card, text=text), settles=True)


def first_card(context: CommandContext) -> Card:
    """The card for `help` without a command: its third button opens the form of a pause."""
    card = first_help(context)
    *buttons, everything = card.buttons
    if context.allows(COMMANDS["pause"]):
        buttons.append(Button("Pause …", OpenForm(verb="pause")))
    return replace(card, buttons=(*buttons, everything))


def with_form(card: Card, line: str) -> Card:
    """The card with a button for the form of the command, where it stands in the line without arguments."""
    verb, _, workspace = line.strip().lower().partition(" @")
    verb = ALIASES.get(verb, verb)
    if verb not in FORMS or " " in workspace:
        return card
    form = Button("Open form", OpenForm(verb=verb, workspace=workspace), tone=Tone.GOOD)
    return replace(card, buttons=(form, *card.buttons))


def sample(now: datetime, settings: CardSettings) -> Card:
    """The card of an interested reply as it is drawn for real ones, with buttons that change nothing."""
    alert = Alert(id="al_sample", event=SAMPLE, received_at=now.timestamp())
    card = reply_card(settings.on_card(alert))
    pressed = ShowSample(pressed=True)
    buttons = tuple(Button(one.label, pressed, tone=one.tone, menu=one.menu) for one in card.buttons)
    facts = tuple(replace(fact, url="") for fact in card.facts)
    details = tuple(replace(fact, url="") for fact in card.details)
    footer = "A sample that only you see. Its buttons change nothing."
    return replace(card, buttons=buttons, facts=facts, details=details, footer=footer)


SAMPLE = Event(
    kind="reply.interested",
    lead=EventLead(
        email="felix@coral-partners.example",
        first_name="Felix",
        last_name="Weber",
        company="Coral Partners",
    ),
    sequence="Fintech ops leaders",
    reply="We have been losing hours to this every week. Could you call me tomorrow after 10?",
)
_SAMPLE_PRESSED = Card(
    "This is only a sample",
    text=("Nothing was changed. Real cards are posted when a lead is interested.",),
)
WHICH_ALERT = Card(
    "Which reply?",
    tone=Tone.WARN,
    text=("Add the lead's name, as in `claim Ada`, or use this in the thread of a reply's card.",),
    buttons=(Button("Show unclaimed", Replies()),),
)
_CANCELLED = Card("Nothing was changed")
_NOT_CONFIRMED = {
    Verdict.LATE: Card(
        "This confirmation has expired",
        tone=Tone.WARN,
        text=("Nothing was changed. Run the command again.",),
    ),
    Verdict.NOT_YOURS: Card(
        "Only the person who ran this command can confirm it",
        tone=Tone.WARN,
        text=("Run the command yourself.",),
    ),
    Verdict.UNKNOWN: Card(
        "This confirmation no longer exists", tone=Tone.WARN, text=("Run the command again.",)
    ),
}
