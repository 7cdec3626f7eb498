"""`claim NAME` from anywhere: the reply that a line means by its lead's name, company or address. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.alerts.wording import about
from bot.blockkit.actions import ALERT, ASSIGN, CLAIMING, OnAlert, read_person
from shared.commands import times
from shared.commands.replies import Replies
from shared.domain.card import Button, Card, Tone, Typed
from shared.domain.reply_states import states_for
from shared.store.rows import AlertRow
from shared.text.formats import clip
from shared.text.tokenize import parse_duration

PHRASES = {
    "take over": "takeover",
    "not interested": "dismiss",
    "mark done": "done",
    "view lead": "lead",
    "remind me": "remind",
    "unsnooze": "wake",
}
"""What people write in other words than the acts are called."""
VERBS = CLAIMING - {"mail", "handled"}
OWN_FIRST = frozenset({"done", "release", "remind", "dismiss", "snooze"})
"""Acts that mean the person's own claim before a colleague's or an unclaimed reply of the same name."""
NEARLY = 0.75
"""The share of its letters that a misspelled verb has at least in their places."""
SHOWN = 5
"""Replies that are offered where several fit."""
_LABELS = {
    "takeover": "Take over",
    "done": "Mark done",
    "dismiss": "Not interested",
    "remind": "Remind me",
    "wake": "Unsnooze",
}
_TO = re.compile(r"(?:^|\s)(?:to\s+)?(<@[UW][A-Z0-9]+>|@[^\s@<>]+)(?=\s|$)")
"""To whom, among the words of `assign ada to @ann`."""
_REASON = re.compile(r"\s*:\s*|(?:^|\s+)(?:reason|because)(?:\s+|$)", re.IGNORECASE)
_ABOUT = re.compile(r"^(?:of|about)\s+", re.IGNORECASE)
_BEFORE_TIME = frozenset({"in", "for", "until", "till", "til"})
_DAY_TIMES = frozenset({"morning", "afternoon"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedReply:
    """A line about a reply by its lead: `claim ada @acme`, `snooze ada 2h`."""

    verb: str
    name: str
    """Empty: the line names no reply."""
    detail: str = ""
    """When a snooze ends, or why a reply is closed."""
    workspace: str | None = None
    person: str = ""
    """Of `assign`: the id of a user, or `@name` as it was typed."""


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
    if verb == ASSIGN and (to := _TO.search(rest)):
        person, rest = read_person(to[1]), f"{rest[: to.start()]} {rest[to.end() :]}".strip()
    if verb == "dismiss" and (found := _REASON.search(rest)):
        rest, detail = rest[: found.start()], rest[found.end() :]
    if verb in {"snooze", "remind"}:
        rest, detail = _split_time(_ABOUT.sub("", rest))
    name, _, workspace = rest.rpartition(" @") if " @" in rest else (rest, "", "")
    name = name.strip("“”\"' ")
    return NamedReply(verb=verb, name=name, detail=detail, workspace=workspace or None, person=person)


def _split_time(text: str) -> tuple[str, str]:
    """`hassan until monday 9am` as the name and the time; the longest end that tells a time is one."""
    words = text.split()
    for place in range(len(words)):
        time = words[place + 1 :] if words[place].lower() in _BEFORE_TIME else words[place:]
        if time and _is_time(time):
            return " ".join(words[:place]), " ".join(time)
    return text, ""


def _is_time(words: Sequence[str]) -> bool:
    text = " ".join(words)
    found = times.read_moment(words)
    return text in _DAY_TIMES or parse_duration(text) is not None or bool(found and found[1] == len(words))


def nearest(line: str) -> str:
    """The line with the verb of a reply that its first word nearly is: `cliam ada` is `claim ada`; else empty."""
    word, _, rest = line.strip().partition(" ")
    near = difflib.get_close_matches(word.lower()[:40], sorted(VERBS), n=1, cutoff=NEARLY) if rest else []
    return f"{near[0]} {rest.strip()}" if near else ""


def near_miss(card: Card, meant: str) -> Card:
    """The refusal of an unknown command, with a button that runs this line."""
    button = Button(label=clip(f"{meant[0].upper()}{meant[1:]}", length=70), action=Typed(meant))
    return replace(card, text=(f"Did you mean “{meant}”?",), buttons=(button,))


def fitting(asked: NamedReply, replies: Sequence[AlertRow], person: str) -> Sequence[AlertRow]:
    """The replies that a line may mean: those whose state allows the act, and the person's own before others.

    Where the state of none allows it, all that have the name: the answer says how they stand.
    """
    named = (
        _named(replies, asked.name) if asked.name else [one for one in replies if one.claimed_by == person]
    )
    states = states_for(asked.verb) | (states_for("remind" if asked.verb == "snooze" else asked.verb))
    possible = [one for one in named if one.state in states]
    own = [one for one in possible if one.claimed_by == person]
    if asked.verb == "takeover":
        return [one for one in possible if one not in own] or own
    return (own if asked.verb in OWN_FIRST else []) or possible or (named if asked.name else [])


def _named(replies: Sequence[AlertRow], name: str) -> Sequence[AlertRow]:
    """Those of this very lead, else those whose name, company or address begins so, or has a word that does."""
    wanted = name.casefold()
    exact = [one for one in replies if wanted in {text.casefold() for text in _names(one)}]
    return exact or [one for one in replies if any(_begins(text.casefold(), wanted) for text in _names(one))]


def _names(reply: AlertRow) -> Sequence[str]:
    lead = reply.event.lead
    return [text for text in (lead.name, lead.company, reply.email, about(reply.event)) if text]


def _begins(text: str, wanted: str) -> bool:
    return text.startswith(wanted) or f" {wanted}" in f" {text}"


def choice(asked: NamedReply, found: Sequence[AlertRow]) -> tuple[Card, tuple[Card, ...]]:
    """Which of several replies; each with its button."""
    more = f" The first {SHOWN} are shown." if len(found) > SHOWN else ""
    label = _LABELS.get(asked.verb, asked.verb.capitalize())
    items = tuple(
        Card(
            title=about(one.event),
            quote=clip(one.event.reply or "", length=120),
            buttons=(Button(label=label, action=act_on(asked, one)),),
        )
        for one in found[:SHOWN]
    )
    title = (
        f"{len(found)} replies match “{clip(asked.name)}”" if asked.name else f"You have {len(found)} replies"
    )
    return Card(title=title, tone=Tone.WARN, text=(f"Which one?{more}",)), items


def act_on(asked: NamedReply, reply: AlertRow) -> OnAlert:
    """The act on this very reply."""
    return OnAlert(verb=asked.verb, alert=reply.id, detail=asked.detail, person=asked.person)


def not_found(asked: NamedReply, known: Sequence[AlertRow]) -> Card:
    """No reply fits; the nearest is named."""
    names = {text.casefold(): about(one.event) for one in known for text in _names(one)}
    near = difflib.get_close_matches(asked.name.casefold()[:60], names, n=1, cutoff=0.5)
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
