"""What the bot keeps in few rows and no query looks into: subscriptions, switches, absences, Slack's limits and the like.

A fact has a kind, a workspace (empty: of none), a key that is unique within both, a value as JSON, and a time, whose
meaning is the kind's: when it was seen, or when it ends.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from shared.store.db.engine import Transaction
from shared.store.db.schema import facts

ABSENCE, DIGEST, LIMIT, PROCESS, ROTA = "absence", "digest", "limit", "process", "rota"
REQUEST, RULE, SUBSCRIPTION, SWITCH, TIMES, WEBHOOK = (
    "request",
    "rule",
    "subscription",
    "switch",
    "times",
    "webhook",
)
INSTANCE, THINNED = "instance", "thinned"
CHANGE, SENDER = "change", "sender"

NOTHING: Mapping[str, Any] = MappingProxyType({})

c = facts.c
_OF = (
    (c.kind == sa.bindparam("kind_"))
    & (c.workspace == sa.bindparam("workspace_"))
    & (c.key == sa.bindparam("key_"))
)
_READ = sa.select(facts).where(_OF)
_LOCKED = _READ.with_for_update()
_DROP = sa.delete(facts).where(_OF)
_LISTED = sa.select(facts).where(c.kind == sa.bindparam("kind_")).order_by(c.workspace, c.key)
_OF_WORKSPACES = _LISTED.where(c.workspace.in_(sa.bindparam("workspaces", expanding=True)))
_SINCE = (
    sa.select(facts)
    .where(c.kind == sa.bindparam("kind_"), c.at >= sa.bindparam("since"))
    .order_by(c.at, c.key)
)
_OLD = sa.delete(facts).where(c.kind == sa.bindparam("kind_"), c.at < sa.bindparam("before"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact."""

    workspace: str
    key: str
    value: Mapping[str, Any]
    at: float | None


def find(tx: Transaction, kind: str, key: str, *, workspace: str = "", locked: bool = False) -> Fact | None:
    """A fact, `locked` until the end of the transaction."""
    row = tx.execute(_LOCKED if locked else _READ, _named(kind, workspace, key)).one_or_none()
    return None if row is None else _fact(row)


def since(tx: Transaction, kind: str, at: float) -> list[Fact]:
    """Those of a kind whose time is this one or later, the first first."""
    return [_fact(row) for row in tx.execute(_SINCE, {"kind_": kind, "since": at})]


def listed(tx: Transaction, kind: str, *, workspaces: Collection[str] | None = None) -> list[Fact]:
    """All of a kind, or those of these workspaces, by workspace and key."""
    if workspaces is None:
        return [_fact(row) for row in tx.execute(_LISTED, {"kind_": kind})]
    return [_fact(row) for row in tx.execute(_OF_WORKSPACES, {"kind_": kind, "workspaces": [*workspaces]})]


def add(
    tx: Transaction,
    kind: str,
    key: str,
    value: Mapping[str, Any] = NOTHING,
    *,
    workspace: str = "",
    at: float | None = None,
) -> bool:
    """Write a fact down unless it is there; returns whether it is new."""
    row = {"kind": kind, "workspace": workspace, "key": key, "value": json.dumps(dict(value)), "at": at}
    # What comes back says whether it is new: with psycopg, an INSERT's `rowcount` is -1 here.
    return tx.scalar(tx.insert_once(facts).returning(c.key), row) is not None


def put(
    tx: Transaction,
    kind: str,
    key: str,
    value: Mapping[str, Any] = NOTHING,
    *,
    workspace: str = "",
    at: float | None = None,
) -> None:
    """Write a fact down, in the place of an earlier one."""
    row = {"kind": kind, "workspace": workspace, "key": key, "value": json.dumps(dict(value)), "at": at}
    tx.execute(tx.upsert(facts, "value", "at"), row)


def lock(tx: Transaction, kind: str, key: str) -> Mapping[str, Any]:
    """The value of a fact that nobody else changes before the end of the transaction; it is made if there is none."""
    row = {"kind": kind, "workspace": "", "key": key, "value": "{}", "at": None}
    return read(tx.scalar(_make(tx.dialect), row))


@cache
def _make(dialect: Any) -> Any:
    kept = dialect.insert(facts).on_conflict_do_update(
        index_elements=facts.primary_key.columns, set_={"at": c.at}
    )
    return kept.returning(c.value)


def drop(tx: Transaction, kind: str, key: str, *, workspace: str = "") -> bool:
    """Forget a fact; returns whether there was one."""
    return tx.execute(_DROP, _named(kind, workspace, key)).rowcount > 0


def forget(tx: Transaction, kind: str, *, before: float) -> None:
    """Forget those of a kind whose time was before this one."""
    tx.execute(_OLD, {"kind_": kind, "before": before})


def key_of(*parts: str) -> str:
    """A key of several parts, which may hold any character."""
    return json.dumps(parts)


def read(text: str | None) -> dict[str, Any]:
    """A value; what can't be read is empty."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _named(kind: str, workspace: str, key: str) -> dict[str, str]:
    return {"kind_": kind, "workspace_": workspace, "key_": key}


def _fact(row: Any) -> Fact:
    return Fact(workspace=row.workspace, key=row.key, value=read(row.value), at=row.at)
