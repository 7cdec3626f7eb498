"""The turns of replies, and the absences of people.

A turn is chosen in the transaction that plans its posts, so that no crash skips or doubles it. Who had the last turn
of a rota is a fact, which is locked until the choice is committed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Any

import sqlalchemy as sa

from shared.frozen import frozen
from shared.records.audit import Actor
from shared.store import facts, jobs
from shared.store.db.engine import Repository, Transaction, writes
from shared.store.db.schema import alerts
from shared.store.facts import ABSENCE, ROTA, Fact


@frozen
class Candidates:
    """The people who may get the turn of a reply, as the settings, the clock and Slack have it."""

    rota: str
    people: tuple[str, ...]
    """The people in the order in which they take turns."""
    gone: frozenset[str] = frozenset()
    """The people who aren't members any more."""
    names: Mapping[str, str] = field(default_factory=dict)
    group: str = ""
    """The group that is mentioned when it is nobody's turn."""
    pass_after: float | None = None
    quiet_until: float | None = None
    """Nobody is mentioned before, so nothing passes on either."""

    def ends_at(self, now: float) -> float | None:
        """The time at which a turn passes on that begins now."""
        return None if self.pass_after is None else (self.quiet_until or now) + self.pass_after


@frozen
class Turn:
    """The turn of a reply; without an owner it is the group's."""

    owner: str = ""
    name: str = ""

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that the alert's row keeps of it."""
        return {"owner": self.owner, "owner_name": self.name}


NO_TURN = Turn().columns


def take(tx: Transaction, candidates: Candidates, *, passed: Collection[str] = ()) -> Turn:
    """Choose the next turn and write it down; it is nobody's where all are away or had it before."""
    away = {absence.key for absence in facts.listed(tx, ABSENCE) if _lasts(absence, now=tx.now)}
    free = {*candidates.people} - candidates.gone - away - {*passed}
    if not free:
        return Turn()
    people, last = candidates.people, str(facts.lock(tx, ROTA, candidates.rota).get("last", ""))
    start = people.index(last) + 1 if last in people else 0
    owner = next((one for one in (*people[start:], *people[:start]) if one in free), "")
    facts.put(tx, ROTA, candidates.rota, {"last": owner})
    return Turn(owner=owner, name=candidates.names.get(owner, ""))


class Turns(Repository):
    """People who say that they are away."""

    @writes
    def leave(self, tx: Transaction, person: Actor, *, until: float | None) -> None:
        """Write down that a person is away, and have their turns passed on; None: until they say that they are back."""
        facts.put(tx, ABSENCE, person.id, at=until)
        mine = (alerts.c.owner == person.id) & alerts.c.turn_ends_at.is_not(None)
        passed = sa.func.trim(alerts.c.passed + " " + alerts.c.owner)
        over = sa.update(alerts).where(mine).values(turn_ends_at=tx.now, passed=passed, **NO_TURN)
        jobs.put(tx, jobs.REMIND, *tx.scalars(over.returning(alerts.c.id)), how="sooner")

    @writes
    def come_back(self, tx: Transaction, person: str) -> bool:
        """Write down that a person is back; False if they weren't away."""
        absence = facts.find(tx, ABSENCE, person)
        return facts.drop(tx, ABSENCE, person) and absence is not None and _lasts(absence, now=tx.now)


def _lasts(absence: Fact, *, now: float) -> bool:
    return absence.at is None or absence.at > now
