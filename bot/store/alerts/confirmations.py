"""What was asked of one person and waits for their answer; and what an Undo brings back. Each is answered once.

The nonce is bound to the person and ends with its time, so that neither somebody else, nor a second click, nor an
old message does what was confirmed. An Undo is anybody's, and knows the entry of the audit that it undoes: a sequence
that was paused or resumed after that is left as it is.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from bot.store.alerts.records import read_entry
from bot.store.db.schema import audit, questions
from shared.domain.records import AuditEntry

KEPT = 604_800.0
"""Seconds for which an ended question is still known as such."""


class Verdict(StrEnum):
    """What an answer comes to."""

    TAKEN = "taken"
    LATE = "late"
    GIVEN = "given"
    NOT_YOURS = "not yours"
    MOVED = "moved"
    """An Undo of what somebody has changed since."""
    UNKNOWN = "unknown"
    OPEN = "open"
    """It would count now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`line` is what a yes means; `person` is a Slack id, or empty for anybody; `names` are what it touches."""

    line: str
    person: str
    workspace: str
    names: Sequence[str] = ()
    since: int = 0
    """The entry of the audit that an Undo undoes; 0: this is no Undo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The verdict, and the question where it is known."""

    verdict: Verdict
    question: Question | None = None
    moved: Mapping[str, AuditEntry] = field(default_factory=dict)
    """Those of an Undo's sequences that were changed since, with the last change of each."""


def ask(connection: sa.Connection, question: Question, *, now: float, seconds: float) -> str:
    """Keep a question; returns its nonce."""
    connection.execute(sa.delete(questions).where(questions.c.ends_at < now - KEPT))
    nonce = f"q_{secrets.token_hex(8)}"
    connection.execute(
        sa.insert(questions).values(
            id=nonce,
            workspace=question.workspace,
            person=question.person,
            line=question.line,
            names=json.dumps({"names": list(question.names), "since": question.since}),
            ends_at=now + seconds,
        )
    )
    return nonce


def last_entry(connection: sa.Connection, workspace: str, person: str) -> int:
    """The number of a person's newest entry in the audit: what they have just done."""
    mine = (audit.c.workspace == workspace) & (audit.c.actor_id == person)
    return connection.scalar(sa.select(sa.func.max(audit.c.id)).where(mine)) or 0


def look(connection: sa.Connection, nonce: str, person: str, *, now: float) -> Answered:
    """What an answer would come to; it uses nothing up."""
    row = connection.execute(sa.select(questions).where(questions.c.id == nonce)).one_or_none()
    if row is None:
        return Answered(verdict=Verdict.UNKNOWN)
    question, verdict = _read(row), _verdict(row, person, now=now)
    moved = _changed_since(connection, question) if verdict is Verdict.OPEN and question.since else {}
    if moved and len(moved) == len(question.names):
        verdict = Verdict.MOVED
    return Answered(verdict=verdict, question=question, moved=moved)


def answer(connection: sa.Connection, nonce: str, person: str, *, now: float) -> Answered:
    """Use a question up, if it is this person's and still open."""
    found = look(connection, nonce, person, now=now)
    if found.verdict is not Verdict.OPEN:
        return found
    free = (questions.c.id == nonce) & questions.c.given_at.is_(None)
    taken = connection.execute(sa.update(questions).where(free).values(given_at=now)).rowcount == 1
    return replace(found, verdict=Verdict.TAKEN if taken else Verdict.GIVEN)


def give_back(connection: sa.Connection, nonce: str) -> None:
    """Open a question again whose answer could not be carried out."""
    connection.execute(sa.update(questions).where(questions.c.id == nonce).values(given_at=None))


def _verdict(row: sa.Row[Any], person: str, *, now: float) -> Verdict:
    if row.person not in {"", person}:
        return Verdict.NOT_YOURS
    if row.given_at is not None:
        return Verdict.GIVEN
    undo_of_nothing = (
        not row.person and not _read(row).since
    )  # kept by a version that did not know what it undoes
    return Verdict.LATE if row.ends_at <= now or undo_of_nothing else Verdict.OPEN


def _changed_since(connection: sa.Connection, undo: Question) -> dict[str, AuditEntry]:
    """The last pause or resumption of each sequence after the change that an Undo undoes."""
    later = (audit.c.workspace == undo.workspace) & (audit.c.id > undo.since)
    entries = [
        read_entry(row) for row in connection.execute(sa.select(audit).where(later).order_by(audit.c.id))
    ]
    changes = [one for one in entries if _CHANGE.match(one.command) and not _NONE.match(one.result)]
    words = [(frozenset(_WORD.findall(one.result)), one) for one in changes]
    return {name: one for name in undo.names for ids, one in words if name in ids}


_CHANGE = re.compile(r"\W*(pause|resume)\b", re.IGNORECASE)
_NONE = re.compile(r"refused|failed")
_WORD = re.compile(r"[^\s(),:]+")


def _read(row: sa.Row[Any]) -> Question:
    kept = json.loads(row.names or "[]")
    kept = kept if isinstance(kept, dict) else {"names": kept}
    return Question(
        line=row.line,
        person=row.person,
        workspace=row.workspace,
        names=tuple(kept["names"]),
        since=int(kept.get("since") or 0),
    )
