"""The audit: who paused or resumed which sequence last."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from bot.store.db.engine import Transaction
from bot.store.db.schema import audit
from shared.domain.records import Actor, AuditEntry

_CHANGE = re.compile(r"\W*(pause|resume)\b", re.IGNORECASE)
_NONE = re.compile(r"refused|failed")
_WORD = re.compile(r"[^\s(),:;]+")


def read_audit_entry(row: sa.Row[Any]) -> AuditEntry:
    """A row of the audit."""
    return AuditEntry(
        at=datetime.fromtimestamp(row.at, UTC),
        actor=Actor(name=row.actor_name, id=row.actor_id, face=row.face, channel=row.channel),
        workspace=row.workspace,
        command=row.command,
        result=row.result,
    )


def last_changes(
    tx: Transaction, workspace: str, names: Collection[str], *, after: int
) -> dict[str, AuditEntry]:
    """The last pause or resumption of each sequence that was written after this entry of the audit."""
    later = (audit.c.workspace == workspace) & (audit.c.id > after)
    rows = tx.execute(sa.select(audit).where(later).order_by(audit.c.id))
    touched = [(touched_by(entry), entry) for entry in map(read_audit_entry, rows)]
    return {name: entry for name in names for ids, entry in touched if name in ids}


def touched_by(entry: AuditEntry) -> frozenset[str]:
    """The sequences that an entry paused or resumed."""
    changed = _CHANGE.match(entry.command) and not _NONE.match(entry.result)
    return frozenset(_WORD.findall(entry.result)) if changed else frozenset()


def changes_between(tx: Transaction, workspace: str, since: float, until: float) -> list[AuditEntry]:
    """The sequences that were paused and resumed from one moment until before another, the first first."""
    which = (audit.c.workspace == workspace) & (audit.c.at >= since) & (audit.c.at < until)
    rows = tx.execute(sa.select(audit).where(which).order_by(audit.c.id))
    return [entry for entry in map(read_audit_entry, rows) if touched_by(entry)]
