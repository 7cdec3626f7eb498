"""The history's tables.

Samples are kept where a value changed, and hold until the next: health moves daily, so an inbox costs a row a day,
not one a poll.
"""

from __future__ import annotations

import sqlite3

import sqlalchemy as sa
from sqlalchemy.engine import URL

from shared.storage.database import open_engine

METRIC = "health_score"
"""The value whose samples are kept: the only one that a person looks back at."""
DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
ONE_WRITER = 0x6F757472_68697374
"""The advisory lock under which PostgreSQL's writers take turns, as SQLite's do by themselves."""

metadata = sa.MetaData()


def key(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, primary_key=True)


def word(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def seconds(name: str, *, primary_key: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, primary_key=primary_key, nullable=False)


series = sa.Table(
    "history_series",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    word("workspace"),
    word("kind"),
    word("key"),
    word("metric"),
    seconds("last_at"),
    sa.Column("last_value", sa.Float),
    sa.UniqueConstraint("workspace", "kind", "key", "metric"),
)
samples = sa.Table(
    "history_samples",
    metadata,
    sa.Column("series_id", sa.Integer, sa.ForeignKey(series.c.id), primary_key=True),
    seconds("at", primary_key=True),
    sa.Column("value", sa.Float),
    sqlite_with_rowid=False,
)
states = sa.Table(
    "history_states",
    metadata,
    key("workspace"),
    key("kind"),
    key("key"),
    key("field"),
    word("value"),
)
transitions = sa.Table(
    "history_transitions",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    word("workspace"),
    seconds("at"),
    word("kind"),
    word("key"),
    word("label"),
    word("field"),
    word("before"),
    word("after"),
    sa.Index("history_transitions_at", "workspace", "at"),
)
snapshots = sa.Table(
    "history_snapshots",
    metadata,
    key("workspace"),
    seconds("at", primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
covered = sa.Table(
    "history_covered",
    metadata,
    key("workspace"),
    seconds("start", primary_key=True),
    seconds("end"),
    comment="The times in which values were read; a value holds until the next only within these.",
)
problems = sa.Table(
    "history_problems",
    metadata,
    key("workspace"),
    key("key"),
    word("kind"),
    sa.Column("since", sa.Float, nullable=False),
    sa.Column("kind_since", sa.Float, nullable=False),
    sa.Column("is_older", sa.Boolean, nullable=False),
    sa.Column("gone_at", sa.Float),
    comment="Since when what is wrong has been so: the first process that saw it tells all others.",
)


def open_history(url: URL) -> sa.Engine:
    """The engine of a history, whose tables are made when missing."""
    engine = open_engine(url)
    try:
        with engine.begin() as connection:
            lock_writers(connection)
            metadata.create_all(connection)
            # Earlier versions kept each poll: nothing reads it, and it has addresses.
            connection.execute(sa.text("DROP TABLE IF EXISTS history_deltas"))
    except BaseException:
        engine.dispose()
        raise
    return engine


def lock_writers(connection: sa.Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(ONE_WRITER)))
