"""Questions that wait for an answer; each is answered once.

A question is bound to a person and expires, so that no other person, second click or old message can answer it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa

from shared.store.db.engine import Repository, Transaction, reads, writes
from shared.store.db.schema import questions

KEPT = 604_800.0
"""Seconds for which an ended question is still known as such."""


class Verdict(StrEnum):
    """What an answer comes to."""

    TAKEN = "taken"
    LATE = "late"
    GIVEN = "given"
    NOT_YOURS = "not yours"
    UNKNOWN = "unknown"
    OPEN = "open"
    """It would count now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The verdict, and the question where it is known."""

    verdict: Verdict
    workspace: str = ""
    data: str = ""
    result: str = ""
    """What the answer that was given came to, once it is known."""


class Confirmations(Repository):
    """Questions and their answers."""

    @writes
    def ask(self, tx: Transaction, data: str, *, person: str, workspace: str, seconds: float) -> str:
        """Keep a question for so long; returns its id."""
        tx.execute(sa.delete(questions).where(questions.c.ends_at < tx.now - KEPT))
        nonce = f"q_{secrets.token_hex(8)}"
        values = {"person": person, "workspace": workspace, "data": data, "ends_at": tx.now + seconds}
        tx.execute(sa.insert(questions).values(id=nonce, **values))
        return nonce

    @reads
    def look(self, tx: Transaction, nonce: str, person: str) -> Answered:
        """What an answer would come to; it uses nothing up."""
        row = tx.execute(sa.select(questions).where(questions.c.id == nonce)).one_or_none()
        if row is None:
            return Answered(verdict=Verdict.UNKNOWN)
        verdict = Verdict.OPEN
        if row.person != person:
            verdict = Verdict.NOT_YOURS
        elif row.given_at is not None:
            verdict = Verdict.GIVEN
        elif row.ends_at <= tx.now:
            verdict = Verdict.LATE
        return Answered(verdict=verdict, workspace=row.workspace, data=row.data, result=row.result)

    @writes
    def take(self, tx: Transaction, nonce: str) -> bool:
        """Use an open question up; False: another click has."""
        free = (questions.c.id == nonce) & questions.c.given_at.is_(None)
        return tx.execute(sa.update(questions).where(free).values(given_at=tx.now)).rowcount == 1

    @writes
    def settle(self, tx: Transaction, nonce: str, result: str) -> None:
        """Keep what the answer came to."""
        tx.execute(sa.update(questions).where(questions.c.id == nonce).values(result=result))
