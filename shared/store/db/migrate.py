"""Creates or upgrades the schema at the start, safe with several processes.

An empty database gets the tables as they are declared. A database with data goes through the migrations after the
baseline. One from before the baseline is refused, and one that a newer version has upgraded with that version. Alembic
is imported only when needed, because its import takes longer than the rest of the start.
"""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

import sqlalchemy as sa

from shared.api.version import VERSION
from shared.frozen import frozen
from shared.records import RecordsUnavailable
from shared.storage import database
from shared.store.db.schema import alembic_version, metadata, releases

HEAD = "0323"
MIGRATION_SECONDS = 3600.0
SCRIPTS = Path(__file__).parent.parent / "migrations"
BASELINE = "0323"
"""The schema of the first migration."""
_LOCK = 0x6F757472  # any number that no other program locks in this database


class UnusableSchema(RecordsUnavailable):
    """This version can neither use nor upgrade the schema of the database."""


@frozen
class SchemaState:
    """The state of a database's schema; `revision` is empty for an empty database."""

    revision: str = ""
    made_by: str = ""
    """The version of the program that brought it there; empty when that was not written down."""

    @property
    def problem(self) -> str:
        """The reason why this version can't use the database, and what to do; empty when it can."""
        if not self.revision or self.revision in _known():
            return ""
        made_by = f"version {self.made_by}" if self.made_by else "another version"
        this = f"this is version {VERSION}"
        # The schemas from before the baseline have lower numbers of four digits.
        if self.revision.isdecimal() and len(self.revision) == len(BASELINE) and self.revision < BASELINE:
            return (
                f"The bot's database was made by {made_by}, {this}, which upgrades only from schema {BASELINE} on. "
                "Keep the old database, and start with another file or database in OUTREACH_DATABASE_URL."
            )
        return f"The bot's database was made by {made_by}, {this}. Install that version or a newer one."

    def check(self) -> None:
        """Raise `UnusableSchema`."""
        if self.problem:
            raise UnusableSchema(self.problem)


@cache
def _known() -> frozenset[str]:
    """The revisions of this version. One that isn't among them is of a later one, however it is named."""
    return frozenset(file.name.partition("_")[0] for file in (SCRIPTS / "versions").glob("[0-9]*.py"))


def upgrade(engine: sa.Engine) -> None:
    """Apply what is missing; returns at once when nothing is. Raises `UnusableSchema`."""
    with engine.connect().execution_options(read_only=True) as connection, connection.begin():
        if current_revision(connection) == HEAD:
            return
    # On SQLite the transaction holds the write lock from its beginning.
    with engine.begin() as connection, database.long_statements(connection, MIGRATION_SECONDS):
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        state = read_state(connection)
        state.check()
        if state.revision != HEAD:
            if state.revision:
                _run_alembic(connection)
            else:
                metadata.create_all(connection, checkfirst=False)  # tables of another program are an error
                connection.execute(sa.insert(alembic_version).values(version_num=HEAD))
            made = sa.insert(releases).values(revision=HEAD, version=VERSION, at=time.time())
            connection.execute(made)


def current_revision(connection: sa.Connection) -> str:
    if not sa.inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.scalar(sa.text("SELECT version_num FROM alembic_version")) or "")


def read_state(connection: sa.Connection) -> SchemaState:
    """Read the state of the schema."""
    revision = current_revision(connection)
    if not sa.inspect(connection).has_table(releases.name):
        return SchemaState(revision=revision)
    query = sa.select(releases.c.version).where(releases.c.revision == revision)
    return SchemaState(revision=revision, made_by=connection.scalar(query) or "")


def _run_alembic(connection: sa.Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(SCRIPTS))
    config.set_main_option("path_separator", "os")
    command.upgrade(config, HEAD)
