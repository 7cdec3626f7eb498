"""Advances the campaign in fixed steps of service time, so that the number of calls makes no difference."""

from __future__ import annotations

import asyncio
import math
import time
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from sandbox.service.base.clock import DAY, HOUR, Clock
from sandbox.service.base.schema import (
    api_keys,
    attempts,
    deliveries,
    domains,
    events,
    inboxes,
    leads,
    responses,
    sequences,
    world,
)
from sandbox.service.base.storage import Storage
from sandbox.service.campaign import health_review, scenarios, triggered_events
from sandbox.service.campaign.responses import Response, Work, apply_response
from sandbox.service.campaign.rows import fresh_lead
from sandbox.service.campaign.sending import Round

QUANTUM = 1.0
"""Seconds of service time that are simulated at once; a huge account has something to do in each, and takes a minute."""
HUGE_QUANTUM = 60.0
KEPT_DAYS = 30
KEPT_DELIVERIES = 10_000
REPLIES = ("lead.replied", "reply.interested", "reply.ooo")
"""The reply history, which is kept forever (document: DELETE /leads/{id})."""
_SLICE_SECONDS = 0.008

_WORLD = select(world).with_for_update(skip_locked=True)
_SIMULATED = update(world).values(simulated_until=bindparam("until"), acts_done=bindparam("done"))
_NEXT = select(
    *(
        select(func.min(column)).scalar_subquery()
        for column in (inboxes.c.next_slot_at, responses.c.due_at, domains.c.until)
    )
)
_DUE = (
    select(responses)
    .where(responses.c.due_at <= bindparam("until"))
    .order_by(responses.c.due_at, responses.c.pk)
)
_QUEUES = (
    select(sequences.c.pk, sequences.c.workspace_pk, func.sum(inboxes.c.daily_limit).label("capacity"))
    .join(inboxes, inboxes.c.sequence_pk == sequences.c.pk)
    .where(sequences.c.status == "active")
    .group_by(sequences.c.pk, sequences.c.workspace_pk)
    .order_by(sequences.c.pk)
)
_QUEUED = select(func.count()).where(
    leads.c.sequence_pk == bindparam("sequence"), leads.c.inbox_pk.is_(None), leads.c.due_at.is_not(None)
)


