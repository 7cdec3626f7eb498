"""No statement of the bot reads what is not due, however much the database holds."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from bot.alerts.routing import Routes
from shared.domain.wall_clock import moment
from shared.records.audit import Actor
from shared.records.replies import Grouping
from shared.store import Store, open_store
from shared.store.db.columns import metadata
from shared.store.jobs import DIGEST, KINDS, RELEASE, REMIND, RESUME
from shared.store.queue import retention
from shared.store.queue.intake import Arrival
from shared.store.queue.leases import ChannelRefused, NotSent, Sent, Unknown
from shared.store.queue.lookups import Look
from shared.store.queue.outbox import PlannedPost
from tests.bot.harness import interested
from tests.bot.manual_clock import ManualClock
from tests.bot.store.growth_cases import NO_WORDS
from tests.growth import database_work, nodes, rows_read

WORKSPACES, CHANNELS, PAST = 250, 2_500, 8_000
"""Of an agency at rest: each channel with a subscription, a digest and a lease that is not due, and alerts long posted."""
MOST_READ = 500
"""Rows that one statement may look at: what is due in these tests is below fifty."""
MOST_STEPS = 1_000
"""Tens of steps of SQLite's virtual machine, of which a row takes one to three: also a search by an index is bounded."""
DAY = 86_400.0
SMALL = {
    "alembic_version",
    "lookups",
    "questions",
    "slack_limits",
    "sqlite_master",
}
"""Tables that hold only what is under way."""


def _filled(dialect: str) -> Iterator[str]:
    """Statements that make up the past; `n` counts from 1."""

    def rows(count: int) -> str:
        if dialect == "postgresql":
            return f"generate_series(1, {count}) AS s(n)"
        return f"(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {count}) SELECT n FROM s) AS s"

    no = "false" if dialect == "postgresql" else "0"
    key = "decode(md5(n::text), 'hex')" if dialect == "postgresql" else "CAST('k' || n AS BLOB)"
    body = "'{}'::bytea" if dialect == "postgresql" else "CAST('{}' AS BLOB)"
    workspace, channel = f"'w' || (n % {WORKSPACES})", f"'C' || (n % {CHANNELS})"
    at = f"CAST(:now - 1000.0 - n * {80 * DAY / PAST} AS DOUBLE PRECISION)"
    old_body = f"CASE WHEN n * {80 * DAY / PAST} < {29 * DAY} THEN {body} END"
    yield (
        "INSERT INTO deliveries (id, dkey, workspace, kind, body, found, received_at, last_at, seen, pending)"
        f" SELECT n, {key}, {workspace}, 'reply.interested', {old_body}, {no}, {at}, {at}, 1, {no} FROM {rows(PAST)}"
    )
    yield (
        "INSERT INTO alerts (id, delivery_id, workspace, kind, email, received_at, sequence, waiting_since, nudges, handled_at)"
        f" SELECT 'al_old' || n, n, {workspace}, 'reply.interested', 'lead' || n, {at}, 'Q3',"
        f" CASE WHEN n % 10 = 0 THEN {at} END, 2, CASE WHEN n % 10 > 0 THEN {at} END FROM {rows(PAST)}"
    )
    yield (
        "INSERT INTO posts (id, dedupe, workspace, channel, kind, alert_id, state, ts, created_at)"
        f" SELECT n, 'old' || n, {workspace}, {channel}, 'alert', 'al_old' || n, 'sent', '1.' || n, {at} FROM {rows(PAST)}"
    )
    yield (
        "INSERT INTO sightings (delivery_id, workspace, kind, domain, sequence, at)"
        f" SELECT n, {workspace}, 'lead.bounced', 'd' || (n % 900), 'Q3', {at} FROM {rows(PAST)}"
    )
    yield f"INSERT INTO channel_leases (channel, tat) SELECT 'C' || n, {at} FROM {rows(CHANNELS)}"
    yield (
        "INSERT INTO subscriptions (workspace, channel, event)"
        f" SELECT {workspace}, 'C' || n, 'reply.interested' FROM {rows(CHANNELS)}"
    )
    yield (
        "INSERT INTO digests (workspace, channel, every, at, done_until)"
        f" SELECT {workspace}, 'C' || n, 'day', '09:00', :now FROM {rows(CHANNELS)}"
    )
    yield (
        "INSERT INTO jobs (id, workspace, kind, key, due_at)"
        f" SELECT n, {workspace}, 'resume', 'sq' || n, :now + 1000 + n FROM {rows(CHANNELS)}"
    )
    yield f"INSERT INTO audit (id, at, workspace) SELECT n, {at}, {workspace} FROM {rows(PAST)}".replace(
        "- n", f"- ({PAST} - n)"
    )
    yield f"INSERT INTO known_leads (workspace, lead) SELECT {workspace}, 'lead' || n FROM {rows(PAST)}"
    yield (
        "INSERT INTO guardrail_samples (workspace, day, slot, scope, key, at, sends)"
        f" SELECT {workspace}, 20000 + n, 1, 'inbox', 'sam' || n,"
        f" CAST(:now - n * {6 * DAY / PAST} AS DOUBLE PRECISION), 9 FROM {rows(PAST)}"
    )
    yield (
        "INSERT INTO questions (id, ends_at)"
        f" SELECT 'q' || n, CAST(:now - n * {6 * DAY / PAST} AS DOUBLE PRECISION) FROM {rows(PAST)}"
    )


