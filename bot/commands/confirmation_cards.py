"""Answers to a confirmation or an Undo that doesn't count, or counts only in part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, tzinfo

from bot.commands.answer import Answer
from bot.slack.permissions import Person
from bot.store.alerts.confirmations import Answered, Verdict
from shared.commands.arguments import clip
from shared.domain.card import Card, Tone
from shared.operations.replies import who_did
from shared.records.audit import AuditEntry
from shared.text.formats import show_number, show_time

CONFIRM_SECONDS = 600.0


def who_can_confirm(person: Person) -> str:
    return f"Only @{person.name} can confirm this, within {CONFIRM_SECONDS / 60:.0f} minutes."


def not_confirmed(answered: Answered, *, now: datetime, zone: tzinfo) -> Answer:
    return Answer(
        card=_unconfirmed_card(answered, now=now, zone=zone), settles=answered.verdict is Verdict.LATE
    )


def changed_since(count: int, changes: Iterable[AuditEntry], *, now: datetime, zone: tzinfo) -> str:
    """Who last changed an Undo's sequences since, when, and how; `count` of them are left as they are."""
    last = max(changes, key=lambda one: one.at)
    when = show_time(last.at, now=now, zone=zone)
    who = who_did(last.actor)
    left = f"{show_number(count, 'sequence')} changed later and left as is. " if count else ""
    return f"{left}Last change: {who} at {when}: {clip(last.result, length=200)}"


def _moved_on(moved: Mapping[str, AuditEntry], *, now: datetime, zone: tzinfo) -> Card:
    last = max(moved.values(), key=lambda one: one.at)
    return Card(
        title="Not undone: it was changed later",
        tone=Tone.WARN,
        text=(
            changed_since(0, moved.values(), now=now, zone=zone),
            f"Command: `{clip(last.command, length=200)}`",
        ),
    )


def _unconfirmed_card(answered: Answered, *, now: datetime, zone: tzinfo) -> Card:
    if answered.verdict is Verdict.MOVED:
        return _moved_on(answered.moved, now=now, zone=zone)
    text = {
        Verdict.LATE: (
            "This confirmation has expired",
            "Nothing was changed. Run the command again.",
        ),
        Verdict.GIVEN: ("This was already confirmed", "`audit` shows what was done."),
        Verdict.NOT_YOURS: (
            "Only the person who ran this command can confirm it",
            "Run the command yourself.",
        ),
    }.get(answered.verdict, ("This confirmation no longer exists", "Run the command again."))
    return Card(title=text[0], tone=Tone.WARN, text=(text[1],))
