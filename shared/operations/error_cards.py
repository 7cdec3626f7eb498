"""Any failure as a card: what happened, why, what next, and a reference. The one place for it."""

from __future__ import annotations

from shared.api.errors import (
    InvalidRequest,
    NotFound,
    OutreachError,
    RateLimited,
    ServiceBroken,
    Unauthorized,
    Uncertain,
    Unreachable,
    Unreadable,
)
from shared.commands import UsageError
from shared.domain.card import Card, Fact, Tone
from shared.domain.records import RecordsUnavailable
from shared.settings import SettingsError, UnknownWorkspace

MESSAGES: dict[type[Exception], tuple[str, str]] = {
    Unauthorized: ("The service refuses the API key", "`outreach doctor` checks it."),
    NotFound: ("The service does not know this", "It may be gone, or belong to another workspace."),
    InvalidRequest: ("The service refuses what was asked", "Mend the value that it names."),
    RateLimited: ("Too many requests just now", "Nothing was changed."),
    Unreachable: ("The service cannot be reached", "Try again in a moment."),
    ServiceBroken: (
        "The service has trouble of its own",
        "Nothing was changed. Try again in a moment.",
    ),
    Uncertain: (
        "Nobody knows whether this was carried out",
        "Look before you repeat it: `sequences`, `leads`.",
    ),
    Unreadable: (
        "The service answered in a shape that is new to us",
        "`outreach doctor --shapes` shows what it sends.",
    ),
    OutreachError: ("The service could not do this", "Try again in a moment."),
    RecordsUnavailable: (
        "The bot's records are not available",
        "Start the bot, or look at OUTREACH_DATABASE_URL.",
    ),
    UnknownWorkspace: ("There is no such workspace", "Leave out @NAME for the default one."),
    SettingsError: ("Some settings are missing or wrong", "`outreach doctor` checks them all."),
}
"""Title and cure; a class comes before those it is derived from."""


def error_card(error: Exception, reference: str = "") -> Card:
    """What went wrong, for a person; `reference` leads to the log's lines about it."""
    if isinstance(error, UsageError):
        return error.card
    for kind, (title, cure) in MESSAGES.items():
        if isinstance(error, kind):
            return _card(title, (_why(error), _next(error, cure)), error=error, reference=reference)
    text = ("This is a fault of the program, not yours.", "Try again; if it stays, tell whoever runs it.")
    return _card("That went wrong here", text, error=error, reference=reference)


def _why(error: Exception) -> str:
    if isinstance(error, OutreachError):
        return error.message
    return str(error) or (type(error).__doc__ or "").partition("\n")[0]


def _next(error: Exception, cure: str) -> str:
    if isinstance(error, RateLimited):
        return f"{cure} Try again in {max(error.retry_after, 1):.0f} s."
    hint = error.hint if isinstance(error, OutreachError) else ""
    return f"{hint} {cure}".strip() if not isinstance(error, Unreadable) or not hint else hint


def _card(title: str, text: tuple[str, ...], *, error: Exception, reference: str) -> Card:
    field = error.field if isinstance(error, InvalidRequest) else None
    return Card(
        title=title,
        tone=Tone.BAD,
        text=tuple(line for line in text if line),
        facts=(Fact(label="Field", value=field),) if field else (),
        footer=" · ".join(filter(None, (*_where(error), reference and f"Reference {reference}"))),
    )


def _where(error: Exception) -> tuple[str, ...]:
    """What was asked of the service, and what it said."""
    if not isinstance(error, OutreachError):
        return ()
    answer = " ".join(str(part) for part in (error.status, error.code) if part)
    return (error.endpoint or "", answer)
