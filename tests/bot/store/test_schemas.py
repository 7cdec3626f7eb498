"""Every schema that was released is brought to the newest with its data, and a newer one is refused by name."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from bot.store import Store, open_store
from bot.store.db import columns, installation_schema, migrate
from bot.store.db.engine import Transaction
from bot.store.db.migrate import NewerSchema
from shared.domain.records import Actor
from tests.bot.manual_clock import ManualClock, routes

RELEASED = ("0001",)


def load(url: sa.URL, revision: str) -> None:
    """Fill an empty database with what a version of that schema left."""
    text = (Path(__file__).parent / "schemas" / f"{revision}.{url.get_backend_name()}.sql").read_text()
    if url.get_backend_name() == "sqlite":
        with closing(sqlite3.connect(url.database or "")) as connection, connection:
            connection.executescript(text)
        return
    with psycopg.connect(url.set(drivername="postgresql").render_as_string(hide_password=False)) as server:
        server.execute(text)


def differences(tx: Transaction) -> list[object]:
    found = compare_metadata(MigrationContext.configure(tx.connection), columns.metadata)
    return [one for one in found if "alembic_version" not in repr(one)]


@pytest.mark.parametrize("revision", RELEASED)
async def test_a_database_of_a_released_schema_is_upgraded_with_its_data(
    empty: sa.URL, clock: ManualClock, revision: str
) -> None:
    load(empty, revision)
    async with open_store(empty, clock=clock) as store:
        assert await store.database.read(differences) == []
        state = await store.database.read(lambda tx: migrate.read_state(tx.connection))
        assert (state.revision, state.made_by) == (migrate.HEAD, migrate.program_version())
        await everything_is_there(store)


async def everything_is_there(store: Store) -> None:
    """Ann claimed the first reply, the second waits, the third was not routed yet, and the first came again."""
    (held,) = await store.alerts.claimed_by("U1")
    assert (held.name, held.body is not None) == ("ann", True)
    assert [reply.email for reply in await store.records.open_replies("default")] == ["ada2@acme.example"]
    routed = await store.deliveries.route(routes().decide)
    assert sorted(pending.seen for pending, _ in routed) == [1, 2]
    assert await store.records.digest_at("default", "C2") == "09:00"
    assert [one.event for one in await store.records.subscriptions("default", "C2")] == ["lead.bounced"]
    (timer,) = await store.records.timers("default", "resume")
    assert (timer.key, timer.payload["name"]) == ("sq_1", "Q3")
    (entry,) = await store.records.audit("default")
    assert entry.actor == Actor(name="ann", id="U1", face="slack", channel="C1")
    assert await store.records.last_changes("default", ["sq_1", "sq_2"]) == {"sq_1": entry}
    assert entry.effect == "paused"


@pytest.mark.parametrize("revision", ["9999", "0042b", "a1b2c3"])
async def test_a_database_that_a_newer_version_upgraded_is_refused_by_name(
    empty: sa.URL, clock: ManualClock, revision: str
) -> None:
    """However the newer version names its schema."""
    async with open_store(empty, clock=clock) as running:
        later = sa.insert(installation_schema.releases).values(revision=revision, version="7.3.1", at=0.0)
        await running.database.write(lambda tx: tx.execute(later))
        newer = sa.text("UPDATE alembic_version SET version_num = :revision").bindparams(revision=revision)
        await running.database.write(lambda tx: tx.execute(newer))
        with pytest.raises(NewerSchema, match=r"made by version 7\.3\.1"):
            await running.arrivals.check()  # what readiness asks
    with pytest.raises(NewerSchema, match=r"made by version 7\.3\.1, this is version \d"):
        async with open_store(empty):
            pass
