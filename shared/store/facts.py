"""Facts, of which there are few and into which no query looks: subscriptions, switches, absences, limits and the like.

A fact has a kind, a workspace (empty: of none), a key that is unique within both, a value as JSON, and a time, whose
meaning is the kind's: when it was seen, or when it ends.

Here are also Slack's rate limits, shared by all bots on one database, the events of Slack that were handled, and the
database's id and its running bots, so that a shell can tell whether it uses the bot's database.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Literal

import sqlalchemy as sa

from shared.frozen import frozen
from shared.store.db.engine import Repository, Transaction, method, reads, writes
from shared.store.db.schema import facts

Kind = Literal[
    "absence", "change", "digest", "instance", "limit", "probe", "process", "request", "rota", "rule", "sender", "setting",
    "subscription", "switch", "times", "webhook",
]  # fmt: skip

NOTHING: Mapping[str, Any] = MappingProxyType({})

_c = facts.c
_LISTED = sa.select(facts).where(_c.kind == sa.bindparam("kind")).order_by(_c.workspace, _c.key)
_OF_WORKSPACES = _LISTED.where(_c.workspace.in_(sa.bindparam("workspaces", expanding=True)))


@frozen
class Fact:
    """One fact."""

    workspace: str
    key: str
    value: Mapping[str, Any]
    at: float | None


def find(tx: Transaction, kind: Kind, key: str, *, workspace: str = "", locked: bool = False) -> Fact | None:
    """A fact, `locked` until the end of the transaction."""
    row = tx.find(facts, locked=locked, kind=kind, workspace=workspace, key=key)
    return _fact(row) if row else None


def since(tx: Transaction, kind: Kind, at: float) -> list[Fact]:
    """The facts of a kind whose time is this one or later, the first first."""
    rows = tx.execute(sa.select(facts).where(_c.kind == kind, _c.at >= at).order_by(_c.at, _c.key))
    return [*map(_fact, rows)]


def listed(tx: Transaction, kind: Kind, *, workspaces: Collection[str] | None = None) -> list[Fact]:
    """All of a kind, or those of these workspaces, by workspace and key."""
    query = _LISTED if workspaces is None else _OF_WORKSPACES
    rows = tx.execute(query, {"kind": kind, "workspaces": [*(workspaces or ())]})
    return [*map(_fact, rows)]


def put(
    tx: Transaction,
    kind: Kind,
    key: str,
    value: Mapping[str, Any] = NOTHING,
    *,
    workspace: str = "",
    at: float | None = None,
    once: bool = False,
) -> bool:
    """Write a fact down, in the place of an earlier one; `once`: unless it is there. Returns whether it was written."""
    new = tx.insert_once(facts) if once else tx.upsert(facts, "value", "at")
    row = {"kind": kind, "workspace": workspace, "key": key, "value": json.dumps(dict(value)), "at": at}
    # What comes back says whether it is new: with psycopg, an INSERT's `rowcount` is -1 here.
    return tx.scalar(new.returning(_c.key), row) is not None


def lock(tx: Transaction, kind: Kind, key: str) -> Mapping[str, Any]:
    """The value of a fact that nobody else changes before the end of the transaction; it is made if there is none."""
    put(tx, kind, key, once=True)
    fact = find(tx, kind, key, locked=True)
    return fact.value if fact else NOTHING


def drop(tx: Transaction, kind: Kind, key: str, *, workspace: str = "") -> bool:
    """Forget a fact; returns whether there was one."""
    return tx.drop(facts, kind=kind, workspace=workspace, key=key)


def forget(tx: Transaction, kind: Kind, *, before: float) -> None:
    """Forget those of a kind whose time was before this one."""
    tx.delete(facts, (_c.kind == kind) & (_c.at < before))


def key_of(*parts: str) -> str:
    """A key of several parts, which may hold any character."""
    return json.dumps(parts)


def read(text: str | None) -> dict[str, Any]:
    """A JSON object that was written down; what can't be read is empty, and stops nothing else."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _fact(row: sa.Row[Any]) -> Fact:
    return Fact(workspace=row.workspace, key=row.key, value=read(row.value), at=row.at)


# -- Slack's rate limits, and its events that were already handled

