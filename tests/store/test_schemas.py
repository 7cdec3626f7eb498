"""A schema since the baseline is upgraded with its data; older ones are refused with their pauses, newer ones by name."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from shared.records.sequence_changes import Timer
from shared.storage.database import temporary_engine
from shared.store import open_store
from shared.store.db import migrate, schema
from shared.store.db.migrate import UnusableSchema
from tests.bot.manual_clock import ManualClock

ENDS_AT = datetime(2026, 11, 24, 16, 0, tzinfo=UTC)


async def test_the_next_migration_is_applied_and_recorded(
    empty: sa.URL, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(empty, clock=clock) as store:
        timer = Timer(key="sq_1", due_at=ENDS_AT, payload={"name": "Q3 CTOs"})
        await store.records.set_timer("default", timer)
        state = await store.database.read(lambda tx: migrate.read_state(tx.connection))
        assert (state.revision, bool(state.made_by), state.problem) == (migrate.HEAD, True, "")
    scripts = shutil.copytree(migrate.SCRIPTS, tmp_path / "migrations")
    (scripts / "versions" / "9990_next.py").write_text(
        f"from alembic import op\n\nrevision, down_revision = '9990', '{migrate.HEAD}'\n\n\n"
        "def upgrade() -> None:\n    op.execute('CREATE TABLE next_release (id INTEGER)')\n"
    )
    monkeypatch.setattr(migrate, "SCRIPTS", scripts)
    monkeypatch.setattr(migrate, "_known", lambda: frozenset({migrate.BASELINE, "9990"}))
    monkeypatch.setattr(migrate, "HEAD", "9990")
    async with open_store(empty, clock=clock) as store:
        assert await store.database.read(lambda tx: sa.inspect(tx.connection).has_table("next_release"))
        state = await store.database.read(lambda tx: migrate.read_state(tx.connection))
        assert (state.revision, state.made_by) == ("9990", migrate.program_version())
        assert await store.records.timers("default") == [timer]


@pytest.mark.parametrize("revision", ["9999", "0042b", "a1b2c3"])
async def test_a_database_that_a_newer_version_upgraded_is_refused_by_name(
    empty: sa.URL, clock: ManualClock, revision: str
) -> None:
    """However the newer version names its schema."""
    async with open_store(empty, clock=clock) as running:
        later = sa.insert(schema.releases).values(revision=revision, version="7.3.1", at=0.0)
        await running.database.write(lambda tx: tx.execute(later))
        newer = sa.text("UPDATE alembic_version SET version_num = :revision").bindparams(revision=revision)
        await running.database.write(lambda tx: tx.execute(newer))
        with pytest.raises(UnusableSchema, match=r"made by version 7\.3\.1"):
            await running.arrivals.check()  # what readiness asks
    with pytest.raises(UnusableSchema, match=r"made by version 7\.3\.1, this is version \d"):
        async with open_store(empty):
            pass


@pytest.mark.parametrize("revision", ["0001", "0160", "0270"])
async def test_a_database_from_before_the_baseline_is_refused(empty: sa.URL, revision: str) -> None:
    with temporary_engine(empty) as engine, engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
        connection.execute(sa.text("INSERT INTO alembic_version VALUES (:revision)"), {"revision": revision})
    with pytest.raises(UnusableSchema, match=rf"has schema {revision}; .* start with a new one"):
        async with open_store(empty):
            pass
    # The version that can still upgrade it must find it as it was.
    with temporary_engine(empty) as engine, engine.connect() as connection:
        assert migrate.current_revision(connection) == revision
