"""Commands in the thread of an alert's card apply to that alert: `claim`, `pause for 2h`, `done`. Pure."""

from __future__ import annotations

import re

from bot.blockkit.actions import ALERT, CLAIMING, LOOKS
from bot.commands.alerts.named_replies import split_line
from shared.api.event_kinds import kind_of
from shared.commands.base import ALIASES
from shared.commands.help import Help
from shared.domain.card import Button, Card
from shared.store.queue.alert_row import AlertRow
from shared.text.tokenize import join

_LINES = (
    ("claim", "it is yours"),
    ("assign @ann", "to a person, who is mentioned here"),
    ("release", "anyone can claim it again"),
    ("take over", "from the person who claimed it"),
    ("done", "closes it; reopen undoes that"),
    ("not interested REASON", "closes it and shows the reason"),
    ("snooze 2h", "or tomorrow, monday: unclaimed again then"),
    ("remind me in 2h", "once you have claimed it"),
    ("view lead", "the lead and the last reply"),
    ("pause for 2h", "its sequence; resume ends that"),
)
_OF_DOMAIN = (("pause for 2h", "the sequences that send from it"),)


def help_card(alert: AlertRow) -> Card:
    """`help` in the thread of a card: what can be done with it."""
    lines = _OF_DOMAIN if kind_of(alert.kind).acknowledged else _LINES
    return Card(
        title="In this thread",
        text=("\n".join(f"@outreach {line}: {meaning}" for line, meaning in lines),),
        buttons=(Button(label="All commands", action=Help()),),
    )


_OF_LEAD = LOOKS | {"remove"}
"""Verbs that mean the card's lead when nothing follows."""
_WITHOUT_TARGET = re.compile(r"(?:(?:for|until|reason)\b.*)?", re.IGNORECASE | re.DOTALL)


def needs_alert(line: str) -> bool:
    """Whether a line means an alert that it does not name."""
    verb, rest = split_line(line)
    if verb in CLAIMING:
        return not rest.startswith(ALERT)
    return verb in _OF_LEAD and not rest


def line_about(line: str, alert: AlertRow | None, *, several: bool) -> str:
    """The line with the alert, its lead or its sequence put in; as it is where it names its own."""
    verb, rest = split_line(line)
    if alert is None or alert.is_pruned:
        return line
    event = alert.event
    named = f" @{alert.workspace}" if several else ""
    if verb == "remove" and not rest and event.lead.email:
        return join("remove", event.lead.email) + named
    if needs_alert(line):
        return f"{verb} {alert.id} {rest}".strip()
    verb = ALIASES.get(verb, verb)
    if verb in {"pause", "resume"} and _WITHOUT_TARGET.fullmatch(rest):
        target = join(verb, event.sequence) if event.sequence else f"{verb} domain:{event.domain}"
        return f"{target} {rest}".strip() + named if event.sequence or event.domain else line
    return line
