"""Bring the schema to its newest form at start, safely by several processes at once.

Alembic is imported only when there is something to do: it costs more than the rest of the start together.
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from shared.storage import database

HEAD = "0002"
MIGRATION_SECONDS = 3600.0
SCRIPTS = Path(__file__).parent.parent / "migrations"
_LOCK = 0x6F757472  # any number that no other program locks in this database


def upgrade(engine: sa.Engine) -> None:
    """Apply what is missing; returns at once when nothing is."""
    with engine.connect().execution_options(read_only=True) as connection, connection.begin():
        if revision(connection) == HEAD:
            return
    # On SQLite the transaction holds the write lock from its beginning.
    with engine.begin() as connection, database.long_statements(connection, MIGRATION_SECONDS):
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        if revision(connection) != HEAD:
            _run_alembic(connection)


def revision(connection: sa.Connection) -> str | None:
    """The revision the database is at, None for an empty one."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    return None if found is None else str(found)


def _run_alembic(connection: sa.Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(SCRIPTS))
    config.set_main_option("path_separator", "os")
    command.upgrade(config, HEAD)