class Simulation:
    """Moves the account on to the present of its clock, in slices that keep the event loop free."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._reached = 0.0

    async def advance(self, clock: Clock, *, exactly: bool = False) -> bool:
        """Catch up with the clock; False when another process is at it.

        The last part of a quantum waits for the next call, unless everything up to now shall have happened `exactly`
        (to the second).
        """
        until = clock.at(time.time())
        if not self._storage.shared and not exactly and until < self._reached + QUANTUM:
            return True
        while True:
            more = await self._storage.write(_slice, until=until, exactly=exactly)
            if more is not True:
                self._reached = await self._storage.read(simulated_until)
                return more is False
            await asyncio.sleep(0)

    def start_over(self) -> None:
        self._reached = 0.0


def _slice(connection: Connection, *, until: float, exactly: bool) -> bool | None:
    """Some quanta; True when there are more to do, None when another process holds the world."""
    state = connection.execute(_WORLD).first()
    if state is None:
        return None
    slice_ = _Slice(connection, state, scenarios.load(state.scenario))
    return slice_.run(until=until, exactly=exactly)


class _Slice:
    """Some quanta of one transaction."""

    def __init__(self, connection: Connection, state: Row[Any], scenario: scenarios.Scenario) -> None:
        self._connection = connection
        self._state = state
        self._scenario = scenario
        self._quantum = HUGE_QUANTUM if scenario.account == "huge" else QUANTUM
        self._done: int = state.acts_done
        """How many of the scenario's events are done."""

    def run(self, *, until: float, exactly: bool) -> bool:
        """Whether there are more to do."""
        ends = time.monotonic() + _SLICE_SECONDS
        at, quantum = float(self._state.simulated_until), self._quantum
        while at + quantum <= until and time.monotonic() < ends:
            start = self._skip_idle(at, until=until)
            at = start + quantum if start + quantum <= until else start
            self._simulate(start=start, end=at)
        rest = int(until - at)
        if exactly and 0 < rest < quantum:
            self._simulate(start=at, end=at + rest)
            at += rest
        self._connection.execute(_SIMULATED, {"until": at, "done": self._done})
        return at + quantum <= until

    def _next_event_at(self) -> float | None:
        events = self._scenario.events
        return self._state.founded_at + events[self._done].at if self._done < len(events) else None

    def _skip_idle(self, at: float, *, until: float) -> float:
        """Pass over quanta in which nothing is due; hours and days are never passed over."""
        due = [*self._connection.execute(_NEXT).one(), self._next_event_at(), until, (at // HOUR + 1) * HOUR]
        idle = min(moment for moment in due if moment is not None) - at
        # A quantum ends with its last moment: what is due on the stroke belongs to the one before it.
        return float(at + max(0, math.ceil(idle / self._quantum) - 1) * self._quantum)

    def _simulate(self, *, start: float, end: float) -> None:
        """Everything that happens in one quantum, in a fixed order."""
        connection, scenario, seed = self._connection, self._scenario, self._state.seed
        work = Work(connection=connection, seed=seed, hostile=scenario.texts == "hostile")
        if start // DAY != end // DAY:
            health_review.review_inboxes(connection, seed=seed, at=end // DAY * DAY)
            prune(connection, at=end)
        if start // HOUR != end // HOUR and scenario.account != "huge":
            _refill_queues(connection, seed=seed, at=end)
        health_review.wake_rested_domains(connection, seed=seed, at=end)
        founded_at = self._state.founded_at
        sends = Round(seed=seed, scenario=scenario, founded_at=founded_at, buffer=work.buffer)
        sends.run(connection, until=end)
        harmed = _apply_due_responses(work, until=end)
        while (due_at := self._next_event_at()) is not None and due_at <= end:
            harmed |= triggered_events.run_scheduled_event(work, scenario.events[self._done], at=end)
            self._done += 1
        work.buffer.save(connection)
        health_review.pause_unhealthy_domains(connection, harmed, at=end)


def _apply_due_responses(work: Work, *, until: float) -> set[int]:
    """Let the responses that are due show; the domains that bounces or complaints have harmed."""
    connection = work.connection
    due = connection.execute(_DUE, {"until": until}).all()
    if not due:
        return set()
    connection.execute(responses.delete().where(responses.c.pk.in_([row.pk for row in due])))
    for row in due:
        response = Response(lead=row.lead_pk, inbox=row.inbox_pk, step=row.step, kind=row.kind)
        apply_response(work, response, at=row.due_at)
    harmful = {row.inbox_pk for row in due if row.kind in {"bounce_hard", "bounce_soft", "complaint"}}
    domains_of = select(inboxes.c.domain_pk).where(inboxes.c.pk.in_(harmful))
    return set(connection.execute(domains_of).scalars()) if harmful else set()


def _refill_queues(connection: Connection, *, seed: int, at: float) -> None:
    """Customers import new leads before a sequence runs dry: half a day's worth at a time."""
    for queue in connection.execute(_QUEUES).all():
        wanted = int(queue.capacity) // 2
        if connection.execute(_QUEUED, {"sequence": queue.pk}).scalar_one() >= wanted // 2:
            continue
        home = {"workspace": queue.workspace_pk, "sequence": queue.pk, "now": at}
        rows = [fresh_lead(key=(seed, queue.pk, int(at), number), **home) for number in range(wanted)]
        connection.execute(insert(leads), rows)


def clock_of(connection: Connection) -> Clock:
    row = connection.execute(select(world)).one()
    return Clock(real=row.clock_real, virtual=row.clock_virtual, speed=row.clock_speed)


def set_clock(connection: Connection, clock: Clock) -> None:
    values = {"clock_real": clock.real, "clock_virtual": clock.virtual, "clock_speed": clock.speed}
    connection.execute(update(world).values(**values))


def live_keys(connection: Connection) -> dict[str, int]:
    rows = connection.execute(select(api_keys).where(api_keys.c.revoked.is_(False)))
    return {row.key: row.workspace_pk for row in rows}


def simulated_until(connection: Connection) -> float:
    return float(connection.execute(select(world.c.simulated_until)).scalar_one())


def prune(connection: Connection, *, at: float, least: int = KEPT_DELIVERIES) -> None:
    """Once a day, forget what is older than `KEPT_DAYS`; of deliveries the newest `least` stay whatever their age."""
    before = at - KEPT_DAYS * DAY
    newest = connection.execute(select(func.max(deliveries.c.pk))).scalar() or 0
    settled = (deliveries.c.state != "pending", deliveries.c.first_at < before)
    old = select(deliveries.c.pk).where(*settled, deliveries.c.pk <= newest - least)
    connection.execute(delete(attempts).where(attempts.c.delivery_pk.in_(old)))
    connection.execute(delete(deliveries).where(deliveries.c.pk.in_(old)))
    carried = select(deliveries.c.event_pk)
    connection.execute(
        delete(events).where(events.c.kind.not_in(REPLIES), events.c.at < before, events.c.pk.not_in(carried))
    )
