"""The audit: who did what, what an Undo takes back, and the questions that wait for an answer.

A change of sequences knows how these are now, because its message says it: whoever changes them later writes that down
with the change. A question is bound to a person and expires, so that no other person, second click or old message can
answer it.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

import sqlalchemy as sa

from shared.domain.wall_clock import DAY
from shared.frozen import frozen
from shared.records import Actor, AuditEntry
from shared.store import messages
from shared.store.db.engine import Repository, Transaction, method, reads, writes
from shared.store.db.schema import audit, literal, posts, questions
from shared.store.messages import PlannedPost, entry_of, read_undoable, row_of, write_undoable
from shared.store.post_kinds import HISTORY

UNDO_SECONDS = 7 * DAY
"""The time for which the Undo of a message counts, and says what became of its sequences once they changed."""
QUESTION_SECONDS = 7 * DAY
"""The time for which an ended question is still known as such."""
LOOKED_BACK = 5_000
"""Entries of the audit in which the last change of a sequence is looked for."""

_c = audit.c
# In the words of the indexes, else SQLite leaves them unused.
_UNDOABLE = _c.undoable != literal("")
_CHANGES = _c.sequences != literal("")
_IS_NO_READ = _c.effect != literal("read")
Only = Literal["all", "refused", "changes", "calls"]
_ONLY: Mapping[Only, sa.ColumnElement[bool]] = {
    "all": sa.true(),
    "refused": _IS_NO_READ & (_c.effect == "refused"),
    "changes": _IS_NO_READ & (_c.effect != "refused"),
    "calls": _c.effect == literal("read"),
}
_COUNTS = (_c.undone_by == "") & (_c.undoes == 0)
"""A change that was undone, and the one that undid it, aren't changes any more."""


def add_entry(tx: Transaction, entry: AuditEntry) -> int:
    """Write an entry down, and what follows from it for the Undos of others; returns its number."""
    number = int(tx.execute(sa.insert(audit).values(row_of(entry)).returning(_c.id)).scalar_one())
    if entry.sequences:
        _overtake(tx, entry, number)
    return number


def _last_of_each(tx: Transaction, workspace: str, *which: sa.ColumnElement[bool]) -> dict[str, sa.Row[Any]]:
    """The last change of each sequence among these entries."""
    query = sa.select(audit).where(_c.workspace == workspace, _CHANGES, *which).order_by(_c.id)
    return {name: row for row in tx.execute(query) for name in json.loads(row.sequences)}


def last_changes(tx: Transaction, workspace: str, sequences: Collection[str]) -> dict[str, AuditEntry]:
    """The last pause or resumption of each sequence, as far as the audit goes back."""
    newest = tx.scalar(sa.select(sa.func.max(_c.id))) or 0
    last = _last_of_each(tx, workspace, _c.id > newest - LOOKED_BACK)
    return {name: entry_of(last[name]) for name in sequences if name in last}


class AuditLog(Repository):
    """The acts of people, the newest first."""

    record = writes(method(add_entry))

    last_changes = reads(method(last_changes))

    @reads
    def audit(
        self, tx: Transaction, workspace: str, limit: int = 20, *, only: Only = "all"
    ) -> list[AuditEntry]:
        """The newest acts, or only the refused ones, the changes, or the calls of assistants among them."""
        query = sa.select(audit).where(_c.workspace == workspace, _ONLY[only])
        return [entry_of(row) for row in tx.execute(query.order_by(_c.id.desc()).limit(limit))]

    @reads
    def last_undoable(
        self, tx: Transaction, workspace: str, actor: Actor, since: datetime
    ) -> AuditEntry | None:
        """The newest change of a person that is not undone: one that was not overtaken, if there is one."""
        who = _c.actor_id == actor.id if actor.id else (_c.actor_id == "") & (_c.actor_name == actor.name)
        recent = (_c.workspace == workspace) & (_c.at >= since.timestamp()) & _CHANGES & _UNDOABLE & _COUNTS
        order = (_c.overtaken_by != "", _c.at.desc(), _c.id.desc())
        row = tx.execute(sa.select(audit).where(recent, who).order_by(*order).limit(1)).first()
        return None if row is None else entry_of(row)

    @reads
    def change_with_number(self, tx: Transaction, number: int) -> AuditEntry | None:
        """An entry of the audit, in whatever workspace, with the revisions that its Undo may find.

        A later change and its Undo are two more changes of a sequence, which leave it as this entry did. Where the revision
        is another one, someone else's change is in between.
        """
        row = tx.find(audit, id=number)
        if row is None:
            return None
        entry = entry_of(row)
        later = (_c.workspace == entry.workspace) & _IS_NO_READ & (_c.id > number)
        which = later & _CHANGES & (_c.undoes > number)
        undos = tx.scalars(sa.select(_c.sequences).where(which))
        taken_back = Counter(name for names in undos for name in json.loads(names))
        undoable = {
            name: replace(before, revision=before.revision and before.revision + 2 * taken_back[name])
            for name, before in entry.undoable.items()
        }
        return replace(entry, undoable=undoable)

    @writes
    def take_undo(self, tx: Transaction, number: int, by: str) -> bool:
        """Use up the Undo of an entry; False: someone else has."""
        free = (_c.id == number) & (_c.undone_by == "")
        return tx.update(audit, free, undone_by=by) == 1

    @writes
    def give_back_undo(self, tx: Transaction, number: int) -> None:
        """Let the Undo of an entry be used again, because it could not be carried out."""
        tx.update(audit, _c.id == number, undone_by="")


