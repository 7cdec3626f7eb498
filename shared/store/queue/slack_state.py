"""Slack's events that were already handled.

Slack's rate limits, shared by all bots on one database.

A limit is a fact: a GCRA schedule (`tat`), and a time until which Slack asked to wait or keeps failing. Slack counts
calls per method, and asks for patience with `Retry-After`
(https://docs.slack.dev/apis/web-api/rate-limits): the key is the method. What belongs to one channel has the channel
in its key.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from shared.store import facts
from shared.store.db.engine import Repository, Transaction, reads, writes
from shared.store.facts import LIMIT, REQUEST

KEPT = 3 * 86_400.0
"""Seconds that an event is known again; Slack sends one again for about an hour."""


class SlackEvents(Repository):
    """What Slack sent, over all processes that share the database."""

    @writes
    def take(self, tx: Transaction, event: str) -> bool:
        """Whether this is the first time that the event or request with this id comes."""
        return facts.add(tx, REQUEST, event, at=tx.now)

    @reads
    def is_new(self, tx: Transaction, event: str) -> bool:
        """Whether the event with this id is new."""
        return facts.find(tx, REQUEST, event) is None

    @writes
    def forget_old(self, tx: Transaction) -> None:
        facts.forget(tx, REQUEST, before=tx.now - KEPT)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How fast a method of Slack may be called, by all bots that share the database."""

    tat: float = 0.0
    """Theoretical arrival time of GCRA: when the next call would be on schedule."""
    closed_until: float = 0.0
    """Slack asked to wait, or keeps failing."""
    slow_until: float = 0.0
    """Until when a method is paced that was throttled."""
    failures: int = 0
    """In a row."""
    channel: str = ""
    """In which it was throttled last."""
    throttled_at: float = 0.0


_FIELDS = tuple(field.name for field in fields(Limit))


def read_limit(tx: Transaction, key: str, *, lock: bool = True) -> Limit | None:
    """The limit, locked unless it is only looked at; None: nothing is known against calling."""
    found = facts.find(tx, LIMIT, key, locked=lock)
    return Limit(**{name: found.value[name] for name in _FIELDS if name in found.value}) if found else None


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
    before = read_limit(tx, key) or Limit()
    facts.put(tx, LIMIT, key, asdict(replace(before, **values)))


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
    limit = read_limit(tx, key, lock=False)
    if limit and limit.failures:
        write_limit(tx, key, failures=0, closed_until=0.0)


def throttled_post(tx: Transaction, channel: str, seconds: float) -> None:
    """Slack refused a post for now: perhaps in this channel alone, perhaps in its whole workspace."""
    row = read_limit(tx, POST)
    recent = row if row and 0.0 <= tx.now - row.throttled_at < SAME_TIME else None
    values: dict[str, Any] = {"channel": channel, "throttled_at": tx.now}
    if seconds > CHANNEL_WAIT or (recent and recent.channel != channel):
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
