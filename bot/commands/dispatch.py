"""Answers a typed or clicked line with a Card; every failure is a Card too.

Makes no calls to Slack: the listeners pass in who, where and what, and post the result. First the acts of people on
alerts: buttons, typed lines and the dashboard come here with the same data. What an act takes from a colleague is asked first; a
yes takes it from that colleague and nobody else, who is then told in the thread of the card.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo

import structlog

from bot.blockkit import (
    ALERT,
    ASSIGN,
    LEAD,
    LOOKS,
    QUESTION,
    Cancel,
    Confirm,
    OnAlert,
    OpenForm,
    ShowSample,
    is_user,
    read_value,
    write_value,
)
from bot.cards import (
    LABELS,
    CardSettings,
    about,
    crm_button,
    details_card,
    listed,
    reply_card,
    snooze_end,
    write_note,
)
from bot.commands.context import Answer, Caller, CommandContexts
from bot.runtime import DeliverySignals
from bot.slack.directory import UserDirectory, everybody
from bot.slack.permissions import Person
from shared import commands
from shared.api.errors import OutreachError
from shared.api.events import Event, EventLead
from shared.commands import COMMANDS, Invocation, UsageError, invocation, times
from shared.commands.base import ALIASES, NOTHING_CHANGED, CommandContext, Question, Result, nearest_of
from shared.commands.errors import error_card, failed_card
from shared.commands.help import Doctor, Help, first_help
from shared.commands.leads import Lead, Remove
from shared.commands.replies import PAGE, Replies, find_replies
from shared.commands.run import run
from shared.domain.alert import Alert
from shared.domain.card import Action, Button, Card, Fact, Tone, Typed, warning
from shared.domain.event_kinds import kind_of
from shared.domain.reply_states import ACK, AFTER, HOW, TAKES, State, states_for
from shared.domain.wall_clock import moment
from shared.frozen import frozen
from shared.records import Actor
from shared.settings import CLAIM, UnknownWorkspace
from shared.store.alerts import Trace
from shared.store.audit import Verdict
from shared.text.formats import clip, show_span
from shared.text.tokenize import join, parse_duration

REASONS = ("not a fit", "wrong person", "no budget", "bad timing", "already a customer")
REASON_CHARACTERS = 200
LONGEST_SNOOZE = timedelta(days=90)
USUAL_REMINDER = "2h"
ME = "@me"
"""The person of `assign ada to me`."""
BEFORE_TIME = frozenset({"in", "for", "until", "till", "til", "at", "on"})
_WITH_END = frozenset({"snooze", "remind"})
_DID = {
    "claim": "claimed {lead}",
    "takeover": "took over {lead} from @{owner}",
    "release": "released {lead}",
    "snooze": "snoozed {lead}",
    "remind": "will be reminded of {lead}",
    "wake": "ended the snooze of {lead}",
    "done": "marked {lead} done",
    "dismiss": "closed {lead} as not interested",
    "reopen": "reopened {lead}",
    ASSIGN: "assigned {lead} to @{assignee}",
}
GONE = warning(
    "This alert is no longer stored",
    "Records of alerts are deleted after a time, or lost with a database.",
    "`replies` lists the unclaimed replies.",
)


class AlertActions:
    """`perform` an act for a person, who asks through a face; `changed` is called when cards need an update."""

    def __init__(
        self,
        contexts: CommandContexts,
        directory: UserDirectory,
        *,
        changed: Callable[[], None],
        face: str = "slack",
    ) -> None:
        self._contexts, self._directory, self._changed = contexts, directory, changed
        self._store, self._cards, self._face = contexts.store, contexts.cards, face

    def caller(self, person: Person, channel: str) -> Caller:
        """The person as they stand in a channel, by the rules of the settings."""
        return Caller(
            person=person,
            rules=self._contexts.settings.roles,
            channel=channel,
            contexts=self._contexts,
            directory=self._directory,
            face=self._face,
        )

    async def perform(self, asked: OnAlert, caller: Caller) -> Answer:
        """The answer, which only this person sees."""
        alert = await self._store.alerts.find(asked.alert)
        if not caller.may(CLAIM):
            workspace = alert.workspace if alert else None
            return await caller.refuse(CLAIM, asked.line, workspace, act=LABELS[asked.verb])
        if alert is None:
            return Answer(GONE)
        if asked.verb == ACK:
            return await self._acknowledge(alert, caller.actor)
        directory, assignee = self._directory, None
        if asked.verb == ASSIGN and asked.person:
            user = caller.person.id if asked.person == ME else asked.person
            if user.startswith("@"):
                user = await directory.find_named(user)
            if not user:
                why = f"“{clip(asked.person)}” isn't one person in this Slack workspace."
                return Answer(_whom(alert, f"{why} Choose a person from the list."))
            assignee = await directory.find(user)
        asked = _meant(asked, alert, caller, assignee)
        if asked.verb == "dismiss":
            asked = replace(asked, detail=await directory.with_names(asked.detail))
        now = moment(self._store.database.clock())
        until = None
        if asked.verb in _WITH_END:
            until = snoozed_until(asked.detail, now=now, zone=caller.zone)
        if question := _before(asked, alert, caller, until=until):
            return Answer(question)
        return await self._act(asked, alert, caller.actor, until, assignee if asked.verb == ASSIGN else None)

    async def _act(
        self, asked: OnAlert, alert: Alert, actor: Actor, until: datetime | None, assignee: Person | None
    ) -> Answer:
        """Do it, tell whom it was taken from or given to, and put it into the audit."""
        channel, owner = "", None
        if assignee:
            owner = Actor(name=assignee.name, id=assignee.id, face="slack")
            channel, refusal = await self.place_for(assignee, alert)
            if refusal:
                return Answer(_whom(alert, f"{refusal} {NOTHING_CHANGED}"), settles=True)
        verb, whom = "claim" if asked.verb == "mail" else asked.verb, owner.name if owner else ""
        did = _DID[verb].format(lead=lead_of(alert), owner=alert.claimed_name, assignee=whom)
        card = Card(f"@{actor.name} {did}", tone=Tone.GOOD if verb in {"done", ASSIGN} else Tone.INFO)

        def trace(before: Alert) -> Trace:
            """The note in the thread; it mentions whom the reply was given to, and whom it was taken from."""
            lost = before.claimed_by if is_colleagues(before, actor) else ""
            had = f"@{before.claimed_name} had claimed it." if lost and verb != "takeover" else ""
            mentions = (owner.id if owner else "", lost if is_user(lost) else "")
            note = write_note(replace(card, text=(had,)))
            return Trace(note=note, mention=" ".join(filter(None, mentions)), channel=channel)

        of_colleague = is_colleagues(alert, actor)
        is_told = verb in {"release", ASSIGN} or (verb in TAKES and of_colleague)
        change = await self._store.alerts.act(
            alert.id,
            verb,
            actor,
            until=until.timestamp() if until else 0.0,
            reason=clip(asked.detail, length=REASON_CHARACTERS) if verb == "dismiss" else "",
            # Who has it may hand it on without being asked.
            instead_of=asked.instead_of if of_colleague else alert.claimed_by,
            person=owner,
            trace=trace if is_told else None,
            line=replace(asked, verb=verb, person=whom and f"@{whom}").line,
            about=lead_of(alert),
        )
        if change is None:
            return Answer(GONE)
        opens = asked.verb == "mail" and await self._store.alerts.expect_visit(alert.id, actor)
        settles = bool(asked.person or asked.detail or asked.instead_of)
        if not change.changed:
            settles = settles and (opens or verb == ASSIGN)
            return Answer(unchanged_card(change.alert, actor), on_card=opens, settles=settles)
        self._changed()
        card = replace(card, facts=snooze_end(change.alert))
        if verb in {"claim", "takeover"}:  # away from the card: the address to write to, and what comes next
            claimed = self._cards.on_card(change.alert)
            whole, page = reply_card(claimed), claimed.lead_link
            buttons = [button for button in whole.buttons if not button.menu]
            buttons += [crm_button(page)] if page else []
            card = replace(card, tone=Tone.GOOD, details=whole.details, buttons=tuple(buttons))
        return Answer(card, on_card=True, noted=is_told, settles=settles)

    async def _acknowledge(self, alert: Alert, actor: Actor) -> Answer:
        """Put the person's name on the card of a paused domain, unless it has one."""
        line, acknowledged = f"{ACK} {alert.id}", None
        if kind_of(alert.kind).acknowledged:
            acknowledged = await self._store.alerts.act(alert.id, ACK, actor, line=line, about=alert.domain)
        if acknowledged is None:
            return Answer(GONE)
        row, title = acknowledged.alert, f"{alert.domain} has recovered"
        if row.acked_at is not None:
            title = f"@{row.acked_name} acknowledged {row.domain}"
        if acknowledged.changed:
            self._changed()
        return Answer(Card(title, tone=Tone.GOOD), on_card=acknowledged.changed)

    async def place_for(self, person: Person, alert: Alert) -> tuple[str, str]:
        """The channel with a card of the alert that a person can read, or why they can't be given it."""
        if reason := never(person):
            return "", reason
        cards = await self._store.alerts.cards(alert.id)
        viewer = self.caller(person, "").actor
        readable = [channel for channel in cards if await self._directory.sees(channel, viewer)]
        for channel in readable:
            if self.caller(person, channel).may(CLAIM):
                return channel, ""
        if cards and not readable:
            return "", f"@{person.name} isn't in the private channel of this reply. Invite them there first."
        return "", f"@{person.name} doesn't have permission to claim replies there."


