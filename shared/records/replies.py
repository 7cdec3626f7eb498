"""The records of replies: their leads, their owners, and their waits."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from shared.frozen import frozen


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
