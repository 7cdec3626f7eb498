"""The records of guardrails: rules, switches, incidents, and counts."""

from __future__ import annotations

from datetime import date

from shared.frozen import frozen

POLL, HEALTH, CLOSED = "poll", "health", "closed"
"""Scopes of samples beside sequence and inbox: the reading itself, the score of an inbox, a day whose counts are whole."""
ALL = ""
"""In place of a workspace and a rule: the switch of all guardrails."""
ALL_RULES = "all guardrails"
"""The setting that every workspace has in common: messages about it are one another's, whichever workspace they name."""
_EPOCH = date(1970, 1, 1).toordinal()


def number_of(day: date) -> int:
    """Days since 1970-01-01, by which samples name a day."""
    return day.toordinal() - _EPOCH


def day_of(number: int) -> date:
    return date.fromordinal(number + _EPOCH)


@frozen
class Happening:
    """A delivery, without its words."""

    at: float
    kind: str
    sequence: str = ""
    inbox: str = ""
    domain: str = ""


@frozen
class CountSample:
    """The counts of one service day up to a moment, for a sequence's name or an inbox's address.

    A count is None where the service left it out.
    """

    scope: str
    key: str
    day: int
    """Days since 1970-01-01."""
    at: float
    sends: int | None = 0
    replies: int | None = 0
    positive: int | None = 0
    health: float | None = None


@frozen
class StoredRule:
    """A rule that was added by a command."""

    name: str
    sentence: str
    added_by: str = ""
    """The Slack id of who added it; empty for a shell."""
    added_name: str = ""


@frozen
class Switch:
    """A rule that is off or snoozed; `ALL` for all of them. `until` None: until a person turns it on."""

    rule: str
    by: str
    at: float
    until: float | None = None


@frozen
class RuleFinding:
    """That a rule fired about one subject, and what it does."""

    workspace: str
    rule: str
    sentence: str
    action: str
    subject: str
    label: str
    note: str
    """The measurement in words."""
    domain: str = ""
    """The domain in trouble, in small letters: all that is found on one is told once. Empty where it is told by itself."""
    sequences: tuple[str, ...] = ()
    """The ids of the sequences that it pauses."""
    resumes_at: float | None = None


@frozen
class Incident(RuleFinding):
    """A finding that was acted on and told once, and is open until its condition is long over."""

    id: int
    began_at: float
    held_at: float
    ended_at: float | None = None
    state: str = "done"
    """decided, done or failed."""
    told: str = ""
    """The message that tells of it, alone or with others of its domain; empty: it has none, or that of its act."""