def never(person: Person) -> str:
    """The reason why a person can be given nothing, whatever the settings say; empty if there is none."""
    if not person.is_known:
        return "Slack didn't say who that is. Try again in a minute."
    if person.is_deleted:
        return f"@{person.name}'s account is deactivated."
    return f"@{person.name} is a bot." if person.is_bot else ""


def is_colleagues(alert: Alert, person: Actor) -> bool:
    """True if someone else has claimed it."""
    return alert.claimed_by not in {"", person.id or person.name}


def _meant(asked: OnAlert, alert: Alert, caller: Caller, assignee: Person | None) -> OnAlert:
    """The act: who assigns a reply to themselves claims it, and who snoozes their own wants a reminder.

    Nobody is reminded of what they don't have.
    """
    is_other = is_colleagues(alert, caller.actor)
    if assignee and assignee.id == caller.person.id:
        return replace(asked, verb="takeover" if is_other else "claim")
    if asked.verb not in _WITH_END:
        return asked
    own = alert.state is State.CLAIMED and not is_other
    usual = USUAL_REMINDER if asked.verb == "remind" or own else ""
    return replace(asked, verb="remind" if own else "snooze", detail=asked.detail or usual)


def lead_of(alert: Alert) -> str:
    """`Ada Lovelace at Acme`: the author of the reply, if still stored."""
    return "the reply" if alert.is_pruned else about(alert.event)


