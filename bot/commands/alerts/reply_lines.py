"""Lines that people type about replies: with the lead's name from anywhere, without it in the thread of a card. Pure."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from bot.alerts.cards import LABELS, about, crm_button
from bot.blockkit.actions import ALERT, ASSIGN, CLAIMING, LOOKS, OnAlert, read_person
from bot.commands.alerts.alert_actions import BEFORE_TIME
from bot.commands.context import Answer
from bot.slack.directory import UserDirectory
from shared.api.event_kinds import kind_of
from shared.commands import Invocation, times
from shared.commands.base import ALIASES, nearest_of
from shared.commands.help import Help
from shared.commands.replies import PAGE, Replies, find_replies, late_tone
from shared.commands.run import CommandContext
from shared.domain.alert import Alert
from shared.domain.card import Button, Card, Fact, Tone, Typed
from shared.domain.reply_states import AFTER, HOW, states_for
from shared.frozen import frozen
from shared.records.replies import OpenReply
from shared.store import Store
from shared.text.formats import clip, show_span
from shared.text.links import lead_link
from shared.text.tokenize import join, parse_duration

PHRASES = {how.words: verb for verb, how in HOW.items() if how.words != verb} | {
    "mark done": "done",
    "view lead": "lead",
}
"""People write these words for acts that have other names."""
VERBS = CLAIMING - {"mail"}
OWN_FIRST = frozenset({"done", "release", "remind", "dismiss", "snooze"})
"""Acts that mean the person's own claim before a colleague's or an unclaimed reply of the same name."""
NEARLY = 0.75
"""The share of its letters that a misspelled verb has at least in their places."""
MOST_OFFERED = 5
"""Replies that are offered where several fit."""
_TO = re.compile(r"(?:^|\s)(?:to\s+)?(<@[UW][A-Z0-9]+>|@[^\s@<>]+)(?=\s|$)")
"""Finds the person in `assign ada to @ann`."""
_TO_WORD = re.compile(r"(?:^|\s)to\s+(\S+)\s*$", re.IGNORECASE)
"""Finds the person in `assign ada to ann`, whom nothing marks as one."""
_REASON = re.compile(r"\s*:\s*|(?:^|\s+)(?:reason|because)(?:\s+|$)", re.IGNORECASE)
_ABOUT = re.compile(r"^(?:of|about)\s+", re.IGNORECASE)
_WITHOUT_NAME = {ASSIGN, "dismiss"}
"""Acts after which a thread's line has a person or a reason, and no name of a lead."""
_OF_LEAD = LOOKS | {"remove"}
"""Verbs that mean the card's lead when nothing follows."""
_WITHOUT_TARGET = re.compile(r"(?:(?:for|until|reason)\b.*)?", re.IGNORECASE | re.DOTALL)
ACTS = f"For a reply, with its lead's name: {', '.join(how.words for how in HOW.values())}."
_ALWAYS = ("view lead: the lead and the last reply", "pause for 2h: its sequence; resume ends that")
_OF_DOMAIN = ("pause for 2h: the sequences that send from it",)


@frozen
class NamedReply:
    """A line about a reply by its lead: `claim ada @acme`, `snooze ada 2h`."""

    verb: str
    name: str
    """Empty: the line names no reply."""
    detail: str = ""
    """The end of a snooze, or the reason why a reply is closed."""
    workspace: str | None = None
    person: str = ""
    """The person of `assign`: the id of a user, or `@name` as it was typed."""

    def act_on(self, reply: Alert) -> OnAlert:
        return OnAlert(verb=self.verb, alert=reply.id, detail=self.detail, person=self.person)


def split_line(line: str) -> tuple[str, str]:
    """The verb of a line about an alert, and the rest."""
    text = line.strip()
    for phrase, verb in PHRASES.items():
        if re.match(rf"{phrase}\b", text, re.IGNORECASE):
            return verb, text[len(phrase) :].strip()
    verb, _, rest = text.partition(" ")
    return verb.lower(), rest.strip()


def read_named(line: str) -> NamedReply | None:
    """The line, if it is an act on a reply that it doesn't name by its id."""
    verb, rest = split_line(line)
    if verb not in VERBS or rest.startswith(ALERT):
        return None
    person = detail = ""
    if verb == ASSIGN and (to := _TO.search(rest) or _TO_WORD.search(rest)):
        person, rest = read_person(to[1]), f"{rest[: to.start()]} {rest[to.end() :]}".strip()
    if verb == "dismiss" and (reason := _REASON.search(rest)):
        rest, detail = rest[: reason.start()], rest[reason.end() :]
    if verb in {"snooze", "remind"}:
        rest, detail = _split_time(_ABOUT.sub("", rest))
    name, _, workspace = rest.rpartition(" @") if " @" in rest else (rest, "", "")
    name = name.strip("“”\"' ")
    return NamedReply(verb=verb, name=name, detail=detail, workspace=workspace or None, person=person)


