"""The audit: who paused or resumed which sequence last."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from bot.store.db.engine import Transaction
from bot.store.db.schema import audit
from shared.domain.records import Actor, AuditEntry


def read_audit_entry(row: sa.Row[Any]) -> AuditEntry:
    """A row of the audit."""
    return AuditEntry(
        at=datetime.fromtimestamp(row.at, UTC),
        actor=Actor(name=row.actor_name, id=row.actor_id, face=row.face, channel=row.channel),
        workspace=row.workspace,
        command=row.command,
        result=row.result,
        effect=row.effect,
        sequences=tuple(json.loads(row.sequences or "[]")),
        reason=row.reason,
    )


def audit_row(entry: AuditEntry) -> dict[str, Any]:
    return {
        "at": entry.at.timestamp(),
        "workspace": entry.workspace,
        "actor_name": entry.actor.name,
        "actor_id": entry.actor.id,
        "face": entry.actor.face,
        "channel": entry.actor.channel,
        "command": entry.command,
        "result": entry.result,
        "effect": entry.effect,
        "sequences": json.dumps(entry.sequences) if entry.sequences else "",
        "reason": entry.reason,
    }


def last_changes(
    tx: Transaction, workspace: str, names: Collection[str], *, after: int
) -> dict[str, AuditEntry]:
    """The last pause or resumption of each sequence that was written after this entry of the audit."""
    later = (audit.c.workspace == workspace) & (audit.c.id > after) & (audit.c.sequences != "")
    rows = tx.execute(sa.select(audit).where(later).order_by(audit.c.id))
    last = {name: entry for entry in map(read_audit_entry, rows) for name in entry.sequences}
    return {name: last[name] for name in names if name in last}


def changes_between(tx: Transaction, workspace: str, since: float, until: float) -> list[AuditEntry]:
    """The sequences that were paused and resumed from one moment until before another, the first first."""
    which = (audit.c.workspace == workspace) & (audit.c.at >= since) & (audit.c.at < until)
    changes = sa.select(audit).where(which, audit.c.sequences != "").order_by(audit.c.id)
    return [read_audit_entry(row) for row in tx.execute(changes)]
