"""Whose turn a reply is: chosen in the transaction that plans its posts, so that no crash skips or doubles a turn.

Who had the last turn of a rota is a fact, which is locked until the choice is committed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.domain.rota import next_of
from shared.store import facts
from shared.store.db.engine import Transaction
from shared.store.facts import ABSENCE, ROTA, Fact


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
    last = str(facts.lock(tx, ROTA, candidates.rota).get("last", ""))
    owner = next_of(people, last=last, free=free)
    facts.put(tx, ROTA, candidates.rota, {"last": owner})
    return Turn(owner=owner, name=candidates.names.get(owner, ""))


def absent(tx: Transaction) -> list[Fact]:
    """Who said that they are away, until `at`; None: until they say that they are back."""
    return [one for one in facts.listed(tx, ABSENCE) if is_away(one, now=tx.now)]


def is_away(absence: Fact, *, now: float) -> bool:
    """Whether an absence isn't over."""
    return absence.at is None or absence.at > now


def _away(tx: Transaction, people: Collection[str]) -> set[str]:
    return {one.key for one in absent(tx)}.intersection(people)
