"""Commands in the thread of an alert's card apply to that alert: `claim`, `pause for 2h`, `done`. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bot.blockkit.actions import ASSIGN, LOOKS
from bot.commands.alerts.named_replies import fitting, read_named, split_line
from shared.api.event_kinds import kind_of
from shared.commands.base import ALIASES
from shared.commands.help import Help
from shared.domain.card import Button, Card
from shared.domain.reply_states import AFTER
from shared.store.rows import AlertRow
from shared.text.tokenize import join

_WORDS: Mapping[str, str] = {
    "claim": "claim: it is yours",
    "assign": "assign @ann: to a person, who is mentioned here",
    "release": "release: anyone can claim it again",
    "takeover": "take over: from the person who claimed it",
    "done": "done: closes it",
    "dismiss": "not interested REASON: closes it and shows the reason",
    "snooze": "snooze 2h: or tomorrow, monday; unclaimed again then",
    "wake": "unsnooze: ends the snooze or the reminder",
    "remind": "remind me in 2h: mentions you here",
    "reopen": "reopen: it is open again",
}
"""What to type for each act of the table of states."""
_ALWAYS = ("view lead: the lead and the last reply", "pause for 2h: its sequence; resume ends that")
_OF_DOMAIN = ("pause for 2h: the sequences that send from it",)


def help_card(alert: AlertRow) -> Card:
    """`help` in the thread of a card: what can be done with it as it stands."""
    possible = (_WORDS[act] for act in AFTER[alert.state] if act in _WORDS)
    lines = _OF_DOMAIN if kind_of(alert.kind).acknowledged else (*possible, *_ALWAYS)
    return Card(
        title="In this thread",
        text=("\n".join(f"@outreach {line}" for line in lines),),
        buttons=(Button(label="All commands", action=Help()),),
    )


_WITHOUT_NAME = {ASSIGN, "dismiss"}
"""Acts after which a thread's line has a person or a reason, and no name of a lead."""
_OF_LEAD = LOOKS | {"remove"}
"""Verbs that mean the card's lead when nothing follows."""
_WITHOUT_TARGET = re.compile(r"(?:(?:for|until|reason)\b.*)?", re.IGNORECASE | re.DOTALL)


def needs_alert(line: str) -> bool:
    """Whether a line means the lead of an alert that it doesn't name."""
    verb, rest = split_line(line)
    return verb in _OF_LEAD and not rest


def _is_about(line: str, alert: AlertRow) -> bool:
    """Whether a line means the alert of its thread: it names no other reply."""
    named = read_named(line)
    if named is None:
        return needs_alert(line)
    return not named.name or named.verb in _WITHOUT_NAME or bool(fitting(named, [alert], ""))


def line_about(line: str, alert: AlertRow | None, *, several: bool) -> str:
    """The line with the alert, its lead or its sequence put in; as it is where it names its own."""
    verb, rest = split_line(line)
    if alert is None or alert.is_pruned:
        return line
    event = alert.event
    named = f" @{alert.workspace}" if several else ""
    if verb == "remove" and not rest and event.lead.email:
        return join("remove", event.lead.email) + named
    if _is_about(line, alert):
        return f"{verb} {alert.id} {rest}".strip()
    verb = ALIASES.get(verb, verb)
    if verb in {"pause", "resume"} and _WITHOUT_TARGET.fullmatch(rest):
        target = join(verb, event.sequence) if event.sequence else f"{verb} domain:{event.domain}"
        return f"{target} {rest}".strip() + named if event.sequence or event.domain else line
    return line