def _split_time(text: str) -> tuple[str, str]:
    """`hassan until monday 9am` as the name and the time; the longest end that tells a time is one."""
    words = text.split()
    for place in range(len(words)):
        time = words[place + 1 :] if words[place].lower() in BEFORE_TIME else words[place:]
        moment, end = times.read_moment(time), " ".join(time)
        is_moment = moment is not None and moment[1] == len(time)
        if time and (is_moment or parse_duration(end) is not None):
            return " ".join(words[:place]), end
    return text, ""


def nearest(line: str) -> str:
    """The line with the verb of a reply that its first word nearly is: `cliam ada` is `claim ada`; else empty."""
    word, _, rest = line.strip().partition(" ")
    near = nearest_of(word, sorted(VERBS), cutoff=NEARLY) if rest else []
    return f"{near[0]} {rest.strip()}" if near else ""


def near_miss(card: Card, meant: str) -> Card:
    """The refusal of an unknown command, with a button that runs this line."""
    button = Button(label=clip(f"{meant[0].upper()}{meant[1:]}", length=70), action=Typed(meant))
    return replace(card, text=(f"Did you mean “{meant}”?",), buttons=(button,))


def fitting(asked: NamedReply, replies: Sequence[Alert], person: str) -> Sequence[Alert]:
    """The replies that a line may mean: those whose state allows the act, and the person's own before others.

    Where the state of none allows it, all that have the name: the answer says how they stand.
    """
    named = [reply for reply in replies if reply.claimed_by == person]
    if asked.name:
        named = _of_name(replies, asked.name.casefold())
    states = states_for(asked.verb) | states_for("remind" if asked.verb == "snooze" else asked.verb)
    possible = [reply for reply in named if reply.state in states]
    own = [reply for reply in possible if reply.claimed_by == person]
    if asked.verb == "takeover":  # what one has already is meant only where no colleague has one of this name
        possible, own = [reply for reply in possible if reply not in own] or own, []
    return (own if asked.verb in OWN_FIRST else []) or possible or (named if asked.name else [])


def _of_name(replies: Sequence[Alert], wanted: str) -> list[Alert]:
    """Those of this very lead, else those whose name, company or address begins so, or has a word that does."""
    names = [(reply, [name.casefold() for name in _names(reply)]) for reply in replies]
    exact = [reply for reply, of_reply in names if wanted in of_reply]
    return exact or [
        reply for reply, of_reply in names if any(f" {wanted}" in f" {name}" for name in of_reply)
    ]


def _names(reply: Alert) -> Sequence[str]:
    lead = reply.event.lead
    return [text for text in (lead.name, lead.company, reply.email, about(reply.event)) if text]


def choice(asked: NamedReply, replies: Sequence[Alert]) -> tuple[Card, tuple[Card, ...]]:
    """Which of several replies; each with its button."""
    more = f" The first {MOST_OFFERED} are shown." if len(replies) > MOST_OFFERED else ""
    items = tuple(
        Card(
            title=about(reply.event),
            quote=clip(reply.event.reply or "", length=120),
            buttons=(Button(label=LABELS[asked.verb], action=asked.act_on(reply)),),
        )
        for reply in replies[:MOST_OFFERED]
    )
    title = f"You have {len(replies)} replies"
    if asked.name:
        title = f"{len(replies)} replies match “{clip(asked.name)}”"
    return Card(title=title, tone=Tone.WARN, text=(f"Which one?{more}",)), items


def not_found(asked: NamedReply, replies: Sequence[Alert]) -> Card:
    """No reply fits; the nearest is named."""
    names = {name.casefold(): about(reply.event) for reply in replies for name in _names(reply)}
    near = nearest_of(asked.name, names)
    hint = f"Did you mean {clip(names[near[0]])}?" if near else "Use the lead's name, company or address."
    return Card(
        title=f"No reply matches “{clip(asked.name)}”",
        tone=Tone.WARN,
        text=(hint,),
        buttons=(
            Button(label="Show unclaimed", action=Replies()),
            Button(label="Show mine", action=Replies(mine=True)),
        ),
    )


def help_card(alert: Alert) -> Card:
    """`help` in the thread of a card: what can be done with it as it stands."""
    possible = (HOW[act].line for act in AFTER[alert.state] if act in HOW)
    lines = _OF_DOMAIN if kind_of(alert.kind).acknowledged else (*possible, *_ALWAYS)
    return Card(
        title="In this thread",
        text=("\n".join(f"@outreach {line}" for line in lines),),
        buttons=(Button(label="All commands", action=Help()),),
    )


