"""The records of replies: their leads, their owners, and their waits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from shared.frozen import frozen


@frozen
class OpenReply:
    """An interested reply that is unclaimed, or claimed and not done."""

    alert_id: str
    received_at: datetime
    lead: str
    email: str
    company: str
    sequence: str
    reply: str = ""
    """The beginning of what the lead wrote."""
    permalink: str = ""


@frozen
class UnclaimedReplies:
    """The unclaimed interested replies of a workspace: how many there are, and a part of them, the oldest first."""

    count: int = 0
    oldest_at: datetime | None = None
    replies: Sequence[OpenReply] = ()


@frozen
class InterestedReply:
    """An interested reply that the bot has recorded, and who claimed it (empty: no one yet)."""

    email: str
    received_at: datetime
    sequence: str = ""
    claimed_by: str = ""


@frozen
class Waits:
    """The waits of the replies of one person, one sequence or all of them, in seconds."""

    name: str = ""
    count: int = 0
    median: float | None = None
    p90: float | None = None
    """The ninetieth percentile by nearest rank."""
    in_time: int = 0
    """The number of those that waited no longer than was asked for."""


Grouping = Literal["", "person", "sequence"]
"""The property by which waits are counted; empty counts them together."""
MOST_OPEN = 5_000
"""Unclaimed replies that are listed at most."""
