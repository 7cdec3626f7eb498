"""Turns that pass on to the next person, and people who say that they are away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from shared.domain.wall_clock import moment
from shared.records.audit import Absence, Actor
from shared.store import facts
from shared.store.db.engine import Repository, Transaction, reads, writes
from shared.store.db.schema import alerts, posts
from shared.store.facts import ABSENCE
from shared.store.queue import outbox
from shared.store.queue.alert_row import AlertRow, Due
from shared.store.queue.cards import look_now, posted_cards
from shared.store.queue.post_kinds import ALERT
from shared.store.queue.turns import Candidates, Turn, absent, is_away, take

PASSES = 1
"""How often a reply passes to another person before it is the group's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A turn that has passed on, for each card of the reply in a channel."""

    due: Due
    before: AlertRow
    """The alert as it was."""
    turn: Turn
    candidates: Candidates


_PASSED = sa.func.trim(alerts.c.passed + " " + alerts.c.owner)


class Turns(Repository):
    """People who say that they are away."""

    @writes
    def leave(self, tx: Transaction, person: Actor, *, until: float | None) -> None:
        """Write down that a person is away, and have their turns passed on."""
        facts.put(tx, ABSENCE, person.id, {"name": person.name}, at=until)
        mine = (alerts.c.owner == person.id) & alerts.c.turn_ends_at.is_not(None)
        over = {"turn_ends_at": tx.now, "passed": _PASSED, "owner": "", "owner_name": ""}
        left = tx.scalars(sa.update(alerts).where(mine).values(**over).returning(alerts.c.id)).all()
        look_now(tx, left)

    @writes
    def come_back(self, tx: Transaction, person: str) -> bool:
        """Write down that a person is back; False if they weren't away."""
        gone = facts.find(tx, ABSENCE, person)
        return facts.drop(tx, ABSENCE, person) and gone is not None and is_away(gone, now=tx.now)

    @reads
    def absences(self, tx: Transaction) -> Sequence[Absence]:
        """Who is away, by name."""
        away = [
            Absence(person=one.key, name=str(one.value.get("name", "")), until=moment(one.at))
            for one in absent(tx)
        ]
        return sorted(away, key=lambda one: one.name)


def pass_on(
    tx: Transaction, alert: AlertRow, candidates: Candidates | None, shown_at: float
) -> Sequence[Passed]:
    """Pass on a turn that is over, unless it began later than it seems; None: the rota isn't in the settings any more.

    `shown_at`: when the alert's first card was sent.
    """
    if candidates is None:
        _set(tx, alert.id, {"turn_ends_at": None})
        return ()
    later = _ends_later(alert, candidates, shown_at, now=tx.now)
    if later is not None:
        _set(tx, alert.id, {"turn_ends_at": later})
        return ()
    return _pass(tx, alert, candidates)


def _ends_later(alert: AlertRow, candidates: Candidates, shown_at: float, *, now: float) -> float | None:
    """When the turn ends that began with the card or the end of a snooze; None: now."""
    if candidates.quiet_until:
        return candidates.ends_at(now)
    began = max(shown_at, alert.waiting_since or 0.0)
    ends = began + (candidates.pass_after or 0.0)
    return ends if alert.owner and ends > now else None


def _set(tx: Transaction, alert: str, values: Mapping[str, Any]) -> None:
    tx.execute(sa.update(alerts).where(alerts.c.id == alert).values(**values))


def _pass(tx: Transaction, alert: AlertRow, candidates: Candidates) -> list[Passed]:
    had = [*alert.passed.split(), *alert.owner.split()]
    in_rota = {*candidates.people}.intersection(had)
    turn = take(tx, candidates, passed=had) if len(in_rota) <= PASSES else Turn()
    values = {
        **turn.columns,
        "passed": " ".join(had),
        "turn_ends_at": candidates.ends_at(tx.now) if turn.owner else None,
        "nudges": max(alert.nudges, 1),  # this was its reminder
    }
    _set(tx, alert.id, values)
    # Of the cards whose route has the rota; others mention whom their own rule names.
    called = (posts.c.alert_id == alert.id) & (posts.c.kind == ALERT) & posts.c.mention.in_(had)
    cards = [one for one in posted_cards(tx, "turn", [alert.id]) if one.mention in {"", *had}]
    tx.execute(sa.update(posts).where(called).values(mention=turn.owner or candidates.group))
    outbox.repaint(tx, [alert.id])
    return [Passed(due=one, before=alert, turn=turn, candidates=candidates) for one in cards]
