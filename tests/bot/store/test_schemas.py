"""Every released schema is upgraded to the declared tables with its data; older and newer ones are refused by name."""

from __future__ import annotations

import re
import shutil
import sqlite3
import warnings
from collections.abc import Mapping
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
from bot.store.db.migrate import UnusableSchema
from bot.store.db.schema import alerts, deliveries
from shared.records.audit import Actor
from shared.storage.database import open_engine, temporary_engine
from tests.bot.manual_clock import ManualClock, routes

RELEASED = ("0160",)


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
    with warnings.catch_warnings():
        # `indexes` compares these.
        warnings.filterwarnings("ignore", message=".*expression-based index")
        found = compare_metadata(MigrationContext.configure(tx.connection), columns.metadata)
    return [one for one in found if "alembic_version" not in repr(one)]


def indexes(tx: Transaction) -> Mapping[str, str]:
    """Every index with what it covers; Alembic compares no predicates."""
    on_sqlite = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    on_postgresql = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
    query = on_postgresql if tx.connection.dialect.name == "postgresql" else on_sqlite
    return {name: re.sub(r"\s+", " ", sql) for name, sql in tx.connection.execute(sa.text(query))}


def declared_indexes(tx: Transaction) -> Mapping[str, str]:
    """Those of the tables as they are declared, which replace the tables that are there."""
    columns.metadata.drop_all(tx.connection)
    columns.metadata.create_all(tx.connection)
    return indexes(tx)


@pytest.mark.parametrize("revision", ["", *RELEASED])
async def test_a_database_is_brought_to_the_declared_tables_with_its_data(
    empty: sa.URL, clock: ManualClock, revision: str
) -> None:
    if revision:
        load(empty, revision)
    async with open_store(empty, clock=clock) as store:
        assert await store.database.read(differences) == []
        state = await store.database.read(lambda tx: migrate.read_state(tx.connection))
        assert (state.revision, bool(state.made_by), state.problem) == (migrate.HEAD, True, "")
        if revision:
            await everything_is_there(store)
        assert await store.database.read(indexes) == await store.database.write(declared_indexes)


async def test_the_next_migration_is_applied_and_recorded(
    empty: sa.URL, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(empty, RELEASED[0])
    scripts = shutil.copytree(migrate.SCRIPTS, tmp_path / "migrations")
    (scripts / "versions" / "9990_next.py").write_text(
        f"from alembic import op\n\nrevision, down_revision = '9990', '{migrate.HEAD}'\n\n\n"
        "def upgrade() -> None:\n    op.execute('CREATE TABLE next_release (id INTEGER)')\n"
    )
    monkeypatch.setattr(migrate, "SCRIPTS", scripts)
    monkeypatch.setattr(migrate, "HEAD", "9990")
    monkeypatch.setattr(migrate, "_known", lambda: frozenset({*RELEASED, "9990"}))
    async with open_store(empty, clock=clock) as store:
        assert await store.database.read(lambda tx: sa.inspect(tx.connection).has_table("next_release"))
        state = await store.database.read(lambda tx: migrate.read_state(tx.connection))
        assert (state.revision, state.made_by) == ("9990", migrate.program_version())
        await everything_is_there(store)


async def everything_is_there(store: Store) -> None:
    """Ann claimed the first reply, the second waits, the third was not routed yet, and the first came again."""
    (held,) = await store.alerts.claimed_by("U1")
    assert (held.claimed_name, held.body is not None) == ("ann", True)
    assert [reply.email for reply in (await store.records.open_replies("default")).replies] == [
        "ada2@acme.example"
    ]
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


async def test_an_alert_whose_delivery_has_not_come_yet_is_upgraded_as_one(
    empty: sa.URL, clock: ManualClock
) -> None:
    load(empty, "0160")
    with temporary_engine(empty) as engine, engine.begin() as connection:
        connection.execute(
            sa.text("UPDATE deliveries SET found = true WHERE id = (SELECT min(id) FROM deliveries)")
        )
    async with open_store(empty, clock=clock) as store:
        both = sa.select(deliveries.c.found, alerts.c.undelivered).join(alerts)
        rows = await store.database.read(lambda tx: tx.execute(both).all())
    assert sorted(map(tuple, rows)) == [(False, False), (True, True)]


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
        with pytest.raises(UnusableSchema, match=r"made by version 7\.3\.1"):
            await running.arrivals.check()  # what readiness asks
    with pytest.raises(UnusableSchema, match=r"made by version 7\.3\.1, this is version \d"):
        async with open_store(empty):
            pass


@pytest.mark.parametrize("revision", ["0001", "0110", "0150"])
async def test_a_database_from_before_the_baseline_is_refused_with_what_upgrades_it(
    empty: sa.URL, revision: str
) -> None:
    load(empty, RELEASED[0])
    engine = open_engine(empty)
    older = sa.text("UPDATE alembic_version SET version_num = :revision").bindparams(revision=revision)
    with engine.begin() as connection:
        connection.execute(older)
    engine.dispose()
    advice = (
        rf"schema {revision}; .* Install commit {migrate.UPGRADING_COMMIT}, run `outreach database upgrade`"
    )
    with pytest.raises(UnusableSchema, match=advice):
        async with open_store(empty):
            pass
    with temporary_engine(empty) as engine, engine.connect() as connection:
        assert migrate.current_revision(connection) == revision
