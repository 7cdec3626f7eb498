"""Databases that the migrations have gone through already: they run once in a process, and tests take copies."""

from __future__ import annotations

import secrets
import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import util
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import make_url

from shared.storage.database import open_engine, parse_url
from shared.store.db import migrate

if TYPE_CHECKING:
    import pytest  # what a simulation has no use for takes a quarter of a second to load, as psycopg does

_COMPILED: Any = util.LRUCache(5000)


def compile_once() -> None:
    """Share compiled statements between all engines on SQLite, whose dialects have the same options.

    SQLAlchemy keeps what it has compiled for each engine
    (https://docs.sqlalchemy.org/en/20/core/connections.html#sql-compilation-caching); a test that opens databases of its
    own compiled every statement again, which took an eighth of the time of the bot's tests.
    """
    made = sa.Engine.__init__

    def share(engine: sa.Engine, *args: Any, **options: Any) -> None:
        made(engine, *args, **options)
        if type(engine.dialect) is SQLiteDialect_pysqlite:
            engine._compiled_cache = _COMPILED

    def is_same(one: SQLiteDialect_pysqlite, other: object) -> bool:
        return type(one) is type(other)

    sa.Engine.__init__ = share  # type: ignore[method-assign,assignment]
    SQLiteDialect_pysqlite.__eq__ = is_same  # type: ignore[method-assign,assignment]
    SQLiteDialect_pysqlite.__hash__ = lambda one: hash(type(one))  # type: ignore[method-assign,assignment]


def migrated_file(path: Path) -> str:
    """Put a copy at the path, if there is no file yet, and return its address."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_sqlite())
        path.chmod(0o600)
    return f"sqlite:///{path}"


def migrated_postgresql(server: str) -> str:
    """Make a database with the schema on the server, and return its address."""
    import psycopg

    name = f"t{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {_template(server)}")
    return _address(server, name)


def cut_connections(address: str) -> None:
    """Have PostgreSQL end everybody's connection to a database."""
    import psycopg

    others = "pid <> pg_backend_pid() AND datname = current_database()"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")


def copy_instead_of_migrating(patch: pytest.MonkeyPatch) -> None:
    """Have a program that opens an empty SQLite database find the schema in it at once: a tenth of the time."""
    real, schema = migrate.upgrade, _sqlite()

    def upgrade(engine: sa.Engine) -> None:
        if engine.dialect.name != "sqlite" or sa.inspect(engine).get_table_names():
            real(engine)
            return
        with (
            tempfile.TemporaryDirectory() as folder,
            engine.connect() as connection,
            closing(sqlite3.connect(Path(folder, "schema.db"))) as copy,
        ):
            Path(folder, "schema.db").write_bytes(schema)
            raw = connection.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)
            copy.backup(raw)

    patch.setattr(migrate, "upgrade", upgrade)


@cache
def _sqlite() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "bot.db")
        _migrate(f"sqlite:///{file}")
        assert [*Path(folder).iterdir()] == [file], "the copy would miss what is in the write-ahead log"
        return file.read_bytes()


@cache
def _template(server: str) -> str:
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE migrated")
    _migrate(_address(server, "migrated"))
    return "migrated"


def _migrate(address: str) -> None:
    engine = open_engine(parse_url(address))
    try:
        migrate.upgrade(engine)
    finally:
        engine.dispose()


def _address(server: str, name: str) -> str:
    return make_url(server).set(database=name).render_as_string(hide_password=False)
