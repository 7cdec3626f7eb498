"""`outreach database`: what it shows, and that a backup holds everything and comes back."""

from __future__ import annotations

import asyncio
import os
import shlex
import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shared.records.records import Timer
from shared.settings import load
from shared.store import open_store
from shared.store.db.engine import sole_owner
from tests.cli.conftest import Shell
from tests.cli.running_bot import deliver, running_bot
from tests.kit.docs_blocks import commands_of


def set_timer(key: str) -> None:
    async def put() -> None:
        async with open_store(load().database) as store:
            timer = Timer(key=key, due_at=datetime(2027, 1, 1, tzinfo=UTC))
            await store.records.set_timer("default", timer)

    asyncio.run(put())


def timers() -> set[str]:
    async def read() -> set[str]:
        async with open_store(load().database) as store:
            return {timer.key for timer in await store.records.timers("default")}

    return asyncio.run(read())


def in_home(words: tuple[str, ...], shell: Shell) -> list[str]:
    return [word.replace("/var/lib/outreach", str(shell.home)) for word in words]


@pytest.fixture
def file(offline: Shell) -> Path:
    return offline.home / "state" / "outreach.db"


def upgraded_by_a_newer_version(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("INSERT INTO releases VALUES ('9999', '7.3.1', 0.0)")
        connection.execute("UPDATE alembic_version SET version_num = '9999'")


def test_a_backup_is_private_whole_and_can_be_restored(offline: Shell, file: Path) -> None:
    set_timer("sq_1")
    backup = offline.home / "backup.db"
    assert offline.run("database", "backup", str(backup)).code == 0
    before = backup.read_bytes()
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    set_timer("sq_2")
    again = offline.run("database", "backup", str(backup))
    assert (again.code, "--yes" in again.err) == (1, True)
    assert offline.run("database", "restore", str(backup)).code == 0
    assert (timers(), backup.read_bytes()) == ({"sq_1"}, before)
    (kept,) = file.parent.glob("outreach.db.replaced-*")
    assert offline.run("database", "restore", str(kept)).code == 0
    assert timers() == {"sq_1", "sq_2"}


def test_a_restore_that_fails_leaves_what_was_there(
    offline: Shell, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_timer("sq_1")
    backup = offline.home / "backup #1?.db"
    assert offline.run("database", "backup", str(backup)).code == 0
    with closing(sqlite3.connect(file)) as reader:  # keeps the newest changes in the -wal file
        reader.execute("SELECT * FROM jobs").fetchall()
        set_timer("sq_2")
        connect = sqlite3.connect

        def full(path: Any, *more: Any, **named: Any) -> sqlite3.Connection:
            if str(path).endswith(f"/.outreach.db.{os.getpid()}"):
                raise sqlite3.OperationalError("database or disk is full")
            opened: sqlite3.Connection = connect(path, *more, **named)
            return opened

        monkeypatch.setattr(sqlite3, "connect", full)
        assert offline.run("database", "restore", str(backup)).code == 1
        monkeypatch.setattr(sqlite3, "connect", connect)
        assert file.with_name(file.name + "-wal").exists()
    assert timers() == {"sq_1", "sq_2"}
    assert offline.run("database", "restore", str(backup)).code == 0
    assert timers() == {"sq_1"}


def test_nothing_is_restored_while_a_bot_runs(offline: Shell) -> None:
    set_timer("sq_1")
    backup = offline.home / "backup.db"
    assert offline.run("database", "backup", str(backup)).code == 0
    # The lock that a running bot holds: a bot on a replaced file would write where nobody reads.
    with sole_owner(load().database):
        result = offline.run("database", "restore", str(backup))
    assert (result.code, "Stop it" in result.err) == (1, True)


def test_a_file_other_than_a_backup_is_refused(offline: Shell) -> None:
    set_timer("sq_1")
    broken = offline.home / "broken.db"
    broken.write_text("no database")
    assert offline.run("database", "restore", str(broken)).code == 1
    assert offline.run("database", "restore", str(offline.home / "missing.db")).code == 1
    assert offline.run("database", "restore").code == 2
    assert timers() == {"sq_1"}


def test_a_newer_database_is_refused_by_every_part(offline: Shell, file: Path) -> None:
    set_timer("sq_1")
    backup = offline.home / "backup.db"
    upgraded_by_a_newer_version(file)
    words = "made by version 7.3.1, this is version"
    assert offline.run("database", "backup", str(backup)).code == 0
    assert words in offline.run("database", "restore", str(backup)).err
    assert words in offline.run("database", "upgrade").err
    assert words in offline.run("doctor").out
    for name in (
        "SLACK_BOT_TOKEN",
        "SLACK_SIGNING_SECRET",
        "OUTREACH_ALERT_CHANNEL",
        "OUTREACH_WEBHOOK_SECRET",
    ):
        offline.set(name, "xoxb-C0123456789")
    offline.set("OUTREACH_PORT", "0")
    bot = offline.run("bot")
    assert (bot.code, words in bot.err) == (1, True)
    assert offline.run("database", "status").code == 1


def test_a_postgresql_is_left_to_its_own_tools(offline: Shell) -> None:
    offline.set("OUTREACH_DATABASE_URL", "postgresql://ann:secret@127.0.0.1:9/bot")
    result = offline.run("database", "backup", "x.dump")
    assert (result.code, result.out) == (
        1, "pg_dump --format=custom --file=x.dump postgresql://ann@127.0.0.1:9/bot\n"
    )  # fmt: skip
    assert "secret" not in result.err
    restore = offline.run("database", "restore", "of monday.dump").out
    assert shlex.split(restore) == [
        "pg_restore", "--clean", "--if-exists", "--single-transaction",
        "--dbname=postgresql://ann@127.0.0.1:9/bot", "of monday.dump",
    ]  # fmt: skip


@pytest.mark.e2e
def test_backup_and_restore_work_as_the_page_of_operations_says(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shell.home)
    with running_bot(shell):
        url = "https://ops.example.com/webhooks/outreach"
        assert shell.run("webhooks", "create", "--url", url).code == 0
        set_timer("sq_1")
        for words in commands_of("operations.md", "Back up"):
            assert shell.run(*in_home(words, shell)).code == 0, words
        set_timer("sq_2")
        (restore,) = (in_home(words, shell) for words in commands_of("operations.md", "Restore"))
        assert shell.run(*restore).code == 1
    (kept,) = shell.run("webhooks", "list", "--json", "--show-secret").data
    for file in (shell.home / "state").glob("outreach.db*"):
        file.unlink()
    assert shell.run(*restore).code == 0
    assert timers() == {"sq_1"}
    with running_bot(shell) as address:
        assert deliver(address, kept["secret"]) == 200