@pytest.fixture
async def agency(url: sa.URL, clock: ManualClock) -> AsyncIterator[Store]:
    async with open_store(url, clock=clock) as store:
        with store.database.engine.begin() as connection:
            for statement in _filled(connection.dialect.name):
                connection.execute(sa.text(statement), {"now": store.database.clock()})
            if connection.dialect.name == "postgresql":
                for table in ("deliveries", "posts", "jobs", "audit"):
                    move = f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {10 * PAST})"
                    connection.exec_driver_sql(move)
        with store.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql("VACUUM ANALYZE")
            else:
                connection.exec_driver_sql("ANALYZE")
        yield store


@contextmanager
def plans(engine: sa.Engine) -> Iterator[list[str]]:
    """What is wrong with the plans of all statements that are run meanwhile, each planned before it is run."""
    wrong: list[str] = []
    inside = False

    def explain(
        connection: sa.Connection, cursor: Any, statement: str, values: Any, _context: Any, many: object
    ) -> None:
        nonlocal inside
        if inside or not statement.lstrip().upper().startswith(("SELECT", "UPDATE", "DELETE", "WITH")):
            return
        inside = True
        try:
            example = values[0] if many else values
            found = _problems(connection, statement, example)
            wrong.extend(f"{problem}: {statement} {example!r}" for problem in found)
        finally:
            inside = False

    sa.event.listen(engine, "before_cursor_execute", explain)
    try:
        if engine.dialect.name == "sqlite":
            with database_work(engine) as work:
                yield wrong
            wrong += [
                f"takes {10 * steps} steps: {statement}"
                for statement, steps in work.each.items()
                if steps > MOST_STEPS
            ]
        else:
            yield wrong
    finally:
        sa.event.remove(engine, "before_cursor_execute", explain)


def _problems(connection: sa.Connection, statement: str, values: Any) -> list[str]:
    cursor = connection.connection.cursor()
    if connection.dialect.name == "sqlite":
        cursor.execute(f"EXPLAIN QUERY PLAN {statement}", values)
        return [
            row[3]
            for row in cursor.fetchall()
            if row[3].startswith("SCAN") and " INDEX " not in row[3] and _is_large(row[3].split()[1])
        ]
    cursor.execute("SAVEPOINT plan")
    cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", values)
    ((found,),) = cursor.fetchall()
    cursor.execute("ROLLBACK TO SAVEPOINT plan")
    plan = found if isinstance(found, list) else json.loads(found)
    return [problem for node in nodes(plan[0]["Plan"]) if (problem := _problem(node))]


def _problem(node: dict[str, Any]) -> str:
    read = rows_read(node) if "Relation Name" in node else 0.0
    return f"{node['Node Type']} of {node['Relation Name']} reads {read:.0f} rows" if read > MOST_READ else ""


def _is_large(name: str) -> bool:
    return name in set(metadata.tables) - SMALL


