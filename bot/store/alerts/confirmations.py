"""Pending confirmations and Undos; each counts once.

A nonce is bound to a person and expires, so that no other person, second click or old message can confirm. Anyone can
undo. An Undo knows the audit entry that it reverts: a sequence that was paused or resumed after it is left as is.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from bot.store.alerts import changes
from bot.store.alerts.changes import Question, read_question
from bot.store.alerts.sequence_changes import revisions_of
from bot.store.db.engine import Repository, Transaction, reads, writes
from bot.store.db.schema import audit, questions
from shared.records.audit import AuditEntry
from shared.records.sequence_changes import UNDER_WAY

KEPT = 604_800.0
"""Seconds for which an ended question is still known as such."""


class Verdict(StrEnum):
    """What an answer comes to."""

    TAKEN = "taken"
    LATE = "late"
    GIVEN = "given"
    NOT_YOURS = "not yours"
    MOVED = "moved"
    """An Undo of something that was changed since."""
    UNKNOWN = "unknown"
    OPEN = "open"
    """It would count now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The verdict, and the question where it is known."""

    verdict: Verdict
    question: Question | None = None
    moved: Mapping[str, AuditEntry] = field(default_factory=dict)
    """Those of an Undo's sequences that were changed since, with the last change of each."""


def _ask(tx: Transaction, question: Question, *, seconds: float) -> str:
    tx.execute(sa.delete(questions).where(questions.c.ends_at < tx.now - KEPT))
    nonce = f"q_{secrets.token_hex(8)}"
    tx.execute(
        sa.insert(questions).values(
            id=nonce,
            workspace=question.workspace,
            person=question.person,
            line=question.line,
            names=json.dumps(
                {
                    "names": list(question.names),
                    "since": question.since,
                    "revisions": dict(question.revisions),
                }
            ),
            ends_at=tx.now + seconds,
        )
    )
    return nonce


def keep_undo(tx: Transaction, line: str, names: Sequence[str], *, workspace: str, seconds: float) -> str:
    """Keep an Undo of the newest entry of the workspace's audit, within a transaction; returns its nonce."""
    since = tx.scalar(sa.select(sa.func.max(audit.c.id)).where(audit.c.workspace == workspace)) or 0
    return _ask(tx, _undo(tx, line, names, workspace=workspace, since=since), seconds=seconds)


def _undo(tx: Transaction, line: str, names: Sequence[str], *, workspace: str, since: int) -> Question:
    known = revisions_of(tx, workspace, names)
    certain = {name: revision for name, revision in known.items() if revision != UNDER_WAY}
    return Question(line=line, person="", workspace=workspace, names=names, since=since, revisions=certain)


class Confirmations(Repository):
    """Questions and their answers."""

    @writes
    def ask(self, tx: Transaction, question: Question, *, seconds: float) -> str:
        """Keep a question for so long; returns its nonce."""
        return _ask(tx, question, seconds=seconds)

    @writes
    def ask_undo(
        self, tx: Transaction, line: str, names: Sequence[str], *, workspace: str, person: str, seconds: float
    ) -> str:
        """Keep an Undo of what this person has just done to these sequences; returns its nonce."""
        mine = (audit.c.workspace == workspace) & (audit.c.actor_id == person)
        since = tx.scalar(sa.select(sa.func.max(audit.c.id)).where(mine)) or 0
        return _ask(tx, _undo(tx, line, names, workspace=workspace, since=since), seconds=seconds)

    @reads
    def look(self, tx: Transaction, nonce: str, person: str) -> Answered:
        """What an answer would come to; it uses nothing up."""
        return _look(tx, nonce, person)

    @writes
    def answer(self, tx: Transaction, nonce: str, person: str) -> Answered:
        """Use a question up, if it is this person's and still open."""
        found = _look(tx, nonce, person)
        if found.verdict is not Verdict.OPEN:
            return found
        free = (questions.c.id == nonce) & questions.c.given_at.is_(None)
        taken = tx.execute(sa.update(questions).where(free).values(given_at=tx.now)).rowcount == 1
        changes.repaint(tx, [nonce])
        return replace(found, verdict=Verdict.TAKEN if taken else Verdict.GIVEN)

    @writes
    def give_back(self, tx: Transaction, nonce: str) -> None:
        """Open a question again whose answer could not be carried out."""
        tx.execute(sa.update(questions).where(questions.c.id == nonce).values(given_at=None))

    @writes
    def carried_out(self, tx: Transaction, nonce: str, name: str) -> None:
        """What was answered is done: the line with this Undo says by whom."""
        tx.execute(sa.update(questions).where(questions.c.id == nonce).values(given_name=name))
        changes.repaint(tx, [nonce])

    @reads
    def undo_ended(self, tx: Transaction, nonce: str) -> tuple[str, str]:
        """Who used an Undo, and who changed since what it would take back; empty while it counts."""
        c = questions.c
        row = tx.execute(sa.select(c.given_name, c.overtaken_by).where(c.id == nonce)).one_or_none()
        return (row.given_name or "", row.overtaken_by or "") if row else ("", "")


def _look(tx: Transaction, nonce: str, person: str) -> Answered:
    row = tx.execute(sa.select(questions).where(questions.c.id == nonce)).one_or_none()
    if row is None:
        return Answered(verdict=Verdict.UNKNOWN)
    question, verdict = read_question(row), _verdict(row, person, now=tx.now)
    moved = changes.changed_since(tx, question) if verdict is Verdict.OPEN and question.since else {}
    if moved and len(moved) == len(question.names):
        verdict = Verdict.MOVED
    return Answered(verdict=verdict, question=question, moved=moved)


def _verdict(row: sa.Row[Any], person: str, *, now: float) -> Verdict:
    if row.person not in {"", person}:
        return Verdict.NOT_YOURS
    if row.given_at is not None:
        return Verdict.GIVEN
    # An earlier version stored an Undo without the change that it undoes: it could revert a newer one.
    is_undo_of_nothing = not row.person and not read_question(row).since
    return Verdict.LATE if row.ends_at <= now or is_undo_of_nothing else Verdict.OPEN
