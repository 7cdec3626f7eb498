"""What was asked of one person and waits for their answer; and what an Undo brings back. Each is answered once.

The nonce is bound to the person and ends with its time, so that neither somebody else, nor a second click, nor an
old message does what was confirmed.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from bot.ledger.tables import questions

KEPT = 604_800.0
"""Seconds for which an ended question is still known as such."""


class Verdict(StrEnum):
    """What an answer comes to."""

    TAKEN = "taken"
    LATE = "late"
    GIVEN = "given"
    NOT_YOURS = "not yours"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`line` is what a yes means; `person` is a Slack id, or empty for anybody; `names` are what it touches."""

    line: str
    person: str
    workspace: str
    names: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The verdict, and the question where it is known."""

    verdict: Verdict
    question: Question | None = None


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
            names=json.dumps(list(question.names)),
            ends_at=now + seconds,
        )
    )
    return nonce


def answer(connection: sa.Connection, nonce: str, person: str, *, now: float) -> Answered:
    """Use a question up, if it is this person's and still open."""
    mine = questions.c.person.in_(("", person))
    free = (questions.c.id == nonce) & mine & questions.c.given_at.is_(None) & (questions.c.ends_at > now)
    taken = connection.execute(sa.update(questions).where(free).values(given_at=now)).rowcount == 1
    row = connection.execute(sa.select(questions).where(questions.c.id == nonce)).one_or_none()
    if row is None:
        return Answered(verdict=Verdict.UNKNOWN)
    return Answered(verdict=Verdict.TAKEN if taken else _why(row, person), question=_read(row))


def _why(row: sa.Row[Any], person: str) -> Verdict:
    if row.person not in {"", person}:
        return Verdict.NOT_YOURS
    return Verdict.GIVEN if row.given_at is not None else Verdict.LATE


def _read(row: sa.Row[Any]) -> Question:
    return Question(
        line=row.line, person=row.person, workspace=row.workspace, names=tuple(json.loads(row.names or "[]"))
    )
