"""Slack's events that were already handled.

Slack's rate limits, shared by all bots on one database.

A limit is a row: a GCRA schedule (`tat`), and a time until which Slack asked to wait or keeps failing. Slack counts
calls per method, and asks for patience with `Retry-After`
(https://docs.slack.dev/apis/web-api/rate-limits): the key is the method. What belongs to one channel has the channel
in its key.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from shared.store.db.engine import Repository, Transaction, reads, writes
from shared.store.db.slack_schema import slack_events, slack_limits

KEPT = 3 * 86_400.0
"""Seconds that an event is known again; Slack sends one again for about an hour."""


class SlackEvents(Repository):
    """What Slack sent, over all processes that share the database."""

    @writes
    def take(self, tx: Transaction, event: str) -> bool:
        """Whether this is the first time that the event or request with this id comes."""
        new = tx.insert_once(slack_events).values(id=event, at=tx.now)
        return tx.scalar(new.returning(slack_events.c.id)) is not None

    @reads
    def is_new(self, tx: Transaction, event: str) -> bool:
        """Whether the event with this id is new."""
        return tx.scalar(sa.select(slack_events.c.id).where(slack_events.c.id == event)) is None

    @writes
    def forget_old(self, tx: Transaction) -> None:
        tx.execute(sa.delete(slack_events).where(slack_events.c.at < tx.now - KEPT))


UPDATE, POST = "chat.update", "chat.postMessage"
HISTORY, REPLIES = "conversations.history", "conversations.replies"
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 600.0
"""Seconds of the backoff after failures in a row, of one channel."""
SLOW_SECONDS = 600.0
"""How long posts stay paced after Slack throttled the whole workspace."""
SAME_TIME = 10.0
"""Two channels that are throttled within so many seconds are throttled together."""
CHANNEL_WAIT = 3.0
"""Seconds of `Retry-After` beyond which it is not the single second of a channel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """`period` seconds between calls in the long run, and how many may come at once."""

    period: float
    burst: int


UPDATES = Pace(period=60 / 45, burst=40)
"""Tier 3 promises 50 calls a minute, with sporadic bursts (https://docs.slack.dev/reference/methods/chat.update)."""
BACKGROUND = 20
"""The share of the burst for repaints that no person waits for."""
POSTS = Pace(period=0.2, burst=5)
"""Once throttled: "several hundred messages per minute" is all that Slack promises for a workspace
(https://docs.slack.dev/reference/methods/chat.postMessage#rate_limiting)."""


_OF_KEY = sa.select(slack_limits).where(slack_limits.c.key == sa.bindparam("key"))
_LOCKED_OF_KEY = _OF_KEY.with_for_update()
_FAILED = sa.update(slack_limits).where(
    slack_limits.c.key == sa.bindparam("failed"), slack_limits.c.failures > 0
)


def read_limit(tx: Transaction, key: str, *, lock: bool = True) -> Any:
    """The row, locked unless it is only looked at; None: nothing is known against calling."""
    return tx.execute(_LOCKED_OF_KEY if lock else _OF_KEY, {"key": key}).one_or_none()


def closed_for(row: Any, *, now: float) -> float:
    """Seconds for which nothing may be called; what is further ahead was written before the clock was set back."""
    left = float(row.closed_until) - now if row else 0.0
    return left if 0.0 < left <= 3600.0 else 0.0


def free(row: Any, pace: Pace, *, burst: int, now: float) -> int:
    return max(0, math.floor(burst - _ahead(row, now=now) / pace.period + 1e-6))


def wait_for_one(row: Any, pace: Pace, *, burst: int, now: float) -> float:
    return max(closed_for(row, now=now), _ahead(row, now=now) - (burst - 1) * pace.period, 0.0)


def _ahead(row: Any, *, now: float) -> float:
    """How far the schedule is ahead of the time."""
    ahead = float(row.tat) - now if row else 0.0
    return ahead if 0.0 < ahead <= 3600.0 else 0.0


def take(tx: Transaction, row: Any, key: str, pace: Pace, *, count: int) -> None:
    """Note so many calls."""
    if count:
        tat = tx.now + _ahead(row, now=tx.now) + count * pace.period
        write_limit(tx, key, tat=tat)


def write_limit(tx: Transaction, key: str, **values: Any) -> None:
    tx.execute(tx.upsert(slack_limits, *values), {"key": key, **values})


def close(tx: Transaction, key: str, seconds: float) -> None:
    """Slack asked to wait with a method, whatever the channel."""
    row = read_limit(tx, key)
    until = tx.now + max(seconds, closed_for(row, now=tx.now))
    write_limit(tx, key, closed_until=until)


def fail(tx: Transaction, key: str, *, first: float = FIRST_PAUSE, longest: float = LONGEST_PAUSE) -> float:
    """Pause after a failure, the longer the more there were in a row; returns the seconds."""
    row = read_limit(tx, key)
    failures = int(row.failures) if row else 0
    seconds = float(min(longest, first * 2.0 ** min(failures, 16)))
    write_limit(tx, key, failures=failures + 1, closed_until=tx.now + seconds)
    return seconds


def succeed(tx: Transaction, key: str) -> None:
    tx.execute(_FAILED, {"failed": key, "failures": 0, "closed_until": 0.0})


def throttled_post(tx: Transaction, channel: str, seconds: float) -> None:
    """Slack refused a post for now: perhaps in this channel alone, perhaps in its whole workspace."""
    row = read_limit(tx, POST)
    recent = row is not None and 0.0 <= tx.now - float(row.throttled_at) < SAME_TIME
    values: dict[str, Any] = {"channel": channel, "throttled_at": tx.now}
    if seconds > CHANNEL_WAIT or (recent and row.channel != channel):
        values |= {"closed_until": tx.now + seconds, "slow_until": tx.now + seconds + SLOW_SECONDS}
    write_limit(tx, POST, **values)


def throttled_read(tx: Transaction, method: str, seconds: float) -> None:
    """Slack refused to be read for now, in whatever channel of the workspace."""
    until = {"closed_until": tx.now + seconds, "slow_until": tx.now + seconds + SLOW_SECONDS}
    write_limit(tx, method, **until)


def is_slow(row: Any, *, now: float) -> bool:
    """Whether a method was throttled lately."""
    return bool(now < row.slow_until <= now + 3600.0 + SLOW_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class PacedPosts:
    """Posts that are paced: how many channels may post now, and the seconds until one may."""

    row: Any
    allowed: int
    wait: float


def paced_posts(tx: Transaction) -> PacedPosts | None:
    """The pace of posts, where Slack throttled them lately; None: any number may go."""
    row = read_limit(tx, POST)
    if row is None or not is_slow(row, now=tx.now):
        return None
    wait = wait_for_one(row, POSTS, burst=POSTS.burst, now=tx.now)
    allowed = 0 if wait else free(row, POSTS, burst=POSTS.burst, now=tx.now)
    return PacedPosts(row=row, allowed=allowed, wait=wait)