def _before(asked: OnAlert, alert: Alert, caller: Caller, *, until: datetime | None) -> Card | None:
    """The refusal or question before anything changes; None if the act can be done."""
    if asked.verb not in AFTER[alert.state]:
        return unchanged_card(alert, caller.actor)
    if asked.verb == ASSIGN and not asked.person:
        return _whom(
            alert, f"@{alert.claimed_name} has it, and will be notified." if alert.claimed_by else ""
        )
    is_taken = asked.verb in TAKES and is_colleagues(alert, caller.actor)
    if is_taken and asked.instead_of != alert.claimed_by:
        return _question(asked, alert)
    if not asked.detail and asked.verb == "dismiss":
        return reason_choices(asked)
    return snooze_choices(asked, caller.zone) if asked.verb in _WITH_END and until is None else None


def _question(asked: OnAlert, alert: Alert) -> Card:
    """Asks before something is taken from a colleague; the yes names the colleague."""
    label, yes = LABELS[asked.verb], replace(asked, instead_of=alert.claimed_by)
    return warning(
        f"@{alert.claimed_name} has claimed {lead_of(alert)}",
        f"Nothing was changed yet. @{alert.claimed_name} will be notified.",
        buttons=(Button(label, yes, tone=Tone.BAD), Button("Cancel", Cancel())),
    )


def unchanged_card(alert: Alert, actor: Actor) -> Card:
    """The answer to an act that the reply's state doesn't allow: how it stands, and who was faster."""
    over = OnAlert(verb="takeover", alert=alert.id, instead_of=alert.claimed_by)
    is_taken = alert.state is State.CLAIMED and is_colleagues(alert, actor)
    told = f" If you take it over, @{alert.claimed_name} will be notified." if is_taken else ""
    return Card(
        reply_card(alert).title,
        text=(f"{NOTHING_CHANGED}{told}",),
        facts=snooze_end(alert),
        buttons=(Button(LABELS["takeover"], over),) if is_taken else (),
    )


def _whom(alert: Alert, why: str) -> Card:
    """Asks for the person; it isn't taken from anybody but who has it now."""
    action = OnAlert(verb=ASSIGN, alert=alert.id, instead_of=alert.claimed_by)
    return Card(
        f"Assign {lead_of(alert)} to …",
        text=(why, "The person is mentioned in the thread of the card."),
        buttons=(Button("Choose a person", action, picks_person=True),),
    )


def snoozed_until(given: str, *, now: datetime, zone: tzinfo) -> datetime | None:
    """The time meant by `2h`, `tomorrow`, `monday 10:00` or Unix seconds; None if it isn't in the next 90 days."""
    words = given.split()
    if words and words[0] in BEFORE_TIME:
        words = words[1:]
    text, now = " ".join(words), now.astimezone(UTC)  # durations are added in UTC, without clock changes
    until: datetime | None = None
    if text.isdecimal() and len(text) < 12:
        until = moment(int(text))
    elif length := parse_duration(text):
        until = now + length if length <= LONGEST_SNOOZE else None
    elif read := times.read_moment(words):
        until = read.after(now, zone=zone)
    return until if until is not None and now < until <= now + LONGEST_SNOOZE else None


