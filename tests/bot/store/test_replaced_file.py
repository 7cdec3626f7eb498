"""A database whose file is deleted or replaced under the running bot acknowledges nothing into the old one."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.store import Store, open_store
from bot.store.db.engine import DatabaseReplaced
from bot.store.queue.intake import Arrival
from shared.storage.database import parse_url
from tests.bot.harness import BotHarness, bot_process, interested, open_harness
from tests.bot.migrated import migrated_file
from tests.waiting import until

Damage = Callable[[Path], None]


def delete(file: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        Path(f"{file}{ending}").unlink(missing_ok=True)


def delete_alone(file: Path) -> None:
    file.unlink()


def replace(file: Path) -> None:
    copy = file.with_name("copy.db")
    migrated_file(copy)
    copy.replace(file)


def replace_folder(file: Path) -> None:
    file.parent.rename(file.parent.with_name("moved"))
    file.parent.mkdir()


def delete_journal(file: Path) -> None:
    Path(f"{file}-wal").unlink()


def delete_index(file: Path) -> None:
    Path(f"{file}-shm").unlink()


DAMAGES = pytest.mark.parametrize(
    "damage", [delete, delete_alone, replace, replace_folder, delete_journal, delete_index]
)


def arrival(number: int) -> Arrival:
    return Arrival(workspace="default", body=interested(number), at=1_000.0)


async def count(store: Store) -> int:
    query = sa.text("SELECT count(*) FROM deliveries")
    return int(await store.database.read(lambda tx: tx.scalar(query)) or 0)


@DAMAGES
async def test_no_append_succeeds_in_a_file_that_is_gone(tmp_path: Path, damage: Damage) -> None:
    file = tmp_path / "data" / "bot.db"
    async with open_store(parse_url(migrated_file(file))) as store:
        await store.arrivals.append([arrival(1)], number=1)
        assert not store.database.replaced.is_set()
        damage(file)
        with pytest.raises(DatabaseReplaced):
            await store.arrivals.append([arrival(2)], number=2)
        with pytest.raises(DatabaseReplaced):
            await store.instance.beat("bot")
        assert store.database.replaced.is_set()
    async with open_store(parse_url(f"sqlite:///{file}")) as store:
        await store.arrivals.append([arrival(2)], number=2)
        kept = await count(store)
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    # What was acknowledged before is there as long as the file is.
    assert kept == (3 if damage in {delete_journal, delete_index} else 1)


async def test_a_file_that_is_left_alone_is_never_taken_for_another(tmp_path: Path) -> None:
    """Also while other processes open and close it, and the journal is emptied."""
    file = tmp_path / "bot.db"
    async with open_store(parse_url(migrated_file(file))) as store:
        for number in range(20):
            await store.arrivals.append([arrival(number)], number=number)
            with closing(sqlite3.connect(file)) as other:
                other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                other.execute("VACUUM")
        assert not store.database.replaced.is_set()
        assert await count(store) == 20


def database_of(bot: BotHarness) -> Path:
    return Path(bot.environ["OUTREACH_DATABASE_URL"].removeprefix("sqlite:///"))


@pytest.mark.e2e
@pytest.mark.parametrize("damage", [delete, replace])
async def test_each_acknowledged_delivery_is_posted_though_the_database_was_replaced(
    tmp_path: Path, damage: Damage
) -> None:
    """The bot answers 503, opens the file that is there, and says so in the alert channel, /readyz and its metrics."""
    async with open_harness(tmp_path) as bot, bot_process(bot):
        assert await bot.deliver(interested(1)) == 200
        await bot.until_posted(1)
        damage(database_of(bot))
        # 200: another task noticed it first, and the file that is there now is open.
        assert await bot.deliver(interested(2)) in {200, 503}

        async def taken() -> bool:
            return await bot.deliver(interested(2)) == 200

        await until(taken)
        for number in range(3, 6):
            assert await bot.deliver(interested(number)) == 200
        assert set((await bot.until_posted(5)).values()) == {1}

        async def noted() -> bool:
            return "database was replaced" in json.dumps(await bot.messages())

        await until(noted)
        status, body = await bot.get("/readyz")
        assert (status, json.loads(body)["database_replaced"]) == (200, True)
        assert "outreach_database_replaced_total 1.0" in (await bot.get("/metrics"))[1]


@pytest.mark.e2e
async def test_a_bot_whose_database_was_made_newer_answers_503_until_it_is_back(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as bot, bot_process(bot) as process:
        file = database_of(bot)
        newer, copy = tmp_path / "newer.db", tmp_path / "copy.db"
        migrated_file(newer)
        shutil.copy(newer, copy)
        with closing(sqlite3.connect(newer)) as database, database:
            database.execute("UPDATE alembic_version SET version_num = '9999'")
        newer.replace(file)
        for _ in range(3):
            assert await bot.deliver(interested(1)) == 503
        assert (await bot.get("/healthz"))[0] == 200
        delete(file)
        copy.replace(file)

        async def taken() -> bool:
            return await bot.deliver(interested(1)) == 200

        await until(taken)
        await bot.until_posted(1)
        assert process.returncode is None


@pytest.mark.e2e
async def test_a_stored_webhook_secret_counts_after_its_database_was_deleted(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as bot:
        secret = bot.environ.pop("OUTREACH_WEBHOOK_SECRET")
        file = database_of(bot)
        subscription = {"id": "wh_1", "secret": secret, "url": bot.url, "events": ["reply.interested"]}
        file.with_name("webhooks.json").write_text(json.dumps({"default": [subscription]}))
        async with bot_process(bot):
            assert await bot.deliver(interested(1)) == 200
            delete(file)
            assert await bot.deliver(interested(2)) == 503

            async def taken() -> bool:
                return await bot.deliver(interested(2)) == 200

            await until(taken)
            status, body = await bot.get("/readyz")
            assert status == 200
            assert "webhooks create" in json.loads(body)["webhook_secrets"]
            unknown = {"X-Service-Signature": "0" * 64}
            assert await bot.deliver(interested(3), headers=unknown) == 503, (
                "the lost ones may have signed it"
            )