def changes_between(tx: Transaction, workspace: str, since: float, until: float) -> list[AuditEntry]:
    """The sequences that were paused and resumed from one moment until before another, the first first."""
    which = (_c.workspace == workspace) & (_c.at >= since) & (_c.at < until)
    return [entry_of(row) for row in tx.execute(sa.select(audit).where(which, _CHANGES).order_by(_c.id))]


def _followed(tx: Transaction, workspace: str, which: sa.ColumnElement[bool]) -> Sequence[sa.Row[Any]]:
    """These of the changes that an Undo takes back."""
    query = sa.select(audit).where(_c.workspace == workspace, _UNDOABLE, which).order_by(_c.id)
    return tx.execute(query).all()


def _kept_true(tx: Transaction) -> sa.ColumnElement[bool]:
    """The changes whose messages are kept true: those of a week, and older ones that still stand."""
    recent = (_c.at > tx.now - UNDO_SECONDS) & (_c.undoes == 0)
    return (_COUNTS & (_c.overtaken_by == "")) | recent


def _overtake(tx: Transaction, entry: AuditEntry, number: int) -> None:
    """Have earlier changes of the same sequences know how these are now; their messages say it.

    An Undo all of whose sequences changed since is closed, and opened where an Undo made that good again.
    """
    touched = frozenset(entry.sequences)
    followed = _followed(tx, entry.workspace, _kept_true(tx) & (_c.id != number))
    rows = [row for row in followed if row.id == entry.undoes or touched & read_undoable(row.undoable).keys()]
    if not rows:
        return
    # Read once for all of them, since the first: there may be many, and long audits since.
    last = _last_of_each(tx, entry.workspace, _c.id > min(row.id for row in rows), _COUNTS)
    for row in rows:
        kept = read_undoable(row.undoable)
        later = {name: last[name] for name in kept if name in last and last[name].id > row.id}
        states = {name: entry_of(change).state_after(name) for name, change in later.items()}
        fresh = {name: replace(before, later=states.get(name)) for name, before in kept.items()}
        is_over = len(later) == len(kept)
        by = max(later.values(), key=lambda change: change.id).actor_name if is_over else ""
        said = [before.later.status if before.later else "" for before in kept.values()]
        # What was overtaken and says that they send again stays so: a later pause has a message of its own. One that
        # still says an end is put right.
        if row.id != entry.undoes and row.overtaken_by and by and {*said} == {"active"}:
            continue
        if fresh != kept or by != row.overtaken_by or row.id == entry.undoes:
            tx.update(audit, _c.id == row.id, undoable=write_undoable(fresh), overtaken_by=by)
            # A message that was overtaken before has no more news for its thread; one that this Undo lets count again
            # isn't what it undid.
            is_news = row.id == entry.undoes or not (row.overtaken_by or row.undone_by or entry.undoes)
            _repaint(tx, row.id, history=number if is_news else 0)


def is_told(tx: Transaction, entry: AuditEntry) -> bool:
    """True if the bot's messages of earlier changes tell of all sequences of this one."""
    told: set[str] = set()
    for row in _followed(tx, entry.workspace, _kept_true(tx)):
        names = set(entry.sequences) & read_undoable(row.undoable).keys()
        if names and tx.has(messages.tells_of(row.id)):
            told |= names
    return told == set(entry.sequences)


def _repaint(tx: Transaction, change: int, *, history: int) -> None:
    """Queue a repaint of the message of a change; what entry `history` tells of it, if there is one, goes to its thread."""
    messages.redraw(tx, messages.tells_of(change), clicked=True)
    if not history:
        return
    for post in tx.execute(sa.select(posts).where(messages.tells_of(change), posts.c.state == "sent")).all():
        told = PlannedPost(
            dedupe=f"{HISTORY}:{post.id}:{history}",
            channel=post.channel,
            kind=HISTORY,
            thread_ts=post.thread_ts or post.ts,
            undo=history,
        )
        messages.plan(tx, [(post.workspace, told)])


class Verdict(StrEnum):
    """The outcomes of an answer."""

    LATE = "late"
    GIVEN = "given"
    NOT_YOURS = "not yours"
    UNKNOWN = "unknown"
    OPEN = "open"
    """It would count now."""


@frozen
class Answered:
    """The verdict, and the question where it is known."""

    verdict: Verdict
    workspace: str = ""
    data: str = ""


class Confirmations(Repository):
    """Questions and their answers; each is answered once."""

    @writes
    def ask(self, tx: Transaction, data: str, *, person: str, workspace: str, seconds: float) -> str:
        """Keep a question for so long; returns its id."""
        tx.delete(questions, questions.c.ends_at < tx.now - QUESTION_SECONDS)
        nonce = f"q_{secrets.token_hex(8)}"
        values = {"person": person, "workspace": workspace, "data": data, "ends_at": tx.now + seconds}
        tx.execute(sa.insert(questions).values(id=nonce, **values))
        return nonce

    @reads
    def look(self, tx: Transaction, nonce: str, person: str) -> Answered:
        """The outcome that an answer would have; it uses nothing up."""
        row = tx.find(questions, id=nonce)
        if row is None:
            return Answered(verdict=Verdict.UNKNOWN)
        verdict = Verdict.OPEN
        if row.person != person:
            verdict = Verdict.NOT_YOURS
        elif row.given_at is not None:
            verdict = Verdict.GIVEN
        elif row.ends_at <= tx.now:
            verdict = Verdict.LATE
        return Answered(verdict=verdict, workspace=row.workspace, data=row.data)

    @writes
    def take(self, tx: Transaction, nonce: str) -> bool:
        """Use an open question up; False: another click has."""
        free = (questions.c.id == nonce) & questions.c.given_at.is_(None)
        return tx.update(questions, free, given_at=tx.now) == 1