def needs_alert(line: str) -> bool:
    """True if a line means the lead of an alert that it doesn't name."""
    verb, rest = split_line(line)
    return verb in _OF_LEAD and not rest


def line_about(line: str, alert: Alert, *, several: bool) -> str:
    """The line with the alert of its thread, its lead or its sequence put in; as it is where it names its own."""
    verb, rest = split_line(line)
    if alert.is_pruned:
        return line
    event, workspace = alert.event, f" @{alert.workspace}" if several else ""
    if verb == "remove" and not rest and event.lead.email:
        return join("remove", event.lead.email) + workspace
    # Whoever names another lead in a thread means that lead.
    named = read_named(line)
    is_about = needs_alert(line)
    if named:
        is_about = not named.name or verb in _WITHOUT_NAME or bool(fitting(named, [alert], ""))
    if is_about:
        return f"{verb} {alert.id} {rest}".strip()
    verb = ALIASES.get(verb, verb)
    if verb in {"pause", "resume"} and _WITHOUT_TARGET.fullmatch(rest) and (event.sequence or event.domain):
        target = join(verb, event.sequence) if event.sequence else f"{verb} domain:{event.domain}"
        return f"{target} {rest}".strip() + workspace
    return line


# DOC """`replies` in Slack, and the replies on Home: each with its buttons and a link to its card."""
#

Links = Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]
"""Returns the addresses of alerts' cards."""
_CLAIM = (("claim", "Claim", Tone.GOOD),)
_OWN = (("done", "Mark done", Tone.GOOD), ("release", "Release", Tone.INFO))


@frozen
class ReplyItems:
    """Draws replies as items of a list."""

    now: datetime
    links: Mapping[str, str]
    """The addresses of the cards, by alert."""
    lead_page: str = ""
    """The template of a lead's page in the CRM."""
    may_change: bool = True

    def item(
        self, reply: OpenReply, *, mine: bool = False, workspace: str = "", then: Invocation | None = None
    ) -> Card:
        """A reply that is unclaimed, or the reader's; `then` is shown after a click on its button."""
        age, alert = self.now - reply.received_at, reply.alert_id
        buttons = [
            Button(label=label, action=OnAlert(verb=verb, alert=alert, then=then), tone=tone)
            for verb, label, tone in (_OWN if mine else _CLAIM)
            if self.may_change
        ]
        if link := self.links.get(alert):
            buttons.append(Button(label="Open card", url=link))
        if page := lead_link(self.lead_page, reply.email):
            buttons.append(crm_button(page))
        span = f"received {show_span(age)} ago" if mine else f"waiting {show_span(age)}"
        facts = (("In", workspace), ("Age", span), ("Sequence", reply.sequence))
        return Card(
            title=" at ".join(filter(None, (reply.lead or reply.email, reply.company))),
            tone=Tone.INFO if mine else late_tone(reply, self.now),
            facts=tuple(Fact(label=label, value=value) for label, value in facts if value),
            quote=reply.reply,
            buttons=tuple(buttons),
        )


async def card_links(store: Store, directory: UserDirectory, alerts: Sequence[str]) -> Mapping[str, str]:
    """The addresses of the messages of alerts."""
    places = await store.alerts.messages(alerts)
    links = await asyncio.gather(*(directory.permalink(*place) for place in places.values()))
    return dict(zip(places, links, strict=True))


async def list_replies(asked: Replies, context: CommandContext, links: Links) -> Answer:
    """A page of the unclaimed replies, or the person's own; after a click on one, the page is shown anew."""
    if not (asked.mine or asked.page):
        asked = replace(asked, page=1)
    card, replies, count = await find_replies(asked, context)
    several, pages = len(context.settings.workspaces) > 1 if context.settings else False, -(-count // PAGE)
    own, then = context.workspace.name if several else "", None
    if asked.mine and count > PAGE:
        card = replace(card, text=(f"The first {PAGE} are shown.",))
    elif not asked.mine:
        page = min(asked.page or 1, pages)
        then = Invocation(arguments=Replies(page=page), workspace=own or None)
        offered = {"Previous": page - 1, "Next": page + 1}
        turns = (
            Button(label=label, action=Replies(page=other), workspace=own)
            for label, other in offered.items()
            if 0 < other <= pages
        )
        card = replace(card, buttons=tuple(turns))
    drawn = ReplyItems(
        now=context.now(),
        links=await links([reply.alert_id for reply in replies[:PAGE]]),
        lead_page=context.settings.links.lead if context.settings else "",
    )
    items = tuple(drawn.item(reply, mine=asked.mine, then=then) for reply in replies[:PAGE])
    # A page that a person turned to takes the place of the one before.
    return Answer(card=card, items=items, settles=(asked.page or 1) > 1)
