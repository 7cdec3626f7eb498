"""The audit: who paused or resumed which sequence last.

The changes that an Undo reverts, whether they were changed since, and messages whose Undo has expired.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from bot.store.db.engine import Transaction
from bot.store.db.schema import audit, posts, questions
from shared.domain.wall_clock import moment
from shared.records.audit import Actor, AuditEntry


def read_audit_entry(row: sa.Row[Any]) -> AuditEntry:
    """A row of the audit."""
    return AuditEntry(
        at=moment(row.at),
        actor=Actor(name=row.actor_name, id=row.actor_id, face=row.face, channel=row.channel, via=row.via),
        workspace=row.workspace,
        command=row.command,
        result=row.result,
        effect=row.effect,
        sequences=tuple(json.loads(row.sequences or "[]")),
        reason=row.reason,
        undoable=tuple(json.loads(row.undoable or "[]")),
    )


def audit_row(entry: AuditEntry) -> dict[str, Any]:
    return {
        "at": entry.at.timestamp(),
        "workspace": entry.workspace,
        "actor_name": entry.actor.name,
        "actor_id": entry.actor.id,
        "face": entry.actor.face,
        "channel": entry.actor.channel,
        "via": entry.actor.via,
        "command": entry.command,
        "result": entry.result,
        "effect": entry.effect,
        "sequences": json.dumps(entry.sequences) if entry.sequences else "",
        "reason": entry.reason,
        "undoable": json.dumps(entry.undoable) if entry.undoable else "",
    }


def last_changes(
    tx: Transaction, workspace: str, names: Collection[str], *, after: int
) -> dict[str, AuditEntry]:
    """The last pause or resumption of each sequence that was written after this entry of the audit."""
    last = _last_of_each(tx, workspace, after=after)
    return {name: read_audit_entry(last[name][1]) for name in names if name in last}


def _last_of_each(tx: Transaction, workspace: str, *, after: int) -> dict[str, tuple[int, sa.Row[Any]]]:
    """Of each sequence that was paused or resumed after this entry of the audit, the last one with its number."""
    later = (audit.c.workspace == workspace) & (audit.c.id > after) & (audit.c.sequences != "")
    rows = tx.execute(sa.select(audit).where(later).order_by(audit.c.id))
    return {name: (row.id, row) for row in rows for name in json.loads(row.sequences)}


def changes_between(tx: Transaction, workspace: str, since: float, until: float) -> list[AuditEntry]:
    """The sequences that were paused and resumed from one moment until before another, the first first."""
    which = (audit.c.workspace == workspace) & (audit.c.at >= since) & (audit.c.at < until)
    paused_or_resumed = audit.c.sequences != sa.literal("", literal_execute=True)
    changes = sa.select(audit).where(which, paused_or_resumed).order_by(audit.c.id)
    return [read_audit_entry(row) for row in tx.execute(changes)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`line` is what a yes means; `person` is a Slack id, or empty for anybody; `names` are what it touches."""

    line: str
    person: str
    workspace: str
    names: Sequence[str] = ()
    since: int = 0
    """The audit entry that an Undo reverts; 0 if this isn't an Undo."""
    revisions: Mapping[str, int] = field(default_factory=dict)
    """Of an Undo: how often each sequence had been changed when it was offered, where that is certain."""


def read_question(row: sa.Row[Any]) -> Question:
    kept = json.loads(row.names or "[]")
    kept = kept if isinstance(kept, dict) else {"names": kept}
    return Question(
        line=row.line,
        person=row.person,
        workspace=row.workspace,
        names=tuple(kept["names"]),
        since=int(kept.get("since") or 0),
        revisions=kept.get("revisions") or {},
    )


def changed_since(tx: Transaction, undo: Question) -> dict[str, AuditEntry]:
    """The last pause or resumption of each sequence after the change that an Undo undoes."""
    return last_changes(tx, undo.workspace, undo.names, after=undo.since)


def overtake(tx: Transaction, entry: AuditEntry) -> None:
    """Close the Undos all of whose sequences have been changed since, this entry included."""
    touched = frozenset(entry.sequences)
    if not touched:
        return
    open_ = (
        (questions.c.ends_at > tx.now)
        & (questions.c.workspace == entry.workspace)
        & (questions.c.person == "")
        & (questions.c.overtaken_by == "")
        & questions.c.given_at.is_(None)
    )
    undos = {row.id: read_question(row) for row in tx.execute(sa.select(questions).where(open_))}
    undos = {nonce: undo for nonce, undo in undos.items() if touched.intersection(undo.names)}
    if not undos:
        return
    # Read once for all of them, since what the first undoes: there may be many, and long audits since.
    last = _last_of_each(tx, entry.workspace, after=min(undo.since for undo in undos.values()))
    closed = [
        nonce
        for nonce, undo in undos.items()
        if all(name in last and last[name][0] > undo.since for name in undo.names)
    ]
    if closed:
        tx.execute(
            sa.update(questions).where(questions.c.id.in_(closed)).values(overtaken_by=entry.actor.name)
        )
        repaint(tx, closed)


def repaint(tx: Transaction, nonces: Sequence[str]) -> None:
    """Queue a repaint of the lines with these Undos."""
    lines = posts.c.undo.in_(nonces) & (posts.c.undo != sa.literal("", literal_execute=True))
    again = {"version": posts.c.version + 1, "repaint_at": tx.now, "clicked": sa.true()}
    tx.execute(sa.update(posts).where(lines).values(**again))
