"""The audit: who paused or resumed which sequence last, and what an Undo takes back."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from typing import Any

import sqlalchemy as sa

from shared.domain.wall_clock import DAY, moment
from shared.records.audit import Actor, AuditEntry, Before, Undoable
from shared.store.db.engine import Transaction
from shared.store.db.schema import audit, posts
from shared.store.queue import outbox

KEPT = 7 * DAY
"""Seconds for which the Undo of a card counts."""
_UNDOABLE = audit.c.undoable != sa.literal("", literal_execute=True)
"""In the words of the index, else SQLite leaves it unused."""
_CHANGES = audit.c.sequences != sa.literal("", literal_execute=True)
_COUNTS = (audit.c.undone_by == "") & (audit.c.undoes == 0)
"""What was undone, and what undid it, are no changes any more."""


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
        undoable=_read_undoable(row.undoable),
        undoes=row.undoes,
        number=row.id,
        undone_by=row.undone_by,
        overtaken_by=row.overtaken_by,
    )


def _read_undoable(text: str) -> dict[str, Before]:
    return {name: Before(**kept) for name, kept in json.loads(text or "{}").items()}


def _write_undoable(undoable: dict[str, Before]) -> str:
    return json.dumps({name: asdict(one) for name, one in undoable.items()}) if undoable else ""


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
        "undoable": _write_undoable(dict(entry.undoable)),
        "undoes": entry.undoes,
    }
    number = tx.execute(sa.insert(audit).values(row).returning(audit.c.id)).scalar_one()
    if entry.undoes:
        _step_back(tx, entry)
    if entry.sequences:
        _overtake(tx, entry)
    return int(number)


def last_changes(
    tx: Transaction, workspace: str, names: Collection[str], *, after: int
) -> dict[str, AuditEntry]:
    """The last pause or resumption of each sequence that was written after this entry of the audit."""
    last = _last_of_each(tx, workspace, after=after)
    return {name: read_audit_entry(last[name]) for name in names if name in last}


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
    return [read_audit_entry(row) for row in tx.execute(changes)]


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
    entry = read_audit_entry(row)
    last = _last_of_each(tx, entry.workspace, after=entry.number, only_counting=True)
    moved = {name: read_audit_entry(last[name]) for name in entry.undoable if name in last}
    return Undoable(entry=entry, moved=moved)


def take_undo(tx: Transaction, number: int, by: str) -> bool:
    """Use up the Undo of an entry; False: somebody else has."""
    free = (audit.c.id == number) & (audit.c.undone_by == "")
    taken = tx.execute(sa.update(audit).where(free).values(undone_by=by)).rowcount == 1
    repaint(tx, [number])
    return taken


def give_back_undo(tx: Transaction, number: int) -> None:
    tx.execute(sa.update(audit).where(audit.c.id == number).values(undone_by=""))
    repaint(tx, [number])


def _step_back(tx: Transaction, entry: AuditEntry) -> None:
    """After an Undo a sequence is as the change before it left it, so that this one can be undone next."""
    undone = tx.execute(sa.select(audit).where(audit.c.id == entry.undoes)).one_or_none()
    if undone is None:
        return
    before = {name: one.revision for name, one in _read_undoable(undone.undoable).items() if one.revision}
    for row in _open_undos(tx, entry.workspace):
        kept = _read_undoable(row.undoable)
        fresh = dict(kept)
        for name in entry.sequences:
            is_next = name in kept and name in before and kept[name].revision == before[name] - 1
            if row.id < undone.id and is_next:
                # The Undo was one more change of it.
                fresh[name] = replace(kept[name], revision=before[name] + 1)
        if fresh != kept:
            new = {"undoable": _write_undoable(fresh)}
            tx.execute(sa.update(audit).where(audit.c.id == row.id).values(new))


def _overtake(tx: Transaction, entry: AuditEntry) -> None:
    """Close the Undos all of whose sequences have been changed since, and open those that an Undo made good again."""
    touched = frozenset(entry.sequences)
    open_ = [row for row in _open_undos(tx, entry.workspace) if touched & _read_undoable(row.undoable).keys()]
    if not open_:
        return
    # Read once for all of them, since the first: there may be many, and long audits since.
    last = _last_of_each(tx, entry.workspace, after=min(row.id for row in open_), only_counting=True)
    for row in open_:
        names = _read_undoable(row.undoable)
        is_over = all(name in last and last[name].id > row.id for name in names)
        by = max((last[name] for name in names), key=lambda one: one.id).actor_name if is_over else ""
        if by != row.overtaken_by:
            tx.execute(sa.update(audit).where(audit.c.id == row.id).values(overtaken_by=by))
            repaint(tx, [row.id])


def _open_undos(tx: Transaction, workspace: str) -> Sequence[sa.Row[Any]]:
    which = (audit.c.workspace == workspace) & _UNDOABLE & _COUNTS & (audit.c.at > tx.now - KEPT)
    return tx.execute(sa.select(audit).where(which).order_by(audit.c.id)).all()


def repaint(tx: Transaction, changes: Sequence[int]) -> None:
    """Queue a repaint of the messages with the Undos of these entries."""
    lines = posts.c.undo.in_(changes) & (posts.c.undo != sa.literal(0, literal_execute=True))
    outbox.redraw(tx, lines, clicked=True)
