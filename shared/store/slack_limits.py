"""Slack's rate limits, shared by all bots on one database, and its events that were already handled.

A limit is a fact: a GCRA schedule (`tat`), and a time until which Slack asked to wait. Slack counts
calls per method, and asks for patience with `Retry-After`
(https://docs.slack.dev/apis/web-api/rate-limits): the key is the method. What belongs to one channel has the channel
in its key.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace

from shared.frozen import frozen
from shared.store import facts
from shared.store.db.engine import Repository, Transaction, writes
from shared.store.facts import LIMIT, REQUEST

KEPT_SECONDS = 3 * 86_400.0
"""The time for which an event is known again; Slack sends one again for about an hour."""
UPDATE = "chat.update"
HISTORY, REPLIES = "conversations.history", "conversations.replies"
FARTHEST_SECONDS = 3600.0
"""A time further ahead was written before the clock was set back: it counts as past."""
TIMES = ("tat", "closed_until")


@frozen
class Limit:
    """The limit of a method of Slack, for all bots that share the database; by default there is none."""

    tat: float = 0.0
    """Theoretical arrival time of GCRA: when the next call would be on schedule."""
    closed_until: float = 0.0
    """Slack asked to wait until then."""


def read(tx: Transaction, key: str) -> Limit:
    """The limit, locked until the end of the transaction."""
    fact = facts.find(tx, LIMIT, key, locked=True)
    kept, farthest = fact.value if fact else {}, tx.now + FARTHEST_SECONDS
    return Limit(**{name: kept[name] for name in TIMES if kept.get(name, math.inf) <= farthest})


@frozen
class Pace:
    """The pace of a method of Slack, over all bots: `period` seconds between calls in the long run."""

    method: str
    period: float
    burst: int
    """Calls at once for what a person waits for."""
    background: int
    """The share of the burst for all other calls."""

    def free(self, tx: Transaction) -> tuple[int, int]:
        """The numbers of calls that may begin now: for what a person waits for, and for the rest."""
        limit = read(tx, self.method)
        if limit.closed_until > tx.now:
            return 0, 0
        taken = max(0.0, limit.tat - tx.now) / self.period - 1e-6
        return max(0, math.floor(self.burst - taken)), max(0, math.floor(self.background - taken))

    def take(self, tx: Transaction, count: int) -> None:
        """Note so many calls."""
        limit = read(tx, self.method)
        tat = max(limit.tat, tx.now) + count * self.period
        facts.put(tx, LIMIT, self.method, asdict(replace(limit, tat=tat)))


UPDATES = Pace(method=UPDATE, period=60 / 45, burst=40, background=20)
"""Tier 3 promises 50 calls a minute, with sporadic bursts (https://docs.slack.dev/reference/methods/chat.update)."""


def close(tx: Transaction, key: str, seconds: float) -> None:
    """Slack asked to wait with a method, whatever the channel."""
    limit = read(tx, key)
    facts.put(tx, LIMIT, key, asdict(replace(limit, closed_until=max(limit.closed_until, tx.now + seconds))))


class SlackEvents(Repository):
    """The events that Slack sent, over all processes that share the database."""

    @writes
    def take(self, tx: Transaction, event: str) -> bool:
        """Note an event or request by its id; False: it came before."""
        return facts.put(tx, REQUEST, event, at=tx.now, once=True)

    @writes
    def forget_old(self, tx: Transaction) -> None:
        """Forget events that Slack sends no more."""
        facts.forget(tx, REQUEST, before=tx.now - KEPT_SECONDS)