def snooze_choices(asked: OnAlert, zone: tzinfo) -> Card:
    """Asks for the end of a snooze or the time of a reminder, also after one that can't be meant."""
    labels = {"1h": "1 hour", "3h": "3 hours", "tomorrow": "Tomorrow, 9:00", "monday": "Monday, 9:00"}
    moments = [Button(label, replace(asked, detail=word)) for word, label in labels.items()]
    other = Button("Another time", replace(asked, detail=""), picks_time=True)
    return Card(
        "Snooze until when?",
        text=("Choose a time in the next 90 days. Until then nobody is reminded of it.",),
        buttons=(*moments, other),
        footer=f"Times are in {zone}.",
    )


def reason_choices(asked: OnAlert) -> Card:
    """The usual reasons for not interested, and how to give another."""
    return Card(
        "Why not interested?",
        text=("This closes the reply and shows the reason on its card. Reopen undoes it.",),
        buttons=tuple(Button(why.capitalize(), replace(asked, detail=why)) for why in REASONS),
        footer="For another reason, reply in the card's thread: @outreach not interested REASON",
    )


# -- lines that people type: with the lead's name from anywhere, without it in the thread of a card


PHRASES = {how.words: verb for verb, how in HOW.items()} | {
    "mark done": "done",
    "view lead": "lead",
}
"""People write these words for acts that have other names."""
OWN_FIRST = frozenset({"done", "release", "remind", "dismiss", "snooze"})
"""Acts that mean the person's own claim before a colleague's or an unclaimed reply of the same name."""
NEARLY = 0.75
"""The share of its letters that a misspelled verb has at least in their places."""
MOST_OFFERED = 5
"""Replies that are offered where several fit."""
_TO = re.compile(r"(?:^|\s)(?:(?:to\s+)?(<@[UW][A-Z0-9]+>|@[^\s@<>]+)(?=\s|$)|to\s+(\S+)\s*$)", re.IGNORECASE)
"""Finds the person in `assign ada to @ann`, or in `assign ada to ann`, where nothing marks them as one."""
_REASON = re.compile(r"\s*:\s*|(?:^|\s+)(?:reason|because)(?:\s+|$)", re.IGNORECASE)
_ABOUT = re.compile(r"^(?:of|about)\s+", re.IGNORECASE)
_MISTAKEN_TIME = re.compile(r"(?<!\S)(?:for|until|till?|in)\s+", re.IGNORECASE)
_OF_LEAD = LOOKS | {"remove"}
"""Verbs that mean the card's lead when nothing follows."""
_WITHOUT_TARGET = re.compile(r"(?:(?:for|until|reason)\b.*)?", re.IGNORECASE | re.DOTALL)
ACTS = f"For a reply, with its lead's name: {', '.join(how.words for how in HOW.values())}."


def split_line(line: str) -> tuple[str, str]:
    """The verb of a line about an alert, and the rest."""
    text = line.strip()
    for phrase, verb in PHRASES.items():
        if re.match(rf"{phrase}\b", text, re.IGNORECASE):
            return verb, text[len(phrase) :].strip()
    verb, _, rest = text.partition(" ")
    return verb.lower(), rest.strip()


def read_line(line: str) -> Action:
    """The action of a typed line. Raises `UsageError`."""
    if act := read_act(line):
        return act
    verb, _, rest = line.strip().partition(" ")
    if verb == "yes" and rest.startswith(QUESTION):
        nonce, _, choice = rest.partition(" ")
        return Confirm(nonce=nonce, choice=int(choice) if choice.isdigit() else 0)
    return Cancel() if line.strip() == "no" else commands.parse(line)


def read_act(line: str) -> OnAlert | None:
    """The line as an act on an alert: `claim al_1`, `snooze ada 2h`, `claim ada @acme`; None if it is another."""
    verb, rest = split_line(line)
    person = detail = ""
    if rest.startswith(ALERT) and verb in {"mail", ACK, *LOOKS, *HOW}:
        alert, _, detail = rest.partition(" ")
        if verb == ASSIGN:
            person, detail = read_person(detail.strip().removeprefix("to ")), ""
        return OnAlert(verb=verb, alert=alert, detail=detail.strip(), person=person)
    if verb not in HOW:
        return None
    if verb == ASSIGN and (to := _TO.search(rest)):
        person, rest = read_person(to[1] or to[2]), f"{rest[: to.start()]} {rest[to.end() :]}".strip()
    if verb == "dismiss" and (reason := _REASON.search(rest)):
        rest, detail = rest[: reason.start()], rest[reason.end() :]
    if verb in _WITH_END:
        rest, detail = _split_time(rest)
    name, _, workspace = rest.rpartition(" @") if " @" in rest else (rest, "", "")
    name = name.strip("“”\"' ")
    return OnAlert(verb=verb, name=name, workspace=workspace or None, detail=detail, person=person)


