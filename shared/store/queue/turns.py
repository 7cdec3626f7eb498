"""Whose turn a reply is: chosen in the transaction that plans its posts, so that no crash skips or doubles a turn.

Each rota has a row with who had the last turn; it is locked until the choice is committed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import sqlalchemy as sa

from shared.domain.rota import next_of
from shared.store.db.columns import NOW
from shared.store.db.engine import Transaction
from shared.store.db.schema import absences, rota_turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Who may get the turn of a reply, as the settings, the clock and Slack have it."""

    rota: str
    people: tuple[str, ...]
    """In the order in which they take turns."""
    gone: frozenset[str] = frozenset()
    """Those who are no members any more."""
    names: Mapping[str, str] = field(default_factory=dict)
    group: str = ""
    """Who is mentioned when it is nobody's turn."""
    pass_after: float | None = None
    quiet_until: float | None = None
    """Nobody is mentioned before, so nothing passes on either."""

    def ends_at(self, now: float) -> float | None:
        """When a turn passes on that begins now."""
        return None if self.pass_after is None else (self.quiet_until or now) + self.pass_after


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Whose turn a reply is; without an owner it is the group's."""

    owner: str = ""
    name: str = ""

    @property
    def columns(self) -> dict[str, Any]:
        return {"owner": self.owner, "owner_name": self.name}


def take(tx: Transaction, candidates: Candidates, *, passed: Collection[str] = ()) -> Turn:
    """The next turn, written down; nobody's where all are away or had it before."""
    people = candidates.people
    free = {*people} - candidates.gone - _away(tx, people) - {*passed}
    if not free:
        return Turn()
    last = tx.scalar(_lock(tx.dialect), {"rota": candidates.rota, "last": ""}) or ""
    owner = next_of(people, last=last, free=free)
    tx.execute(_TAKEN, {"of": candidates.rota, "person": owner})
    return Turn(owner=owner, name=candidates.names.get(owner, ""))


@cache
def _lock(dialect: Any) -> Any:
    """Lock the row of a rota, which is made if it isn't there, and return who had the last turn."""
    new = dialect.insert(rota_turns)
    kept = {"last": rota_turns.c.last}
    made = new.on_conflict_do_update(index_elements=["rota"], set_=kept)
    return made.returning(rota_turns.c.last)


_TAKEN = (
    sa.update(rota_turns).where(rota_turns.c.rota == sa.bindparam("of")).values(last=sa.bindparam("person"))
)
IS_AWAY = sa.or_(absences.c.until.is_(None), absences.c.until > NOW)
_AWAY = sa.select(absences.c.person).where(
    absences.c.person.in_(sa.bindparam("people", expanding=True)), IS_AWAY
)


def _away(tx: Transaction, people: Collection[str]) -> set[str]:
    """Who said that they are away."""
    if not people:
        return set()
    return {*tx.scalars(_AWAY, {"people": sorted(people), "now": tx.now})}
