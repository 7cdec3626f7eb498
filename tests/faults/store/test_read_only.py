"""A database that can only be read: deliveries get 503, and the errors say what to do."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from shared.records import RecordsUnavailable
from shared.storage.database import parse_url
from shared.store import Store, open_store
from tests.kit.bot import interested
from tests.kit.databases import cut_connections
from tests.kit.team import HASTE, installed
from tests.kit.waiting import until


async def test_a_file_that_cannot_be_written_is_refused_with_what_to_do() -> None:
    """Not even root can write to this."""
    with pytest.raises(RecordsUnavailable, match=r"can't be opened: .*Make the file and its folder writable"):
        async with open_store(parse_url("sqlite:////proc/none/bot.db")):
            pass


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_deliveries_get_503_while_the_database_is_read_only_and_are_posted_afterwards(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    database = request.getfixturevalue("fresh_postgresql") if engine == "postgresql" else ""
    async with installed(tmp_path, database=database) as bot, bot.inside(pace=HASTE) as running:
        await bot.act("settings", messages_per_second=0)
        with read_only_postgresql(database) if database else read_only_sqlite(running.store):

            async def refused() -> bool:
                return await bot.deliver(interested(1)) == 503

            await until(refused)  # a connection that PostgreSQL has cut is noticed at its next use
            status, body = await bot.get("/readyz")
            assert status == 503
            assert "is read-only" in json.loads(body)["database"]
            assert {"sqlite": "Make the file", "postgresql": "Name the primary"}[engine] in body
            assert (await bot.get("/healthz"))[0] == 200

        async def taken() -> bool:
            return await bot.deliver(interested(2)) == 200

        await until(taken)
        assert set((await bot.until_posted(1)).values()) == {1}


@contextlib.contextmanager
def read_only_sqlite(store: Store) -> Iterator[None]:
    def refuse_writes(_connection: object, cursor: Any, *_: object) -> None:
        # The connection stays open and only its writes fail, as on a disk that is remounted read-only.
        cursor.execute("PRAGMA query_only = ON")

    def allow_writes(_connection: object, cursor: Any, *_: object) -> None:
        cursor.execute("PRAGMA query_only = OFF")

    engine = store.database.engine
    sa.event.listen(engine, "before_cursor_execute", refuse_writes)
    yield
    sa.event.remove(engine, "before_cursor_execute", refuse_writes)
    sa.event.listen(engine, "before_cursor_execute", allow_writes)


@contextlib.contextmanager
def read_only_postgresql(url: str) -> Iterator[None]:
    """As a standby is: it lets everybody connect and read."""
    set_read_only(url, "on")
    yield
    set_read_only(url, "off")


def set_read_only(url: str, to: str) -> None:
    with psycopg.connect(url, autocommit=True, options="-c default_transaction_read_only=off") as connection:
        connection.execute(
            f"ALTER DATABASE {connection.info.dbname} SET default_transaction_read_only = {to}"
        )
    # A setting of the database counts for new sessions alone.
    cut_connections(url)
