"""A database whose file is deleted or replaced under the running bot acknowledges nothing into the old one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import aiohttp
import pytest
import sqlalchemy as sa

from shared.storage.database import parse_url
from shared.store import Store, open_store
from shared.store.db.engine import DatabaseReplaced
from shared.store.deliveries import Arrival
from tests.kit.bot import interested
from tests.kit.databases import migrated_file
from tests.kit.processes import running_async
from tests.kit.team import START_BOUND, Installation, installed
from tests.kit.waiting import until

Damage = Callable[[Path], None]


def delete(file: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        Path(f"{file}{ending}").unlink(missing_ok=True)


def replace(file: Path) -> None:
    copy = file.with_name("copy.db")
    migrated_file(copy)
    # The program's open file stays the old one, and takes writes that nobody finds again.
    copy.replace(file)


def replace_folder(file: Path) -> None:
    file.parent.rename(file.parent.with_name("moved"))
    file.parent.mkdir()


def delete_journal(file: Path) -> None:
    Path(f"{file}-wal").unlink()


def arrival(number: int) -> Arrival:
    return Arrival(workspace="default", body=interested(number), at=1_000.0)


async def count(store: Store) -> int:
    query = sa.text("SELECT count(*) FROM deliveries")
    return int(await store.database.read(lambda tx: tx.scalar(query)) or 0)


@pytest.mark.parametrize("damage", [delete, replace, replace_folder, delete_journal])
async def test_no_append_succeeds_in_a_file_that_is_gone(tmp_path: Path, damage: Damage) -> None:
    file = tmp_path / "data" / "bot.db"
    async with open_store(parse_url(migrated_file(file))) as store:
        await store.arrivals.append([arrival(1)])
        assert not store.database.replaced.is_set()
        damage(file)
        with pytest.raises(DatabaseReplaced):
            await store.arrivals.append([arrival(2)])
        with pytest.raises(DatabaseReplaced):
            await store.instance.beat("bot")
        assert store.database.replaced.is_set()
    async with open_store(parse_url(f"sqlite:///{file}")) as store:
        await store.arrivals.append([arrival(2)])
        kept = await count(store)
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    # What was acknowledged before is there as long as the file is.
    assert kept == (3 if damage is delete_journal else 1)


def database_of(bot: Installation) -> Path:
    return Path(bot.environ["OUTREACH_DATABASE_URL"].removeprefix("sqlite:///"))


@pytest.mark.e2e
async def test_a_bot_whose_database_was_replaced_accepts_nothing_and_exits_with_a_sentence(
    tmp_path: Path,
) -> None:
    async with installed(tmp_path) as bot:
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path.cwd()), **bot.environ}
        command = (sys.executable, "-m", "outreach_ops", "bot")
        log = tmp_path / "bot.log"
        with log.open("wb") as stderr:
            async with running_async(*command, env=environ, stderr=stderr) as process:
                await until(lambda: is_ready(bot), seconds=START_BOUND)
                assert await bot.deliver(interested(1)) == 200
                await bot.until_posted(1)
                replace(database_of(bot))
                answers = set[int]()
                # The bot notices it when it writes: no delivery until then may be answered 200.
                with contextlib.suppress(aiohttp.ClientConnectionError):  # it no longer listens
                    for number in range(2, 200):
                        answers.add(await bot.deliver(interested(number)))
                assert answers <= {503}
                assert await asyncio.wait_for(process.wait(), 30) == 1
        logged = log.read_text()
        assert "was deleted or replaced while the bot ran" in logged
        assert "Traceback" not in logged


async def is_ready(bot: Installation) -> bool:
    try:
        return (await bot.get("/readyz"))[0] == 200
    except (aiohttp.ClientConnectionError, TimeoutError):
        return False