def read_person(text: str) -> str:
    """The id of a mention, `<@U1>`; else the name that was typed, as `@ann`; empty where there is none."""
    mention = re.fullmatch(r"<@([UW][A-Z0-9]+)>", text.strip())
    name = text.strip().lstrip("@").strip()
    return mention[1] if mention else name and f"@{name}"


def _split_time(text: str) -> tuple[str, str]:
    """`hassan until monday 9am` or `in 2h of hassan` as the name and the time; the longest that tells a time is one.

    Where none does, what follows `until`, `for` or `in` was meant as one: it is asked about, and no part of a name.
    """
    words = text.split()
    splits = [(words[:n], words[n:]) for n in range(len(words))]
    splits += [(words[n:], words[:n]) for n in range(len(words), 0, -1)]
    for name, told in splits:
        time = told[told[0].lower() in BEFORE_TIME :]
        end = " ".join(time)
        if times.read_moment(time) or parse_duration(end):
            return _ABOUT.sub("", " ".join(name)), end
    before, *mistaken = _MISTAKEN_TIME.split(text, maxsplit=1)
    return _ABOUT.sub("", before).strip(), "".join(mistaken)


def near_miss(card: Card, line: str) -> Card:
    """The refusal of a line; `cliam ada`, whose first word nearly is an act, gets a button that runs `claim ada`."""
    word, _, rest = line.strip().partition(" ")
    near = nearest_of(word, HOW, cutoff=NEARLY) if rest else []
    if not near:
        return card
    meant = f"{near[0]} {rest.strip()}"
    button = Button(f"{meant[0].upper()}{meant[1:]}", Typed(meant))
    return replace(card, text=(f"Did you mean “{meant}”?",), buttons=(button,))


def fitting(asked: OnAlert, replies: Sequence[Alert], person: str) -> Sequence[Alert]:
    """The replies that a line may mean: those whose state allows the act, and the person's own before others.

    Where the state of none allows it, the newest that has the name: the answer says how it stands.
    """
    named = [reply for reply in replies if reply.claimed_by == person]
    if asked.name:
        named = _of_name(replies, asked.name.casefold())
    states = states_for(asked.verb) | states_for("remind" if asked.verb == "snooze" else asked.verb)
    possible = [reply for reply in named if reply.state in states]
    own = [reply for reply in possible if reply.claimed_by == person]
    if asked.verb == "takeover":  # what one has already is meant only where no colleague has one of this name
        possible, own = [reply for reply in possible if reply not in own] or own, []
    return (own if asked.verb in OWN_FIRST else []) or possible or (named[:1] if asked.name else [])


def _of_name(replies: Sequence[Alert], wanted: str) -> list[Alert]:
    """Those of this very lead, else those whose name, company or address begins so, or has a word that does.

    A whole name is never the beginning of another's: `not interested ada` leaves Adam alone where Ada's reply is done.
    """
    whole = [reply for reply in replies if wanted in (name.casefold() for name in _names(reply))]
    return whole or [
        reply for reply in replies if any(f" {wanted}" in f" {name.casefold()}" for name in _names(reply))
    ]


def _names(reply: Alert) -> Sequence[str]:
    lead = reply.event.lead
    return [text for text in (lead.name, lead.company, reply.email, about(reply.event)) if text]


def choice(asked: OnAlert, replies: Sequence[Alert]) -> tuple[Card, tuple[Card, ...]]:
    """Which of several replies; each with its button."""
    more = f" The first {MOST_OFFERED} are shown." if len(replies) > MOST_OFFERED else ""
    items = tuple(
        Card(
            about(reply.event),
            quote=clip(reply.event.reply or "", length=120),
            buttons=(Button(LABELS[asked.verb], asked.of(reply.id)),),
        )
        for reply in replies[:MOST_OFFERED]
    )
    title = f"You have {len(replies)} replies"
    if asked.name:
        title = f"{len(replies)} replies match “{clip(asked.name)}”"
    return warning(title, f"Which one?{more}"), items


def not_found(asked: OnAlert, replies: Sequence[Alert]) -> Card:
    """No reply fits; the nearest is named."""
    names = {name.casefold(): about(reply.event) for reply in replies for name in _names(reply)}
    near = nearest_of(asked.name, names)
    hint = f"Did you mean {clip(names[near[0]])}?" if near else "Use the lead's name, company or address."
    buttons = (Button("Show unclaimed", Replies()), Button("Show mine", Replies(mine=True)))
    return warning(f"No reply matches “{clip(asked.name)}”", hint, buttons=buttons)


def needs_alert(line: str) -> bool:
    """True if a line means the lead of an alert that it doesn't name."""
    verb, rest = split_line(line)
    return verb in _OF_LEAD and not rest


