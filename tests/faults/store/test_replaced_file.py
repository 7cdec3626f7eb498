"""A database whose file is deleted or replaced under the running bot acknowledges nothing into the old one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from shared.storage.database import parse_url
from shared.store import Store, open_store
from shared.store.db.engine import DatabaseReplaced
from shared.store.deliveries import Arrival
from tests.kit.bot import interested
from tests.kit.databases import migrated_file

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
