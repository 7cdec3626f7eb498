"""Commands in the thread of an alert's card apply to that alert: `claim`, `pause for 2h`, `done`. Pure."""

from __future__ import annotations

import re

from bot.blockkit.actions import ALERT, CLAIMING, LOOKS
from bot.store.queue.alert_row import AlertRow
from shared.text.tokenize import join

_PHRASES = {"take over": "takeover", "not interested": "dismiss", "mark done": "done", "view lead": "lead"}
_OF_LEAD = LOOKS | {"remove"}
"""Verbs that mean the card's lead when nothing follows."""
_WITHOUT_TARGET = re.compile(r"(?:(?:for|until|reason)\b.*)?", re.IGNORECASE | re.DOTALL)


def needs_alert(line: str) -> bool:
    """Whether a line means an alert that it does not name."""
    verb, rest = _split(line)
    if verb in CLAIMING:
        return not rest.startswith(ALERT)
    return verb in _OF_LEAD and not rest


def line_about(line: str, alert: AlertRow | None, *, several: bool) -> str:
    """The line with the alert, its lead or its sequence put in; as it is where it names its own."""
    verb, rest = _split(line)
    if alert is None or alert.is_pruned:
        return line
    event = alert.event
    named = f" @{alert.workspace}" if several else ""
    if verb == "remove" and not rest and event.lead.email:
        return join("remove", event.lead.email) + named
    if needs_alert(line):
        return f"{verb} {alert.id} {rest}".strip()
    if verb in {"pause", "resume"} and _WITHOUT_TARGET.fullmatch(rest):
        target = join(verb, event.sequence) if event.sequence else f"{verb} domain:{event.domain}"
        return f"{target} {rest}".strip() + named if event.sequence or event.domain else line
    return line


def _split(line: str) -> tuple[str, str]:
    text = line.strip()
    for phrase, verb in _PHRASES.items():
        if re.match(rf"{phrase}\b", text, re.IGNORECASE):
            return verb, text[len(phrase) :].strip()
    verb, _, rest = text.partition(" ")
    return verb.lower(), rest.strip()