def action_about(line: str, alert: Alert, *, several: bool) -> Action:
    """The action of a line in an alert's thread, with the alert, its lead or its sequence put in.

    A line that names its own is left as it is.
    """
    verb, rest = split_line(line)
    event, workspace = alert.event, alert.workspace if several else ""
    if alert.is_pruned:
        return Typed(line)
    if verb == "remove" and not rest and event.lead.email:
        return invocation(Remove(who=event.lead.email), workspace=workspace)
    if verb in LOOKS and not rest:
        return OnAlert(verb=verb, alert=alert.id)
    if act := read_act(line):
        return act if act.alert else _named_in_thread(act, rest, alert) or act
    verb = ALIASES.get(verb, verb)
    if verb in {"pause", "resume"} and _WITHOUT_TARGET.fullmatch(rest) and (event.sequence or event.domain):
        target = join(verb, event.sequence) if event.sequence else f"{verb} domain:{event.domain}"
        return Typed(f"{target} {rest}".strip() + (workspace and f" @{workspace}"))
    return Typed(line)


def _named_in_thread(named: OnAlert, text: str, alert: Alert) -> OnAlert | None:
    """The act on the thread's reply; None: the line names another lead, and whoever does means that one."""
    name, act = named.name, named.of(alert.id)
    if named.verb == ASSIGN and not act.person:
        # What follows is the person, behind the name of the lead or without it.
        lead, _, last = name.rpartition(" ")
        is_leads = lead and fitting(replace(named, name=lead), [alert], "")
        return replace(act, person=read_person(last if is_leads else name))
    if not name or fitting(named, [alert], ""):
        return act
    # `not interested they left` gives a reason without a name, `not interested bob: they left` names another lead.
    return replace(act, detail=text) if named.verb == "dismiss" and not named.detail else None


# -- the list of open replies, in an answer and on Home


def list_item(
    reply: Alert,
    now: datetime,
    cards: CardSettings,
    *,
    then: str = "",
    may_change: bool = True,
) -> Card:
    """The card of an open reply in a few lines, with its age; `then` is shown after a click on its button."""
    card = listed(reply_card(cards.on_card(reply), in_list=True))
    first, *looks = card.buttons
    if isinstance(first.action, OnAlert):
        first = replace(first, action=replace(first.action, then=then))
    age = f"received {show_span(now - reply.received)} ago"
    return replace(card, facts=(Fact("Age", age),), buttons=(first, *looks) if may_change else ())


