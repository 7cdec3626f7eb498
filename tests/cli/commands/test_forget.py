"""`outreach forget`: a person is erased from the bot's database after a yes, and the answer says what remains."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import zlib
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bot.alerts.routing import Routes
from cli.commands import forget
from sandbox.slack import seed
from shared.history.engine import metadata as history_tables
from shared.settings import load
from shared.storage.database import temporary_engine
from shared.store import Store, open_store
from shared.store.db.columns import metadata as bot_tables
from shared.store.queue.intake import Arrival
from shared.store.queue.leases import Sent
from tests.bot.due import claim_turns
from tests.bot.harness import interested
from tests.cli.conftest import Shell
from tests.clock import NOW

ADDRESS = "ada1@acme.example"


def with_store(shell: Shell, act: Callable[[Store], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with open_store(load().database) as store:
            return await act(store)

    return asyncio.run(run())


async def _post(store: Store, ts: str) -> None:
    """Two replies, posted: the person's under this timestamp."""
    at = store.database.clock()
    batch = [Arrival(workspace="default", body=interested(n), at=at + n) for n in (1, 2)]
    await store.arrivals.append(batch)
    await store.deliveries.route(Routes(alert_channels={"default": seed.ALERTS}).decide)
    lease = (await claim_turns(store, limit=1))[0]
    await store.outcomes.settle(lease, Sent(ts=ts))


@pytest.fixture
def forgetting(offline: Shell) -> Shell:
    with_store(offline, lambda store: _post(store, "1795011030.000100"))
    return offline


def test_a_person_is_erased_and_the_rest_is_named(forgetting: Shell) -> None:
    done = forgetting.run("forget", "ADA1@acme.example", "--yes", "--json")
    assert done.code == 0
    (found,) = done.data
    assert (found["alerts"], found["complete"], found["slack_messages_left"]) == (1, True, 1)
    assert not with_store(forgetting, lambda store: store.erasure.find(ADDRESS))
    assert with_store(forgetting, lambda store: store.erasure.find("ada2@acme.example"))
    again = forgetting.run("forget", ADDRESS, "--yes")
    assert again.code == 0
    assert "Nothing is stored" in again.out


def fill(engine: sa.Engine, metadata: sa.MetaData) -> int:
    """One more row in every table, with the person in each text and each body; the number of tables."""
    with engine.begin() as connection:
        for number, table in enumerate(metadata.sorted_tables, 10_000):
            row: dict[str, object] = {}
            for column in table.columns:
                text = f"{column.name} {number}, to\n{ADDRESS}"
                if column.foreign_keys:
                    (key,) = column.foreign_keys
                    row[column.name] = connection.scalar(sa.select(sa.func.max(key.column)))
                elif isinstance(column.type, sa.LargeBinary):
                    row[column.name] = (
                        zlib.compress(text.encode()) if column.name == "body" else text.encode()
                    )
                elif isinstance(column.type, sa.String):
                    row[column.name] = json.dumps({"text": text})
                elif isinstance(column.type, sa.DateTime):
                    row[column.name] = NOW
                elif isinstance(column.type, (sa.Boolean, sa.Integer, sa.Float)):
                    row[column.name] = False if isinstance(column.type, sa.Boolean) else number
            connection.execute(sa.insert(table).values(**row))
    return len(metadata.sorted_tables)


def bytes_of(folder: Path) -> bytes:
    """The bytes of all files, and of all that the databases' columns have packed."""
    found = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    for path in folder.glob("*.db"):
        with closing(sqlite3.connect(path)) as database:
            for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
                for row in database.execute(f"SELECT * FROM {table}"):
                    for value in row:
                        with contextlib.suppress(zlib.error):
                            found.append(zlib.decompress(value) if isinstance(value, bytes) else b"")
    return b"\n".join(found)


def test_a_person_is_in_no_byte_of_any_table_or_file(forgetting: Shell) -> None:
    settings = load()
    quoting = interested(3, reply=f"Ask my colleague:\n{ADDRESS.upper()}")
    with_store(
        forgetting,
        lambda store: store.arrivals.append(
            [Arrival(workspace="default", body=quoting, at=store.database.clock())]
        ),
    )
    with temporary_engine(settings.database) as engine:
        assert fill(engine, bot_tables) > 10
    with temporary_engine(settings.history_database) as engine:
        history_tables.create_all(engine)
        assert fill(engine, history_tables) > 5
    folder = settings.state_dir
    assert ADDRESS.encode() in bytes_of(folder).lower()
    others = [folder / name for name in ("dashboard.log", "outreach.db.backup")]
    for other in others:
        other.write_text(f"{ADDRESS} was here")
    done = forgetting.run("forget", ADDRESS, "--yes")
    assert done.code == 0, done.err
    for other in others:
        assert f"Not reached: {other}." in " ".join(done.out.split())
        other.unlink()
    left = bytes_of(folder).lower()
    assert ADDRESS.encode() not in left
    assert b"ada3@acme.example" in left, "another person stays"
    assert b"(removed)" in left, "and what that person wrote"
    assert "Nothing is stored" in forgetting.run("forget", ADDRESS, "--yes").out


def test_interrupted_in_slack_it_can_be_run_again(forgetting: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(forget, "open_web_api", interrupt)
    assert forgetting.run("forget", ADDRESS, "--slack", "--yes").code != 0
    traces = with_store(forgetting, lambda store: store.erasure.find(ADDRESS))
    assert [one.channel for one in traces.messages] == [seed.ALERTS], "only the records know where it is"
