"""Messages about a PostgreSQL database that can't be used."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy import make_url

from shared.records import RecordsUnavailable
from shared.storage import database
from shared.storage.database import open_engine, parse_url
from shared.store.db.engine import Database, unreachable
from tests.kit.processes import running_async
from tests.kit.waiting import until


async def test_a_database_without_an_encoding_is_refused_with_what_to_do(postgresql: str) -> None:
    with psycopg.connect(postgresql, autocommit=True) as connection:
        # In SQL_ASCII PostgreSQL converts nothing and checks nothing: bytes come back that may be no UTF-8.
        connection.execute("DROP DATABASE IF EXISTS plain")
        connection.execute(
            "CREATE DATABASE plain ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
        )
    url = parse_url(make_url(postgresql).set(database="plain").render_as_string(hide_password=False))
    with pytest.raises(RecordsUnavailable, match=r"plain is SQL_ASCII; create one with: .*'UTF8'"):
        await Database.opened(url)
    assert "SQL_ASCII" in unreachable(url)


async def test_the_server_ends_an_idle_transaction_also_after_many_statements_at_once(
    fresh_postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is stopped there holds rows that all others wait for."""
    monkeypatch.setattr(database, "IDLE_SECONDS", 0.2)
    engine = open_engine(parse_url(fresh_postgresql), pool_size=10)
    with ExitStack() as held, psycopg.connect(fresh_postgresql, autocommit=True) as watching:
        watching.execute("CREATE TABLE t (x integer)")
        for _ in range(10):  # without that promise about half of them stay
            connection = held.enter_context(engine.connect())
            connection.execute(sa.text("INSERT INTO t VALUES (:x)"), [{"x": 1}, {"x": 2}])
            held.callback(connection.invalidate)
        idle = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
        await until(lambda: watching.execute(idle).fetchall() == [(0,)], "all are ended")
        assert watching.execute("SELECT count(*) FROM t").fetchall() == [(0,)], "none of them was committed"
    engine.dispose()


async def test_a_second_engine_of_a_process_leaves_the_locks_of_the_first(tmp_path: Path) -> None:
    """Without them, another process that closes the file takes itself for the last, and deletes the log in use."""
    file = tmp_path / "history.db"
    url = parse_url(f"sqlite:///{file}")
    first = open_engine(url)
    with first.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE t (x)")
        connection.commit()
        # POSIX: closing any descriptor of a file drops every lock that the process has on it.
        open_engine(url).dispose()
        look = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM t').close()"
        async with running_async(sys.executable, "-c", look, str(file)) as other:
            assert await other.wait() == 0
        assert file.with_name("history.db-wal").exists()
    first.dispose()
