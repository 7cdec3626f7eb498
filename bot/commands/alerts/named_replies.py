"""`claim NAME` from anywhere: the reply that a line means by its lead's name, company or address. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.blockkit.actions import ALERT, ASSIGN, OnAlert, read_person
from shared.commands.base import clip
from shared.commands.replies import Replies
from shared.domain.card import Button, Card, Tone, Typed
from shared.records.replies import OpenReply

PHRASES = {
    "take over": "takeover",
    "not interested": "dismiss",
    "mark done": "done",
    "view lead": "lead",
    "remind me": "remind",
}
"""What people write in several words."""
_OF_UNCLAIMED, _OF_OWN = {"claim", ASSIGN}, {"done", "release"}
NEARLY = 0.75
"""The share of its letters that a misspelled verb has at least in their places."""
SHOWN = 5
"""Replies that are offered where several fit."""
_LABELS = {"claim": "Claim", ASSIGN: "Assign", "done": "Mark done", "release": "Release"}
_TO = re.compile(r"(?:^|\s)(?:to\s+)?(<@[UW][A-Z0-9]+>|@[^\s@<>]+)(?=\s|$)")
"""To whom, among the words of `assign ada to @ann`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedReply:
    """A line about a reply by its lead: `claim ada @acme`."""

    verb: str
    name: str
    workspace: str | None = None
    person: str = ""
    """Of `assign`: the id of a user, or `@name` as it was typed."""

    @property
    def is_own(self) -> bool:
        """Whether it is about a reply that the person has claimed."""
        return self.verb in _OF_OWN


def split_line(line: str) -> tuple[str, str]:
    """The verb of a line about an alert, and the rest."""
    text = line.strip()
    for phrase, verb in PHRASES.items():
        if re.match(rf"{phrase}\b", text, re.IGNORECASE):
            return verb, text[len(phrase) :].strip()
    verb, _, rest = text.partition(" ")
    return verb.lower(), rest.strip()


def read_named(line: str) -> NamedReply | None:
    """The line, if it means a reply by a name and not by its id."""
    verb, rest = split_line(line)
    if verb not in _OF_UNCLAIMED | _OF_OWN or not rest or rest.startswith(ALERT):
        return None
    person = ""
    if verb == ASSIGN and (to := _TO.search(rest)):
        person, rest = read_person(to[1]), f"{rest[: to.start()]} {rest[to.end() :]}".strip()
        if not rest:
            return None
    name, _, workspace = rest.rpartition(" @") if " @" in rest else (rest, "", "")
    return NamedReply(verb=verb, name=name.strip("“”\"' "), workspace=workspace or None, person=person)


def nearest(line: str) -> str:
    """The line with the verb of a reply that its first word nearly is: `cliam ada` is `claim ada`; else empty."""
    word, _, rest = line.strip().partition(" ")
    verbs = sorted(_OF_UNCLAIMED | _OF_OWN)
    near = difflib.get_close_matches(word.lower()[:40], verbs, n=1, cutoff=NEARLY) if rest else []
    meant = f"{near[0]} {rest.strip()}" if near else ""
    return meant if meant and read_named(meant) else ""


def near_miss(card: Card, meant: str) -> Card:
    """The refusal of an unknown command, with a button that runs this line."""
    button = Button(label=clip(f"{meant[0].upper()}{meant[1:]}", length=70), action=Typed(meant))
    return replace(card, text=(f"Did you mean “{meant}”?",), buttons=(button,))


def fitting(replies: Sequence[OpenReply], name: str) -> Sequence[OpenReply]:
    """Those of this very lead, else those whose name, company or address begins so, or has a word that does."""
    wanted = name.casefold()
    exact = [one for one in replies if wanted in {text.casefold() for text in _names(one)}]
    return exact or [one for one in replies if any(_begins(text.casefold(), wanted) for text in _names(one))]


def _names(reply: OpenReply) -> tuple[str, ...]:
    return tuple(filter(None, (reply.lead, reply.email, reply.company, who(reply))))


def _begins(text: str, wanted: str) -> bool:
    return text.startswith(wanted) or f" {wanted}" in f" {text}"


def who(reply: OpenReply) -> str:
    return " at ".join(filter(None, (reply.lead or reply.email, reply.company)))


def choice(asked: NamedReply, found: Sequence[OpenReply]) -> tuple[Card, tuple[Card, ...]]:
    """Which of several replies; each with its button."""
    more = f" The first {SHOWN} are shown." if len(found) > SHOWN else ""
    items = tuple(
        Card(
            title=clip(who(one)),
            quote=clip(one.reply, length=120),
            buttons=(Button(label=_LABELS[asked.verb], action=_on(asked, one)),),
        )
        for one in found[:SHOWN]
    )
    title = f"{len(found)} replies match “{clip(asked.name)}”"
    return Card(title=title, tone=Tone.WARN, text=(f"Which one?{more}",)), items


def _on(asked: NamedReply, reply: OpenReply) -> OnAlert:
    return OnAlert(verb=asked.verb, alert=reply.alert_id, person=asked.person)


def not_found(asked: NamedReply, known: Sequence[OpenReply]) -> Card:
    """No reply fits; the nearest is named."""
    names = {text.casefold(): who(one) for one in known for text in _names(one)}
    near = difflib.get_close_matches(asked.name.casefold()[:60], names, n=1, cutoff=0.5)
    kind = "reply of yours" if asked.is_own else "unclaimed reply"
    hint = f"Did you mean {clip(names[near[0]])}?" if near else "Use the lead's name, company or address."
    return Card(
        title=f"No {kind} matches “{clip(asked.name)}”",
        tone=Tone.WARN,
        text=(hint,),
        buttons=(
            Button(
                label="Show mine" if asked.is_own else "Show unclaimed", action=Replies(mine=asked.is_own)
            ),
        ),
    )
