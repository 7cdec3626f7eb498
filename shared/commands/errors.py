"""Turns any error into a card: what happened, why, what to do next, and a reference."""

from __future__ import annotations

from dataclasses import replace

from shared.api.errors import (
    InvalidRequest,
    NoResponse,
    NotFound,
    OutreachError,
    RateLimited,
    ServiceBroken,
    Unauthorized,
    Unavailable,
    Uncertain,
    Unreachable,
    Unreadable,
)
from shared.api.pace import LONGEST_STOP_SECONDS
from shared.commands import Invocation, UsageError
from shared.commands.base import NOTHING_CHANGED, Act
from shared.domain.card import Button, Card, Fact, Tone
from shared.records import RecordsUnavailable
from shared.settings import SettingsError, UnknownWorkspace

MESSAGES: dict[type[Exception], tuple[str, str]] = {
    Unauthorized: ("The service rejects the API key", "Check it with `outreach doctor`."),
    NotFound: ("Not found", "It may have been deleted, or belong to another outreach workspace."),
    InvalidRequest: ("The service rejects this request", "Correct the value it names, then try again."),
    RateLimited: ("Too many requests", ""),
    NoResponse: ("The outreach service is slow to respond", "Try again in a moment."),
    Unreachable: ("The outreach service can't be reached", "Try again in a moment."),
    ServiceBroken: ("The outreach service returned an error", "Try again in a moment."),
    Uncertain: (
        "We couldn't confirm this change",
        "Check the current state before you try again: `sequences`, `leads`.",
    ),
    Unreadable: (
        "The service's response isn't in a known format",
        "Set [fields] to match the response.",
    ),
    OutreachError: ("The service couldn't do this", "Try again in a moment."),
    RecordsUnavailable: (
        "The bot's database isn't available",
        "Check OUTREACH_DATABASE_URL. `outreach doctor` shows the database's error.",
    ),
    UnknownWorkspace: ("Unknown outreach workspace", "Remove @NAME to use the default outreach workspace."),
    SettingsError: ("Some settings are missing or invalid", "Check them with `outreach doctor`."),
}
"""Title and next step; a class comes before those it is derived from."""


def failed_card(error: Exception, asked: Invocation, reference: str = "") -> Card:
    """The card for a command that failed: it names it, and offers to run it again where that may help."""
    card = error_card(error, reference, changes=asked.changes)
    # An act isn't offered again: its value may be longer than a button's, and is read for minutes only.
    if isinstance(asked.arguments, Act) or not isinstance(error, Unavailable | RateLimited):
        return card
    again = Button("Retry", asked.arguments, workspace=asked.workspace or "")
    command = Fact("Command", asked.line)
    return replace(card, facts=(command, *card.facts), buttons=(again, *card.buttons))


def error_card(error: Exception, reference: str = "", *, changes: bool = False) -> Card:
    """The card for an error; `reference` is in the log. `changes`: something was to be changed."""
    if isinstance(error, UsageError):
        return error.card
    title, fix = "Internal error", "Try again. If it happens again, tell the person who runs the bot."
    text, footer = ["This is a bug in the program."], [f"Reference {reference}" if reference else ""]
    known = next((kind for kind in MESSAGES if isinstance(error, kind)), None)
    if known:
        title, fix = MESSAGES[known]
        why = error.message if isinstance(error, OutreachError) else str(error)
        why = why or (type(error).__doc__ or "").partition("\n")[0]
        text = [why.removeprefix(f"{title}.").lstrip()]  # not the same twice
    if changes and isinstance(error, Unavailable | RateLimited):
        text.append(NOTHING_CHANGED)
    if isinstance(error, RateLimited):
        # However long the service asks for: after a minute the next request is tried.
        fix = f"Try again in {min(max(error.retry_after, 1), LONGEST_STOP_SECONDS):.0f} s."
    elif isinstance(error, OutreachError):
        hint = f"{error.cause} {error.own_hint}".strip()
        fix = hint if hint and isinstance(error, Unreadable) else f"{hint} {fix}".strip()
    if isinstance(error, OutreachError):  # what was asked of the service, and its answer
        answer = " ".join(str(part) for part in (error.status, error.code) if part)
        footer = [error.endpoint, answer, *footer]
    field = error.field if isinstance(error, InvalidRequest) else None
    mistyped = isinstance(error, UnknownWorkspace)  # a mistake in the command: nothing has failed
    return Card(
        title,
        tone=Tone.WARN if mistyped else Tone.BAD,
        failure=True,
        text=(*text, fix),
        facts=(Fact("Field", field),) if field else (),
        footer=" · ".join(filter(None, footer)),
    )
