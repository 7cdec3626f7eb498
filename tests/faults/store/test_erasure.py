"""What is stored of people ends: by its age, and when they ask for it."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from shared.records import AuditEntry, Timer
from shared.storage.database import temporary_engine
from shared.storage.redaction import REMOVED, Redaction, clear_free_space, mentions, redact
from shared.store import Store
from shared.store.db.schema import metadata, posts
from shared.store.jobs import Done
from shared.store.messages import PlannedPost
from tests.kit.bot import interested
from tests.kit.manual_clock import ANN, ManualClock, append, arrive, post_all, routes

DAY = 86_400.0
ADDRESS = "ada1@acme.example"
WORDS = "call me on 555 0147"
PERSONAL = {
    "deliveries": "texts after `texts_days`, the rest after `records_days`",
    "alerts": "with their delivery",
    "posts": "alerts with their delivery; notes, which quote leads, after `texts_days`",
    "known_leads": "a hash; `records_days` after the service last listed the lead",
    "questions": "after `texts_days`",
    "jobs": "when they are due",
    "audit": "after `records_days`",
}
"""The tables with texts of leads, or that name them, and what removes those."""
IMPERSONAL = {
    "alembic_version",
    "domains",
    "facts",
    "guardrail_incidents",
    "guardrail_samples",
    "releases",
    "sequence_changes",
}
"""Those with counts, settings and Slack's own ids, none of which names a lead."""


async def everything(store: Store) -> str:
    """The text of all rows of all tables."""

    def read(connection: sa.Connection) -> str:
        rows = [connection.execute(sa.select(table)).all() for table in metadata.sorted_tables]
        return "\n".join(str(value) for some in rows for row in some for value in row)

    return await store.database.read(lambda tx: read(tx.connection))


async def leave_traces(store: Store, clock: ManualClock) -> None:
    """A person in every place that can name one; of two others nothing may be lost."""
    await store.found_leads.compare("default", {"before@x.example": b"{}"}, grace=60)
    await store.found_leads.compare("default", {ADDRESS: b"{}"}, grace=60)
    await arrive(store, interested(1, reply=WORDS), interested(2), interested(11))
    await post_all(store, clock)
    first = interested(1, reply=f"{WORDS}, again")
    # A body of no known shape may name people too, and in other letters.
    await arrive(store, first, b'{"no event of": "Ada1@ACME.example"}')
    await append(store, first)
    note = PlannedPost(dedupe="n", channel="C1", kind="note", note=json.dumps({"title": f"Remind {ADDRESS}"}))
    await store.outbox.plan([("default", note)])
    due = datetime.fromtimestamp(clock(), UTC) + timedelta(days=1)
    timer = Timer(key="sq_1", due_at=due, payload={"reason": f"because {ADDRESS} asked"})
    await store.set_timer("default", timer)
    entry = AuditEntry(
        at=datetime.fromtimestamp(clock(), UTC),
        actor=ANN,
        workspace="default",
        command=f"remove {ADDRESS}",
        result="removed",
    )
    await store.record(entry)
    await store.record(replace(entry, command="remove lada1@acme.example"))
    data = f'{{"line": "remove {ADDRESS}"}}'
    await store.confirmations.ask(data, person="U1", workspace="default", seconds=600.0)


async def forget(store: Store) -> None:
    """Erase what is the person's, and take the address out of what merely quotes it."""
    await store.erasure.erase(await store.erasure.find(ADDRESS))
    redact(store.database.engine, metadata, Redaction(ADDRESS))


def test_every_table_says_what_removes_its_personal_data() -> None:
    assert {table.name for table in metadata.sorted_tables} - IMPERSONAL == set(PERSONAL)


async def test_other_people_and_timers_stay(store: Store, clock: ManualClock) -> None:
    await leave_traces(store, clock)
    await forget(store)
    left = await everything(store)
    # An address that merely ends like the person's is somebody else's.
    for word in ("ada2@acme.example", "ada11@acme.example", "lada1@acme.example", "sq_1", REMOVED):
        assert word in left
    assert len((await store.pauses("default")).timers) == 1


