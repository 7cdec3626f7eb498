"""Rows of the audit as entries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from shared.domain.wall_clock import moment
from shared.records.audit import Actor, AuditEntry, Before, Now
from shared.store.db.schema import audit

COLUMNS = tuple(audit.c)
"""What a query needs for `entry_of`, in this order."""
_NAMES = tuple(column.name for column in COLUMNS)


def entry_of(values: Any) -> AuditEntry:
    """The entry that these values of `COLUMNS` are."""
    row = dict(zip(_NAMES, values, strict=True))
    return AuditEntry(
        at=moment(row["at"]),
        actor=Actor(
            name=row["actor_name"],
            id=row["actor_id"],
            face=row["face"],
            channel=row["channel"],
            via=row["via"],
        ),
        workspace=row["workspace"],
        command=row["command"],
        result=row["result"],
        effect=row["effect"],
        sequences=tuple(json.loads(row["sequences"] or "[]")),
        reason=row["reason"],
        undoable=read_undoable(row["undoable"]),
        undoes=row["undoes"],
        number=row["id"],
        undone_by=row["undone_by"],
        overtaken_by=row["overtaken_by"],
    )


def read_undoable(text: str) -> dict[str, Before]:
    """The sequences of `write_undoable`."""
    return {name: _before(kept) for name, kept in json.loads(text or "{}").items()}


def _before(kept: Mapping[str, Any]) -> Before:
    later = kept.get("later")
    return Before(**{**kept, "later": Now(**later) if later else None})


def write_undoable(undoable: Mapping[str, Before]) -> str:
    """JSON of the sequences that an Undo takes back; empty where there are none."""
    return json.dumps({name: asdict(one) for name, one in undoable.items()}) if undoable else ""
