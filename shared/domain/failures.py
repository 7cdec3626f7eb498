"""The reasons why the service couldn't be read, in the same words everywhere. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shared.api.errors import (
    NoResponse,
    OutreachError,
    RateLimited,
    Refused,
    ServiceBroken,
    Unauthorized,
    Unreadable,
)
from shared.text.formats import show_some

UNREACHABLE = "The outreach service can't be reached"
SLOW = "The outreach service is slow to respond"
REJECTED = "The service rejects the API key (401)"
RATE_LIMITED = "The service has rate limited this key (429)"
UNREADABLE = "The service sent an unreadable response"

SHOWN = 3
"""Sources that are named."""


def cause_of(error: OutreachError) -> str:
    """The failure in a few words: `The service rejects the API key (401)`. Only no connection is unreachable."""
    if isinstance(error, Unauthorized):
        return REJECTED
    if isinstance(error, RateLimited):
        return RATE_LIMITED
    # A success that can't be read isn't an outage, though it is as useless.
    if isinstance(error, Unreadable) or (isinstance(error, ServiceBroken) and (error.status or 200) < 300):
        return UNREADABLE
    if isinstance(error, ServiceBroken):
        return f"The service returned an error ({error.status})"
    if isinstance(error, Refused):
        return f"The service rejects the request ({error.status})"
    return SLOW if isinstance(error, NoResponse) else UNREACHABLE


def which_failed(cause: str, sources: Sequence[str]) -> str:
    """The cause where other things were read: `No response for inboxes, today`."""
    shown = show_some(sources, SHOWN)
    return f"No response for {shown}" if cause == UNREACHABLE else f"{cause} for {shown}"


def cause_of_attempts(attempts: Iterable[OutreachError], *, rate_limited: bool) -> str:
    """The reason why no answer came in time: the last attempt's failure; else a 429, or slowness."""
    last = list(attempts)[-1:]
    if last:
        return cause_of(last[0])
    return RATE_LIMITED if rate_limited else SLOW
