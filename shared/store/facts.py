"""Facts, of which there are few and into which no query looks: subscriptions, switches, absences, limits and the like.

A fact has a kind, a workspace (empty: of none), a key that is unique within both, a value as JSON, and a time, whose
meaning is the kind's: when it was seen, or when it ends.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from shared.frozen import frozen
from shared.store.db.engine import Transaction
from shared.store.db.schema import facts

ABSENCE, CHANGE, DIGEST, INSTANCE, LIMIT = "absence", "change", "digest", "instance", "limit"
PROBE, PROCESS, REQUEST, ROTA, RULE, SENDER = "probe", "process", "request", "rota", "rule", "sender"
SETTING = "setting"
SUBSCRIPTION, SWITCH, TIMES = "subscription", "switch", "times"
WEBHOOK = "webhook"

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


def find(tx: Transaction, kind: str, key: str, *, workspace: str = "", locked: bool = False) -> Fact | None:
    """A fact, `locked` until the end of the transaction."""
    row = tx.find(facts, locked=locked, kind=kind, workspace=workspace, key=key)
    return _fact(row) if row else None


def since(tx: Transaction, kind: str, at: float) -> list[Fact]:
    """The facts of a kind whose time is this one or later, the first first."""
    rows = tx.execute(sa.select(facts).where(_c.kind == kind, _c.at >= at).order_by(_c.at, _c.key))
    return [*map(_fact, rows)]


def listed(tx: Transaction, kind: str, *, workspaces: Collection[str] | None = None) -> list[Fact]:
    """All of a kind, or those of these workspaces, by workspace and key."""
    query = _LISTED if workspaces is None else _OF_WORKSPACES
    rows = tx.execute(query, {"kind": kind, "workspaces": [*(workspaces or ())]})
    return [*map(_fact, rows)]


def put(
    tx: Transaction,
    kind: str,
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


def lock(tx: Transaction, kind: str, key: str) -> Mapping[str, Any]:
    """The value of a fact that nobody else changes before the end of the transaction; it is made if there is none."""
    put(tx, kind, key, once=True)
    fact = find(tx, kind, key, locked=True)
    return fact.value if fact else NOTHING


def drop(tx: Transaction, kind: str, key: str, *, workspace: str = "") -> bool:
    """Forget a fact; returns whether there was one."""
    return tx.drop(facts, kind=kind, workspace=workspace, key=key)


def forget(tx: Transaction, kind: str, *, before: float) -> None:
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