# A limit is a fact: the schedule of GCRA (`tat`, the theoretical arrival time of the next call), and `closed_until`, until
# which Slack asked to wait. Slack counts calls per method,
# and asks for patience with `Retry-After` (https://docs.slack.dev/apis/web-api/rate-limits): the key is the method. What
# belongs to one channel has the channel in its key.

UPDATE = "chat.update"
HISTORY, REPLIES = "conversations.history", "conversations.replies"
FARTHEST_SECONDS = 3600.0
"""A time further ahead was written before the clock was set back: it counts as past."""
UPDATE_SECONDS = 60 / 45
"""Seconds between updates of messages in the long run, over all bots.

Tier 3 promises 50 calls a minute, with sporadic bursts (https://docs.slack.dev/reference/methods/chat.update).
"""
UPDATES_AT_ONCE, BACKGROUND_UPDATES = 40, 20
"""Updates in a burst: for what a person waits for, and the share of it for all others."""


def _limit_of(tx: Transaction, method: str) -> Mapping[str, float]:
    """The times of a method's limit, locked until the end of the transaction."""
    fact, farthest = find(tx, "limit", method, locked=True), tx.now + FARTHEST_SECONDS
    times = fact.value if fact else NOTHING
    return {name: at for name, at in times.items() if at <= farthest}


def closed_until(tx: Transaction, method: str) -> float:
    """Slack asked to wait with a method until then; 0 where it has not."""
    return _limit_of(tx, method).get("closed_until", 0.0)


def close(tx: Transaction, method: str, seconds: float) -> None:
    """Slack asked to wait with a method, whatever the channel."""
    limit = _limit_of(tx, method)
    until = max(limit.get("closed_until", 0.0), tx.now + seconds)
    put(tx, "limit", method, {**limit, "closed_until": until})


def free_updates(tx: Transaction) -> tuple[int, int]:
    """The numbers of updates that may begin now: for what a person waits for, and for the rest."""
    limit = _limit_of(tx, UPDATE)
    if limit.get("closed_until", 0.0) > tx.now:
        return 0, 0
    ahead = max(0.0, limit.get("tat", 0.0) - tx.now)
    taken = math.ceil(ahead / UPDATE_SECONDS - 1e-6)
    return max(0, UPDATES_AT_ONCE - taken), max(0, BACKGROUND_UPDATES - taken)


def take_updates(tx: Transaction, count: int) -> None:
    """Note so many updates."""
    limit = _limit_of(tx, UPDATE)
    tat = max(limit.get("tat", 0.0), tx.now) + count * UPDATE_SECONDS
    put(tx, "limit", UPDATE, {**limit, "tat": tat})


class SlackEvents(Repository):
    """The events that Slack sent, over all processes that share the database."""

    @writes
    def take(self, tx: Transaction, event: str) -> bool:
        """Note an event or request by its id; False: it came before."""
        return put(tx, "request", event, at=tx.now, once=True)


# -- the database's id, and its running bots

BEAT_SECONDS = 20.0
ALIVE_SECONDS = 90.0
"""A bot that was seen so long ago no longer runs."""


def is_running(tx: Transaction) -> bool:
    """True if a bot that uses this database was seen in the last minute and a half."""
    return bool(since(tx, "process", tx.now - ALIVE_SECONDS))


def known_id(tx: Transaction) -> str | None:
    """The name of the database; None if there is none yet."""
    name = find(tx, "instance", "")
    return str(name.value["id"]) if name else None


class Instance(Repository):
    """The one row that names the database, and the heartbeats of its bots."""

    known_id = reads(method(known_id))

    @writes
    def id(self, tx: Transaction) -> str:
        """The name of the database, created by the first call."""
        put(tx, "instance", "", {"id": secrets.token_hex(6)}, once=True)
        return known_id(tx) or ""

    @writes
    def beat(self, tx: Transaction, process: str) -> None:
        """This bot runs."""
        put(tx, "process", process, at=tx.now)
        forget(tx, "process", before=tx.now - ALIVE_SECONDS)

    @writes
    def leave(self, tx: Transaction, process: str) -> None:
        """This bot ends."""
        drop(tx, "process", process)
