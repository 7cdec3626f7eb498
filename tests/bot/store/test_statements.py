"""What is executed all the time is built once: building a statement takes ten times as long as executing it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from bot.alerts.routing import Routes
from shared.store import Store
from shared.store.jobs import KINDS, REMIND, RESUME
from shared.store.queue.intake import Arrival
from shared.store.queue.leases import Sent
from tests.bot.harness import interested
from tests.bot.manual_clock import ManualClock
from tests.bot.store.growth_cases import NO_WORDS

ROUTES = Routes(alert_channels={"w": "C1"})


@contextmanager
def executed(engine: sa.Engine) -> Iterator[list[Any]]:
    """The statements that are executed meanwhile."""
    statements: list[Any] = []

    def note(_connection: sa.Connection, statement: Any, *_: object) -> None:
        statements.append(statement)

    sa.event.listen(engine, "before_execute", note)
    try:
        yield statements
    finally:
        sa.event.remove(engine, "before_execute", note)


async def poll(store: Store, now: float) -> None:
    """Look for work as a bot does all the time."""
    await store.deliveries.route(ROUTES.decide)
    await store.deliveries.oldest_unrouted_age()
    await store.leases.claim(limit=5, besides=["C2"])
    await store.leases.broken()
    await store.lookups.claim(limit=5)
    await store.lookups.next_in()
    await store.repaints.claim(limit=5)
    await store.repaints.next_in()
    await store.jobs.claim(RESUME, lease=10.0, limit=9, workspaces=["w"])
    await store.jobs.waits(KINDS, ["w"])
    await store.reminders.look(
        await store.jobs.claim(REMIND, lease=10.0, limit=9, workspaces=["w"]), NO_WORDS
    )
    await store.changes.doubts("w", ["sq1"])
    await store.instance.beat("bot")
    await store.instance.last_seen()
    await store.subjects.workspaces()
    await store.subjects.sequences("w")
    await store.subjects.turn("w", "Q3", shown="", state="paused")
    await store.subjects.paused_domains("w")
    await store.subjects.domain_events("w", "acme.example", since=now - 60.0)
    await store.subjects.troubles("w", "acme.example", since=now - 60.0)


async def deliver(store: Store, number: int) -> None:
    """Take one delivery, and post and repaint its card."""
    at = store.database.clock()
    await store.arrivals.append([Arrival(workspace="w", body=interested(number), at=at)])
    ((row, _),) = await store.deliveries.route(ROUTES.decide)
    (turn,) = (await store.leases.claim(limit=5)).turns
    await store.outcomes.settle(turn, Sent(ts=str(number)))
    await store.subjects.update(row.alert_id, "paused")
    messages = await store.repaints.claim(limit=5)
    assert messages
    for message in messages:
        await store.repaints.done(message)


async def test_polls_and_deliveries_build_no_statement_twice(store: Store, clock: ManualClock) -> None:
    with executed(store.database.engine) as first:
        for number in (1, 2, 3):
            clock.now += 60
            await deliver(store, number)
            await poll(store, clock.now)
    with executed(store.database.engine) as second:
        clock.now += 60
        await deliver(store, 4)
        await poll(store, clock.now)
    known = {id(statement) for statement in first}
    assert [str(statement) for statement in second if id(statement) not in known] == []