async def test_a_note_that_names_an_alert_of_the_person_is_erased_and_no_other(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1), interested(2))
    await post_all(store, clock)
    (own,) = (await store.erasure.find(ADDRESS)).rows["alerts"]
    (other,) = (await store.erasure.find("ada2@acme.example")).rows["alerts"]
    # The id of one alert may be the beginning of another's.
    for name, alert in (("own", own), ("longer", f"{own}0"), ("other", other)):
        text = json.dumps({"button": f"claim {alert}"})
        post = PlannedPost(dedupe=name, channel="C1", kind="note", note=text)
        await store.outbox.plan([("default", post)])
    await forget(store)
    noted = sa.select(posts.c.dedupe).where(posts.c.kind == "note").order_by(posts.c.id)
    assert await store.database.read(lambda tx: tx.scalars(noted).all()) == ["longer", "other"]


async def test_a_new_event_of_an_erased_person_is_news(store: Store, clock: ManualClock) -> None:
    await arrive(store, interested(1))
    await post_all(store, clock)
    await forget(store)
    # Only the erased delivery itself is refused when it comes again: another reply is news.
    await arrive(store, interested(1, reply="a new reply"))
    assert len(await post_all(store, clock)) == 1


async def test_nothing_of_a_person_is_left_after_the_retention(store: Store, clock: ManualClock) -> None:
    await leave_traces(store, clock)
    await store.deliveries.route(routes().decide)
    await post_all(store, clock)
    clock.now += 91 * DAY
    due = await store.jobs.claim("resume", lease=10.0, limit=9, workspaces=["default"])
    await store.jobs.end(dict.fromkeys(due, Done()))
    # A call deletes a portion, so that the intake never waits long for it (PRUNED_AT_ONCE).
    while await store.retention.prune(bodies_after=30 * DAY, hashes_after=90 * DAY):
        pass
    left = await everything(store)
    assert ADDRESS not in left
    assert WORDS not in left


async def test_a_lead_that_is_still_listed_stays_known(store: Store, clock: ManualClock) -> None:
    lead = {ADDRESS: b"{}"}
    await store.found_leads.compare("default", lead, grace=60)
    # Longer than a hash is kept: forgotten while it is listed, the lead would be announced as new.
    for _day in range(100):
        clock.now += DAY
        assert (await store.found_leads.compare("default", lead, grace=60))[:2] == (0, 0)
        await store.retention.prune(bodies_after=30 * DAY, hashes_after=90 * DAY)
    assert ADDRESS not in await everything(store)


def test_every_table_is_searched_and_other_rows_stay(url: sa.URL) -> None:
    tables = sa.MetaData()
    notes = sa.Table(
        "redaction_notes",
        tables,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("note", sa.Text, unique=True),
        sa.Column("body", sa.LargeBinary),
    )
    sa.Table("redaction_absent", tables, sa.Column("id", sa.Integer, primary_key=True))
    with temporary_engine(url) as engine:
        notes.create(engine)
        rows = [
            {"id": 1, "note": f"about {ADDRESS}", "body": None},
            {"id": 2, "note": f"about {ADDRESS.upper()}", "body": None},
            {"id": 3, "note": "another", "body": zlib.compress(f"quotes {ADDRESS}".encode())},
            {"id": 4, "note": f"about l{ADDRESS}", "body": b"nothing"},
        ]
        with engine.begin() as connection:
            connection.execute(sa.insert(notes), rows)
        redaction = Redaction(ADDRESS)
        assert mentions(engine, tables, redaction) == 3
        assert redact(engine, tables, redaction) == {"redaction_notes": ((1,), (2,), (3,))}
        assert mentions(engine, tables, redaction) == 0
        with engine.begin() as connection:
            left = {row.id: row for row in connection.execute(sa.select(notes))}
        # Two rows would be the same afterwards, so one of them is gone.
        assert sorted(left) == [1, 3, 4]
        assert (left[1].note, zlib.decompress(left[3].body)) == (f"about {REMOVED}", b"quotes (removed)")
        assert left[4].note == f"about l{ADDRESS}"
        # SQLite keeps the bytes of deleted rows in its file until something overwrites them.
        assert clear_free_space(engine)
