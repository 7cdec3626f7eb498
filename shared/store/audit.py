"""The audit: who paused or resumed which sequence last, and what an Undo takes back."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from shared.domain.wall_clock import DAY
from shared.records.audit import Actor, AuditEntry, Now, Undoable
from shared.store import messages
from shared.store.db.engine import Transaction
from shared.store.db.schema import audit, posts
from shared.store.messages import PlannedPost, State
from shared.store.post_kinds import HISTORY
from shared.store.rows import entry_of, read_undoable, write_undoable

KEPT = 7 * DAY
"""Seconds for which the Undo of a message counts, and for which it says what became of its sequences once they changed."""
_UNDOABLE = audit.c.undoable != sa.literal("", literal_execute=True)
"""In the words of the index, else SQLite leaves it unused."""
_CHANGES = audit.c.sequences != sa.literal("", literal_execute=True)
_COUNTS = (audit.c.undone_by == "") & (audit.c.undoes == 0)
"""What was undone, and what undid it, are no changes any more."""


def add_entry(tx: Transaction, entry: AuditEntry) -> int:
    """Write an entry down, and what follows from it for the Undos of others; its number."""
    row = {
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
        "undoable": write_undoable(dict(entry.undoable)),
        "undoes": entry.undoes,
    }
    number = tx.execute(sa.insert(audit).values(row).returning(audit.c.id)).scalar_one()
    if entry.undoes:
        _step_back(tx, entry)
    if entry.sequences:
        _overtake(tx, entry, number)
    return int(number)


def last_changes(
    tx: Transaction, workspace: str, names: Collection[str], *, after: int
) -> dict[str, AuditEntry]:
    """The last pause or resumption of each sequence that was written after this entry of the audit."""
    last = _last_of_each(tx, workspace, after=after)
    return {name: entry_of(last[name]) for name in names if name in last}


def _last_of_each(
    tx: Transaction, workspace: str, *, after: int, only_counting: bool = False
) -> dict[str, sa.Row[Any]]:
    later = (audit.c.workspace == workspace) & (audit.c.id > after) & _CHANGES
    query = sa.select(audit).where(later).order_by(audit.c.id)
    rows = tx.execute(query.where(_COUNTS) if only_counting else query)
    return {name: row for row in rows for name in json.loads(row.sequences)}


def changes_between(tx: Transaction, workspace: str, since: float, until: float) -> list[AuditEntry]:
    """The sequences that were paused and resumed from one moment until before another, the first first."""
    which = (audit.c.workspace == workspace) & (audit.c.at >= since) & (audit.c.at < until)
    changes = sa.select(audit).where(which, _CHANGES).order_by(audit.c.id)
    return [entry_of(row) for row in tx.execute(changes)]


def last_undoable(tx: Transaction, workspace: str, actor: Actor, since: float) -> Undoable | None:
    """The newest change of a person that is not undone: one that was not overtaken, if there is one."""
    c = audit.c
    who = c.actor_id == actor.id if actor.id else (c.actor_id == "") & (c.actor_name == actor.name)
    mine = sa.select(audit).where(c.workspace == workspace, c.at >= since, _CHANGES, _UNDOABLE, _COUNTS, who)
    newest = mine.order_by(c.at.desc(), c.id.desc()).limit(1)
    found = tx.execute(newest.where(c.overtaken_by == "")).one_or_none()
    row = found or tx.execute(newest).one_or_none()
    return None if row is None else _with_later(tx, row)


def undoable(tx: Transaction, workspace: str, number: int) -> Undoable | None:
    """The change with this number."""
    which = (audit.c.workspace == workspace) & (audit.c.id == number) & (audit.c.undoable != "")
    row = tx.execute(sa.select(audit).where(which)).one_or_none()
    return None if row is None else _with_later(tx, row)


def _with_later(tx: Transaction, row: sa.Row[Any]) -> Undoable:
    entry = entry_of(row)
    last = _last_of_each(tx, entry.workspace, after=entry.number, only_counting=True)
    moved = {name: entry_of(last[name]) for name in entry.undoable if name in last}
    return Undoable(entry=entry, moved=moved)


def take_undo(tx: Transaction, number: int, by: str) -> bool:
    """Use up the Undo of an entry; False: somebody else has."""
    free = (audit.c.id == number) & (audit.c.undone_by == "")
    return tx.execute(sa.update(audit).where(free).values(undone_by=by)).rowcount == 1


def give_back_undo(tx: Transaction, number: int) -> None:
    tx.execute(sa.update(audit).where(audit.c.id == number).values(undone_by=""))


def _step_back(tx: Transaction, entry: AuditEntry) -> None:
    """After an Undo a sequence is as the change before it left it, so that this one can be undone next."""
    undone = tx.execute(sa.select(audit).where(audit.c.id == entry.undoes)).one_or_none()
    if undone is None:
        return
    before = {name: one.revision for name, one in read_undoable(undone.undoable).items() if one.revision}
    for row in _open_undos(tx, entry.workspace):
        kept = read_undoable(row.undoable)
        fresh = dict(kept)
        for name in entry.sequences:
            is_next = name in kept and name in before and kept[name].revision == before[name] - 1
            if row.id < undone.id and is_next:
                # The Undo was one more change of it.
                fresh[name] = replace(kept[name], revision=before[name] + 1)
        if fresh != kept:
            new = {"undoable": write_undoable(fresh)}
            tx.execute(sa.update(audit).where(audit.c.id == row.id).values(new))


def _overtake(tx: Transaction, entry: AuditEntry, number: int) -> None:
    """Have earlier changes of the same sequences know how these are now; their messages say it.

    An Undo all of whose sequences changed since is closed, and opened where an Undo made that good again.
    """
    touched = frozenset(entry.sequences)
    known = [row for row in _followed(tx, entry.workspace) if row.id != number]
    rows = [row for row in known if row.id == entry.undoes or touched & read_undoable(row.undoable).keys()]
    if not rows:
        return
    # Read once for all of them, since the first: there may be many, and long audits since.
    last = _last_of_each(tx, entry.workspace, after=min(row.id for row in rows), only_counting=True)
    for row in rows:
        kept = read_undoable(row.undoable)
        later = {name: last[name] for name in kept if name in last and last[name].id > row.id}
        fresh = {name: replace(one, later=_now(later.get(name), name)) for name, one in kept.items()}
        is_over = len(later) == len(kept)
        by = max(later.values(), key=lambda one: one.id).actor_name if is_over else ""
        if fresh == kept and by == row.overtaken_by and row.id != entry.undoes:
            continue
        values = {"undoable": write_undoable(fresh), "overtaken_by": by}
        tx.execute(sa.update(audit).where(audit.c.id == row.id).values(values))
        repaint(tx, row.id, history=number)


def _now(row: sa.Row[Any] | None, sequence: str) -> Now | None:
    """What this change made of a sequence."""
    if row is None:
        return None
    entry = entry_of(row)
    is_paused, before = entry.effect == "paused", entry.undoable.get(sequence)
    is_timer = entry.actor.face == "bot" and not is_paused
    return Now(
        status="paused" if is_paused else "active",
        ends_at=before.new_end if before else None,
        by="" if is_timer else entry.actor.shown,
    )


def _open_undos(tx: Transaction, workspace: str) -> Sequence[sa.Row[Any]]:
    which = (audit.c.workspace == workspace) & _UNDOABLE & _COUNTS & (audit.c.at > tx.now - KEPT)
    return tx.execute(sa.select(audit).where(which).order_by(audit.c.id)).all()


def _followed(tx: Transaction, workspace: str) -> Sequence[sa.Row[Any]]:
    """The changes whose messages are kept true: those of a week, and older ones that still stand."""
    stands = _COUNTS & (audit.c.overtaken_by == "")
    recent = (audit.c.at > tx.now - KEPT) & (audit.c.undoes == 0)
    which = (audit.c.workspace == workspace) & _UNDOABLE & (stands | recent)
    return tx.execute(sa.select(audit).where(which).order_by(audit.c.id)).all()


def is_told(tx: Transaction, entry: AuditEntry) -> bool:
    """Whether the bot's messages of earlier changes tell of all sequences of this one."""
    told: set[str] = set()
    for row in _followed(tx, entry.workspace):
        names = set(entry.sequences) & read_undoable(row.undoable).keys()
        if names and tx.execute(sa.select(posts.c.id).where(_lines(row.id)).limit(1)).first():
            told |= names
    return told == set(entry.sequences)


def _lines(change: int) -> sa.ColumnElement[bool]:
    """The messages that tell of a change."""
    told = (posts.c.undo == change) & (posts.c.undo != sa.literal(0, literal_execute=True))
    return told & (posts.c.kind != HISTORY)


def repaint(tx: Transaction, change: int, *, history: int = 0) -> None:
    """Queue a repaint of the message of a change; what happened since, as entry `history` tells, goes to its thread."""
    messages.redraw(tx, _lines(change), clicked=True)
    if not history:
        return
    for post in tx.execute(sa.select(posts).where(_lines(change), posts.c.state == State.SENT)).all():
        told = PlannedPost(
            dedupe=f"{HISTORY}:{post.id}:{history}",
            channel=post.channel,
            kind=HISTORY,
            thread_ts=post.thread_ts or post.ts,
            undo=history,
        )
        messages.plan(tx, told, workspace=post.workspace)
