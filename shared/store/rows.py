"""The rows that messages show: alerts with their deliveries, and entries of the audit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import sqlalchemy as sa
from pydantic import TypeAdapter

from shared.api.events import Event, read_event
from shared.domain.alert import PRUNED, Alert
from shared.domain.wall_clock import moment
from shared.records.audit import Actor, AuditEntry, Before
from shared.store.db.engine import Transaction
from shared.store.db.schema import alerts, audit, deliveries


def _columns(table: sa.Table) -> tuple[sa.ColumnElement[Any], ...]:
    return tuple(table.c[field.name] for field in fields(Alert) if field.name in table.c)


OWN = _columns(alerts)
"""The columns of an alert without its delivery."""
COLUMNS = (*OWN, *(deliveries.c[name] for name in ("body", "found")))
_NAMES = tuple(column.name for column in COLUMNS)
ALERT_ROWS = sa.select(*COLUMNS).join(deliveries, deliveries.c.id == alerts.c.delivery_id)
"""Alerts with their deliveries."""


def alert_of(values: Sequence[Any]) -> Alert:
    """The alert with these values of `COLUMNS`, or of their beginning, which are its `OWN`."""
    columns = dict(zip(_NAMES, values, strict=False))
    body = columns.pop("body", None)
    event = read_event(body) if body else None
    return Alert(**columns, event=event if isinstance(event, Event) else PRUNED)


def read_alerts(
    tx: Transaction, query: sa.Select[Any], values: Mapping[str, Any] | None = None
) -> Sequence[Alert]:
    """The rows of a query on `OWN` columns or on `ALERT_ROWS`."""
    return [alert_of(row) for row in tx.execute(query, values)]


ENTRY_COLUMNS = tuple(audit.c)
"""The columns that a query needs for `entry_of`, in this order."""
_AS_KEPT = ("workspace", "command", "result", "effect", "reason", "undoes", "undone_by", "overtaken_by")
_ACTOR = {"actor_name": "name", "actor_id": "id", "face": "face", "channel": "channel", "via": "via"}
"""The columns of who did it, and the names of their values."""
_UNDOABLE = TypeAdapter(dict[str, Before])


def entry_of(values: Any) -> AuditEntry:
    """The entry of the audit that these values of `ENTRY_COLUMNS` are."""
    row = dict(zip(audit.c.keys(), values, strict=True))
    return AuditEntry(
        number=row["id"],
        at=moment(row["at"]),
        actor=Actor(**{name: row[column] for column, name in _ACTOR.items()}),
        sequences=tuple(json.loads(row["sequences"] or "[]")),
        undoable=read_undoable(row["undoable"]),
        **{name: row[name] for name in _AS_KEPT},
    )


def row_of(entry: AuditEntry) -> dict[str, Any]:
    """The row of a new entry."""
    return {
        **{name: getattr(entry, name) for name in _AS_KEPT},
        **{column: getattr(entry.actor, name) for column, name in _ACTOR.items()},
        "at": entry.at.timestamp(),
        "sequences": json.dumps(entry.sequences) if entry.sequences else "",
        "undoable": write_undoable(entry.undoable),
    }


def read_undoable(text: str) -> dict[str, Before]:
    """The sequences of `write_undoable`."""
    return _UNDOABLE.validate_json(text or "{}")


def write_undoable(undoable: Mapping[str, Before]) -> str:
    """JSON of the sequences that an Undo takes back; empty where there are none."""
    return _UNDOABLE.dump_json({**undoable}).decode() if undoable else ""
