"""Turns that pass on to the next person, and people who say that they are away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from bot.store.alerts.claims import posted_cards
from bot.store.db.columns import NOW
from bot.store.db.engine import Repository, Transaction, reads, writes
from bot.store.db.schema import absences, alerts, posts
from bot.store.queue import outbox
from bot.store.queue.alert_row import ALERT_ROWS, AlertRow, Due, read_alerts
from bot.store.queue.outbox import PlannedPost
from bot.store.queue.post_kinds import ALERT
from bot.store.queue.posts import State
from bot.store.queue.turns import IS_AWAY, Candidates, Turn, take
from shared.domain.wall_clock import moment
from shared.records.audit import Absence, Actor

PASSES = 1
"""How often a reply passes to another person before it is the group's."""
PASSED_AT_ONCE = 200
"""Replies that one sweep passes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A turn that has passed on, for each card of the reply in a channel."""

    due: Due
    before: AlertRow
    """The alert as it was."""
    turn: Turn
    candidates: Candidates


_FIRST_SENT = sa.select(sa.func.min(posts.c.sent_at)).where(
    posts.c.alert_id == alerts.c.id, posts.c.kind == ALERT, posts.c.state == State.SENT
)
_DUE = (
    sa.select(alerts.c.id, _FIRST_SENT.scalar_subquery().label("shown_at"))
    .where(alerts.c.turn_ends_at <= NOW, alerts.c.waiting_since.is_not(None))
    .order_by(alerts.c.turn_ends_at)
    .limit(PASSED_AT_ONCE)
    .with_for_update(skip_locked=True, of=alerts)
)
_ROWS = ALERT_ROWS.where(alerts.c.id.in_(sa.bindparam("ids", expanding=True)))
_PASSED = sa.func.trim(alerts.c.passed + " " + alerts.c.owner)


class Turns(Repository):
    """Turns that pass on, and people who are away."""

    @reads
    def are_due(self, tx: Transaction) -> bool:
        """Whether a turn is over."""
        over = sa.select(alerts.c.id).where(alerts.c.turn_ends_at <= NOW, alerts.c.waiting_since.is_not(None))
        return tx.execute(over.limit(1), {"now": tx.now}).first() is not None

    @writes
    def pass_on(
        self,
        tx: Transaction,
        candidates_of: Callable[[AlertRow, float], Candidates | None],
        plan: Callable[[Sequence[Passed], float], Sequence[tuple[str, PlannedPost]]],
    ) -> int:
        """Pass on the turns that are over; returns how many there were.

        `candidates_of`: None where the alert's rota isn't in the settings any more.
        """
        due = {row.id: row.shown_at for row in tx.execute(_DUE, {"now": tx.now})}
        passed: list[Passed] = []
        for alert in read_alerts(tx, _ROWS, {"ids": [*due]}) if due else ():
            candidates = candidates_of(alert, tx.now)
            if candidates is None:
                _set(tx, alert.id, {"turn_ends_at": None})
            elif (later := _ends_later(alert, candidates, due[alert.id], now=tx.now)) is not None:
                _set(tx, alert.id, {"turn_ends_at": later})
            else:
                passed += _pass(tx, alert, candidates)
        for workspace, planned in plan(passed, tx.now):
            outbox.plan(tx, planned, workspace=workspace)
        return len(due)

    @writes
    def leave(self, tx: Transaction, person: Actor, *, until: float | None) -> None:
        """Write down that a person is away, and have their turns passed on."""
        tx.execute(sa.delete(absences).where(absences.c.person == person.id))
        tx.execute(sa.insert(absences).values(person=person.id, name=person.name, since=tx.now, until=until))
        mine = (alerts.c.owner == person.id) & alerts.c.turn_ends_at.is_not(None)
        over = {"turn_ends_at": tx.now, "passed": _PASSED, "owner": "", "owner_name": ""}
        tx.execute(sa.update(alerts).where(mine).values(**over))

    @writes
    def come_back(self, tx: Transaction, person: str) -> bool:
        """Write down that a person is back; False if they weren't away."""
        gone = tx.execute(sa.delete(absences).where(absences.c.person == person, IS_AWAY), {"now": tx.now})
        return gone.rowcount > 0

    @reads
    def absences(self, tx: Transaction) -> Sequence[Absence]:
        """Who is away, by name."""
        query = sa.select(absences).where(IS_AWAY).order_by(absences.c.name)
        return [
            Absence(person=row.person, name=row.name, until=moment(row.until))
            for row in tx.execute(query, {"now": tx.now})
        ]


def _ends_later(
    alert: AlertRow, candidates: Candidates, shown_at: float | None, *, now: float
) -> float | None:
    """When the turn ends that began with the card or the end of a snooze; None: now."""
    if candidates.quiet_until:
        return candidates.ends_at(now)
    if shown_at is None:  # it is still on its way to the channel
        return now + (candidates.pass_after or 60.0)
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
        "nudges": sa.case((alerts.c.nudges == 0, 1), else_=alerts.c.nudges),  # this was its reminder
    }
    _set(tx, alert.id, values)
    # Of the cards whose route has the rota; others mention whom their own rule names.
    called = (posts.c.alert_id == alert.id) & (posts.c.kind == ALERT) & posts.c.mention.in_(had)
    cards = [one for one in posted_cards(tx, "turn", [alert.id]) if one.mention in {"", *had}]
    tx.execute(sa.update(posts).where(called).values(mention=turn.owner or candidates.group))
    outbox.repaint(tx, [alert.id])
    return [Passed(due=one, before=alert, turn=turn, candidates=candidates) for one in cards]
