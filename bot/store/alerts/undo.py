"""The changes that an Undo reverts, whether they were changed since, and messages whose Undo has expired."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from bot.store.alerts.changes import last_changes
from bot.store.db.engine import Transaction
from bot.store.db.schema import posts, questions
from shared.domain.records import AuditEntry


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
    closed = []
    for row in tx.execute(sa.select(questions).where(open_)).all():
        undo = read_question(row)
        if touched.intersection(undo.names) and len(changed_since(tx, undo)) == len(undo.names):
            closed.append(row.id)
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