async def do_jobs(store: Store) -> None:
    """Look at what is due, as a bot does."""
    await store.reminders.look(await store.jobs.claim(REMIND, lease=10.0, limit=9, workspaces=[]), NO_WORDS)
    for job in await store.jobs.claim(RELEASE, lease=10.0, limit=9, workspaces=[]):
        await store.outbox.release(job)
    for job in await store.jobs.claim(DIGEST, lease=10.0, limit=9, workspaces=["w1"]):
        await store.digests.due(job)


async def test_no_statement_reads_what_is_not_due(agency: Store) -> None:
    store, actor = agency, Actor(name="ann", id="U1", face="slack")
    routes = Routes(alert_channels={"w1": "C1", "w2": "C2"})
    with plans(store.database.engine) as wrong:
        for number in range(3):
            at = store.database.clock()
            batch = [Arrival(workspace=f"w{number}", body=interested(number), at=at)]
            await store.arrivals.append(batch)
            await store.deliveries.route(routes.decide)
        await store.deliveries.oldest_unrouted_age()
        for outcome in (Sent(ts="9.1"), NotSent(after=0.0), ChannelRefused(error="is_archived")):
            for turn in (await store.leases.claim(limit=2)).turns:
                await store.outcomes.settle(turn, outcome)
        for turn in (await store.leases.claim(limit=2)).turns:
            await store.outcomes.settle(turn, Unknown(answered=True))
        await store.lookups.next_in()
        for look in (Look(error="HTTP 500"), Look(complete=True, pages=1)):
            for lookup in await store.lookups.claim(limit=2):
                await store.lookups.settle(lookup, look)
        await store.lookups.counts()
        await store.leases.broken()
        await store.dead_letters.revive()
        for message in await store.repaints.claim(limit=5):
            await store.repaints.done(message)
        await store.repaints.next_in()
        held = PlannedPost(dedupe="held", channel="C3", kind="note", held_until=1.0)
        await store.outbox.plan("w1", held)
        await store.jobs.claim(RESUME, lease=10.0, limit=9, workspaces=["w1", "w2"])
        await store.jobs.waits(KINDS, ["w1", "w2"])
        await do_jobs(store)
        await store.subjects.sequences("w1")
        await store.subjects.turn("w1", "Q3", shown="", state="paused")
        await store.subjects.paused_domains("w1")
        await store.subjects.workspaces()
        await store.subjects.domain_events("w1", "d1", since=store.database.clock() - 7 * DAY)
        await store.found_leads.compare("w1", {"lead1": b"{}"}, grace=120.0)
        await store.records.backlogs()
        await store.records.summary("w1")
        await store.records.open_replies("w1")
        await store.records.interested_replies("w1")
        week = moment(store.database.clock() - 7 * DAY), moment(store.database.clock())
        groupings: tuple[Grouping, ...] = ("", "person", "sequence")
        for by in groupings:
            await store.records.claim_times("w1", *week, by=by, late=60)
        await store.records.done_counts("w1", *week)
        await store.records.period("w1", *week, late=60)
        await store.records.positive_replies("w1", *week, most=20, named=True)
        await store.records.received_replies("w1", *week, most=100)
        await store.confirmations.ask("{}", person=actor.id, workspace="w1", seconds=60)
        await store.alerts.claimed_by(actor.id)
    # `status` counts all timed pauses: each is work to come.
    everything = "FROM jobs WHERE jobs.kind = "
    assert [one for one in wrong if everything not in " ".join(one.split())] == []


async def test_thinning_of_guardrail_counts_reads_an_hour_at_a_time(agency: Store) -> None:
    with plans(agency.database.engine) as wrong:
        await agency.guardrails.prune()
    few = "DELETE FROM guardrail_incidents"  # what rules did in forty days, within their limits
    assert [one for one in wrong if few not in one] == []


async def test_retention_reads_one_portion_at_a_time(agency: Store) -> None:
    with plans(agency.database.engine) as wrong:
        await agency.retention.prune(bodies_after=30 * DAY, hashes_after=90 * DAY)
    portion = (
        f"reads {retention.AT_ONCE} rows"  # of PostgreSQL; SQLite reads so many in the table's own order
    )
    assert [one for one in wrong if portion not in one and "FROM (SELECT" not in one] == []
