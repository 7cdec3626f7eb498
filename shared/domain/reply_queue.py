"""The replies that wait for someone, and what a person does about them, for front ends that can't import the bot.

The bot implements it over its database, with the permissions, the audit and the cards of a click in Slack; `cli` passes it
to the dashboard. All times are aware datetimes in UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol

from shared.domain.card import Action, Card
from shared.frozen import frozen

MOST_QUEUED = 200
"""Unclaimed replies that are listed at most, and as many of those that someone has."""
Verb = Literal["claim", "takeover", "release", "assign", "snooze", "wake", "done", "dismiss", "reopen"]


@frozen
class QueuedReply:
    """An interested reply that isn't done: unclaimed, snoozed, or someone's."""

    alert_id: str
    received_at: datetime
    lead: str
    email: str
    company: str = ""
    sequence: str = ""
    text: str = ""
    """All that the lead wrote, without the quoted email; empty where it is deleted."""
    claimed_by: str = ""
    """The name of the person who has it."""
    claimed_at: datetime | None = None
    is_own: bool = False
    """It is the acting person's."""
    snoozed_until: datetime | None = None
    turn_of: str = ""
    """Whose turn it is, until someone claims it."""

    @property
    def is_unclaimed(self) -> bool:
        """True for one that waits for a claim."""
        return not self.claimed_by and self.snoozed_until is None


@frozen
class QueuedReplies:
    """The number of unclaimed replies, and a part of all: the unclaimed (oldest first), the snoozed, the claimed."""

    unclaimed: int = 0
    replies: Sequence[QueuedReply] = ()


@frozen
class Permission:
    """The person in whose name changes are made, or why none can be."""

    name: str = ""
    refusal: str = ""
    """The missing permission and its cure; empty where the person may change something."""
    bot_runs: bool = True
    """True if a bot updates the cards in Slack now."""


@frozen
class Change:
    """The answer to an act, and whether it changed the reply."""

    card: Card
    changed: bool = False


class ReplyQueue(Protocol):
    """The queue of one workspace. Raises `RecordsUnavailable` when the database does not answer."""

    async def permission(self) -> Permission:
        """The permission by Slack and the settings as they are now."""
        ...

    async def read(self) -> QueuedReplies: ...

    async def act(self, verb: Verb, alert: str, *, detail: str = "", person: str = "") -> Change:
        """`detail`: until when, or why; `person`: to whom, as `@ann`. What is left out is asked for by the card's buttons."""
        ...

    async def press(self, action: Action, *, detail: str = "", person: str = "") -> Change:
        """Do what a button of an answer does."""
        ...

    async def people(self) -> Sequence[str]:
        """The names of those to whom a reply may be assigned, as far as Slack tells."""
        ...