async def list_replies(asked: Replies, context: CommandContext, cards: CardSettings) -> Answer:
    """A page of the unclaimed replies, or the person's own; after a click on one, the list is shown anew."""
    turned, own = asked.page or 1, context.workspace.name if cards.several else ""
    asked = asked if asked.mine else replace(asked, page=turned)
    card, replies, count = await find_replies(asked, context)
    if asked.mine:
        card = replace(card, text=(f"The first {PAGE} are shown.",) if count > PAGE else ())
    else:
        pages = -(-count // PAGE)
        page = min(turned, pages)
        offered = {"Previous": page - 1, "Next": page + 1}
        turns = (
            Button(label, Replies(page=other), workspace=own)
            for label, other in offered.items()
            if 0 < other <= pages
        )
        card = replace(card, buttons=tuple(turns))
    then = commands.render(asked, workspace=own)
    items = tuple(list_item(reply, context.now(), cards, then=then) for reply in replies[:PAGE])
    # A page that a person turned to takes the place of the one before.
    return Answer(card, items=items, settles=turned > 1)


# -- Answers a typed or clicked line with a Card; every failure is a Card too


FORMS = {"pause": ("Pause a sequence", "Pause"), "add": ("Add a lead", "Add")}
"""The title of each command's form, and its button."""
PERSON_SECONDS = 1.5
"""Seconds that Slack gets to say who someone is before a form is opened: its trigger lives for three."""
CONFIRM_SECONDS = 600.0

log = structlog.get_logger("acts")


@frozen
class Asker:
    """The sender of a request, as Slack names them in it, and their channel."""

    user: str
    name: str = ""
    is_bot: bool = False
    channel: str = ""


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
        self._cards = contexts.cards
        self._alert_actions = AlertActions(contexts, directory, changed=signals.changed)

    async def perform(self, asked: Action, asker: Asker) -> Answer:
        """Carry out an action or a typed line."""
        person = await self._directory.find(asker.user, name=asker.name)
        person = replace(person, is_bot=person.is_bot or asker.is_bot)
        caller = self._alert_actions.caller(person, asker.channel)
        try:
            answer = await self._act(asked, caller)
        except UsageError as error:
            answer = Answer(with_form(error.card, asked.line))
        except Exception as error:  # noqa: BLE001 # whatever it is, the person gets an answer and a reference
            answer = Answer(failure(error))
        # What a private channel gets is its members' alone: elsewhere only the person reads it.
        if answer.public and not await self._directory.may_read(answer.about, asker.channel):
            answer = replace(answer, public=False)
        if answer.on_card:
            return answer
        # Channels have their names as far as all readers of the answer may know them.
        viewer = everybody(asker.channel) if answer.public else caller.actor
        return replace(answer, card=await self._directory.name_channels(answer.card, viewer))

    async def caller_in_time(self, asker: Asker) -> Caller:
        """The person who asks for a form, which shows workspaces and sequences; where Slack is slow, an unknown one."""
        person = await self._directory.find(asker.user, seconds=PERSON_SECONDS)
        return self._alert_actions.caller(person, asker.channel)

    async def _act(self, asked: Action, caller: Caller) -> Answer:
        match asked:
            case Invocation():
                return await self._command(asked, caller)
            case OnAlert():
                return await self._on_alert(asked, caller)
            case Confirm():
                return await self._confirm(asked, caller)
            case Cancel():
                return Answer(_CANCELLED, settles=True)
            case ShowSample():
                return Answer(_SAMPLE_PRESSED if asked.pressed else sample(self._now(), self._cards))
        return await self._typed(asked.line, caller)

    async def _on_alert(self, asked: OnAlert, caller: Caller) -> Answer:
        if not asked.alert:
            return await self._on_named(asked, caller)
        if asked.verb in LOOKS:
            return await self._look_at(asked, caller)
        done = await self._alert_actions.perform(asked, caller)
        if not asked.then:
            return done
        # What was clicked is replaced by it, with the result on top.
        then = await self._typed(asked.then, caller)
        if not then.items:  # a list whose last item was taken
            return Answer(replace(done.card, footer=then.card.title), settles=True)
        card = replace(then.card, text=(done.card.title, *then.card.text))
        return replace(then, card=card, settles=True)

    async def _typed(self, line: str, caller: Caller) -> Answer:
        try:
            action = read_line(line)
        except UsageError as error:
            raise UsageError(near_miss(error.card, line)) from None
        return await self._act(action, caller)

    async def _on_named(self, asked: OnAlert, caller: Caller) -> Answer:
        """Act on the one reply that fits a name; several are offered, and nothing changes."""
        if not caller.may(CLAIM):
            return await caller.refuse(CLAIM, asked.line, asked.workspace, act=HOW[asked.verb].words)
        listing = invocation(Replies(), workspace=asked.workspace)
        readable = await caller.readable(listing)
        if readable is None:
            return await caller.refuse(listing.arguments.verb, listing.line, asked.workspace)
        workspace, user = caller.context(readable.workspace).workspace.name, caller.person.id
        # Also of those done lately, so that a whole name of theirs isn't the beginning of another's.
        read = self._store.alerts.candidates
        known = [one for done in (False, True) for one in await read(workspace, user, done=done)]
        meant = fitting(asked, known, user)
        lead, _, last = asked.name.rpartition(" ")
        if asked.verb == ASSIGN and lead and not (meant or asked.person):
            # `assign ada ben`: a whole text that names no reply ends with the person.
            asked = replace(asked, name=lead, person=read_person(last))
            meant = fitting(asked, known, user)
        if len(meant) == 1:
            return await self._alert_actions.perform(asked.of(meant[0].id), caller)
        if meant:
            card, items = choice(asked, meant)
            return Answer(card, items=items)
        return Answer(not_found(asked, known) if asked.name else WHICH_ALERT)

    async def _look_at(self, asked: OnAlert, caller: Caller) -> Answer:
        alert = await self._store.alerts.find(asked.alert)
        lead = alert.event.lead if alert else None
        if alert is None or lead is None or (asked.verb == LEAD and not lead.name):
            return Answer(GONE)
        look = Lead(who=lead.email or lead.name)
        looking = invocation(look, workspace=alert.workspace if self._cards.several else None)
        if asked.verb == LEAD:
            return await self._command(looking, caller)
        if await caller.readable(looking) is None:
            return await caller.refuse(looking.arguments.verb, looking.line, looking.workspace)
        return Answer(details_card(self._cards.on_card(alert), caller.person.id))

    async def _command(self, asked: Invocation, caller: Caller) -> Answer:
        located = await caller.located(asked.arguments)
        if not isinstance(located, Card) and located != asked.arguments:
            # A private channel's name must not get into the audit, which other people read.
            asked = replace(asked, arguments=located, line=located.line)
        readable = await caller.readable(asked)
        if readable is None:
            return await caller.refuse(asked.arguments.verb, asked.line, asked.workspace)
        if isinstance(located, Card):
            return Answer(located)
        return await self._run(readable, caller)

    async def _run(self, asked: Invocation, caller: Caller) -> Answer:
        """Run what the person may; some lines the bot answers in its own way."""
        context = caller.context(asked.workspace)
        match asked.arguments:
            case Replies() as listed:
                return await list_replies(listed, context, self._cards)
            case Help(command=None):
                return Answer(first_card(context))
            case Doctor():
                return Answer(await self._self_test(context))
        try:
            done = await run(asked, context)
        except OutreachError as error:
            return Answer(failure(error, asked))
        if isinstance(done, Question):
            return await self._ask(done, caller, context)
        match asked.arguments:
            case Help(command="all") if caller.may(CLAIM):
                footer = f"{ACTS} {done.card.footer}"
                done = replace(done, card=replace(done.card, footer=footer))
            case Help(command=str(about)) if about in COMMANDS and context.allows(about):
                done = replace(done, card=with_form(done.card, about))
        return await self._changed(done, context)

    async def _changed(self, result: Result, context: CommandContext) -> Answer:
        """The answer with a result: everybody sees a change, signed with the person's name."""
        if not result.changed:
            return Answer(result.card)
        self._account_changed()  # cards show what was changed
        answer = Answer(result.card, settles=True, workspace=context.workspace.name)
        if result.undoes and await self._store.repaints.shows(result.undoes):
            # What was left as it is, the message of the change doesn't say.
            return replace(answer, edited=not result.card.text)
        by, setting = f"by @{context.actor.name}", result.setting
        return replace(answer, by=by, public=True, setting=setting, about=result.about, number=result.number)

    async def _ask(self, question: Question, caller: Caller, context: CommandContext) -> Answer:
        """A question that is bound to the person and expires."""
        acts = [write_value(choice.act) for choice in question.choices]
        nonce = await self._store.confirmations.ask(
            json.dumps({"line": question.line, "acts": acts}, ensure_ascii=False),
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
        return Answer(replace(card, buttons=(*buttons, no), footer=footer))

    async def _confirm(self, asked: Confirm, caller: Caller) -> Answer:
        """Carry out the answer to a question: the person's role is checked again, and it counts once."""
        kept = self._store.confirmations
        question = await kept.look(asked.nonce, caller.person.id)
        if question.verdict is not Verdict.OPEN:
            is_over = question.verdict in {Verdict.GIVEN, Verdict.LATE}
            return Answer(_NOT_CONFIRMED[question.verdict], settles=is_over)
        data = json.loads(question.data)
        action = read_value(data["acts"][asked.choice]) if "acts" in data else None
        if not isinstance(action, Invocation):  # it was asked by another version
            return Answer(_NOT_CONFIRMED[Verdict.UNKNOWN], settles=True)
        line, verb = data["line"], action.arguments.verb
        if not caller.may(verb):
            return await caller.refuse(verb, line, question.workspace)
        # Taken before it is carried out: of two taps at once, one carries it out.
        if not await kept.take(asked.nonce):
            return Answer(_NOT_CONFIRMED[Verdict.GIVEN], settles=True)
        done = await self._command(replace(action, workspace=question.workspace, line=line), caller)
        return replace(done, settles=True)


def failure(error: Exception, asked: Invocation | None = None) -> Card:
    if isinstance(error, UnknownWorkspace):
        return error_card(error)  # a mistake in the command: nothing failed
    reference = f"ref-{secrets.token_hex(4)}"
    log.warning("command failed", reference=reference, error=type(error).__name__, exc_info=error)
    return failed_card(error, asked, reference) if asked else error_card(error, reference)


def first_card(context: CommandContext) -> Card:
    """The card for `help` without a command: its third button opens the form of a pause."""
    card = first_help(context)
    *buttons, everything = card.buttons
    if context.allows("pause"):
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
    details = tuple(replace(fact, url="") for fact in card.details)
    footer = "A sample that only you see. Its buttons change nothing."
    return replace(card, buttons=buttons, details=details, footer=footer)


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
WHICH_ALERT = warning(
    "Which reply?",
    "Add the lead's name, as in `claim Ada`, or use this in the thread of a reply's card.",
    buttons=(Button("Show unclaimed", Replies()),),
)
_CANCELLED = Card("Nothing was changed")
_NOT_CONFIRMED = {
    Verdict.GIVEN: Card("This was confirmed already", text=("`audit` shows what was done.",)),
    Verdict.LATE: warning("This confirmation has expired", "Nothing was changed. Run the command again."),
    Verdict.NOT_YOURS: warning(
        "Only the person who ran this command can confirm it", "Run the command yourself."
    ),
    Verdict.UNKNOWN: warning("This confirmation no longer exists", "Run the command again."),
}
