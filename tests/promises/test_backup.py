"""`outreach database`: a backup holds everything and comes back, and no restore costs what was there."""

from __future__ import annotations

import os
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.kit import Account, Run, Shell, Team, interested
from tests.kit.docs_blocks import commands_of

URL = "https://ops.example.com/webhooks/outreach"


async def database(shell: Shell, *words: str | Path) -> Run:
    return await shell.type("database", *map(str, words))


async def add(shell: Shell) -> None:
    """Store something more: a subscription."""
    assert (await shell.type("webhooks", "create", "--url", URL, "--yes")).code == 0


async def count(shell: Shell) -> int:
    return len((await shell.type("webhooks", "list", "--json")).data)


async def test_backup_and_restore_work_as_the_page_of_operations_says(
    team: Team, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def here(words: tuple[str, ...]) -> list[str]:
        return [word.replace("/var/lib/outreach", str(shell.home)) for word in words]

    monkeypatch.chdir(shell.home)
    shell.use(team.environ)
    await team.deliver(interested("Ada"))
    await team.card("Ada at Acme")
    for words in commands_of("operations.md", "Back up"):
        assert (await shell.type(*here(words))).code == 0, words
    (restore,) = (here(words) for words in commands_of("operations.md", "Restore"))
    while_it_runs = await shell.type(*restore)
    assert (while_it_runs.code, "Stop it" in while_it_runs.err) == (1, True)
    await team.stop()
    await add(shell)
    assert (await shell.type(*restore)).code == 0
    assert await count(shell) == 0
    await team.start()
    assert "Ada" in (await team.ask("replies")).shown


async def test_a_backup_is_private_and_what_a_restore_replaces_is_kept(
    account: Account, shell: Shell
) -> None:
    shell.use(account.environ)
    await add(shell)
    backup = shell.home / "backup.db"
    assert (await database(shell, "backup", backup)).code == 0
    before = backup.read_bytes()
    assert backup.stat().st_mode & 0o777 == 0o600
    await add(shell)
    again = await database(shell, "backup", backup)
    assert (again.code, "--yes" in again.err) == (1, True)
    assert (await database(shell, "restore", backup)).code == 0
    assert (await count(shell), backup.read_bytes()) == (1, before)
    (kept,) = shell.home.glob("outreach.db.replaced-*")
    assert (await database(shell, "restore", kept)).code == 0
    assert await count(shell) == 2


async def test_a_restore_that_fails_leaves_what_was_there(
    account: Account, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.use(account.environ)
    await add(shell)
    backup, file = shell.home / "backup #1?.db", shell.home / "outreach.db"
    assert (await database(shell, "backup", backup)).code == 0
    with closing(sqlite3.connect(file)) as reader:  # keeps the newest changes in the -wal file
        reader.execute("SELECT * FROM jobs").fetchall()
        await add(shell)
        connect = sqlite3.connect

        def full(path: Any, *more: Any, **named: Any) -> sqlite3.Connection:
            if str(path).endswith(f"/.outreach.db.{os.getpid()}"):
                raise sqlite3.OperationalError("database or disk is full")
            opened: sqlite3.Connection = connect(path, *more, **named)
            return opened

        monkeypatch.setattr(sqlite3, "connect", full)
        assert (await database(shell, "restore", backup)).code == 1
        monkeypatch.setattr(sqlite3, "connect", connect)
        assert file.with_name("outreach.db-wal").exists()
    assert await count(shell) == 2
    for wrong, code in ((shell.home / "no.db", 1), (Path(__file__), 1)):
        assert (await database(shell, "restore", wrong)).code == code
    assert (await database(shell, "restore")).code == 2
    assert await count(shell) == 2
    assert (await database(shell, "restore", backup)).code == 0
    assert await count(shell) == 1


def test_a_newer_database_is_refused_by_every_part_and_an_older_one_with_what_to_do(shell: Shell) -> None:
    settings = ("SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET", "OUTREACH_ALERT_CHANNEL", "OUTREACH_API_KEY")
    shell.use(dict.fromkeys(settings, "xoxb-C0123456789"))
    shell.use({"OUTREACH_BASE_URL": "http://127.0.0.1:9/v1", "SLACK_API_URL": "http://127.0.0.1:9/api/"})
    shell.run("webhooks", "list")
    file = shell.home / "outreach.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("INSERT INTO releases VALUES ('9999', '7.3.1', 0.0)")
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    words, backup = "made by version 7.3.1, this is version", str(shell.home / "backup.db")
    assert shell.run("database", "backup", backup).code == 0
    for refused in (["database", "restore", backup], ["database", "upgrade"], ["bot"]):
        run = shell.run(*refused)
        assert (run.code, words in " ".join(run.err.split())) == (1, True), refused
    assert words in shell.run("doctor", "--json").out
    assert shell.run("database", "status").code == 1
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '0311'")
    said = " ".join(shell.run("bot").err.split())
    assert "start with another file or database in OUTREACH_DATABASE_URL" in said
    shell.set("OUTREACH_DATABASE_URL", f"sqlite:///{file}/bot.db")
    assert "can't be opened" in shell.run("bot").err


def test_a_postgresql_is_left_to_its_own_tools(shell: Shell) -> None:
    address = "postgresql://ann@127.0.0.1:9/bot"
    shell.set("OUTREACH_DATABASE_URL", address.replace("ann", "ann:secret"))
    result = shell.run("database", "backup", "x.dump")
    dump = f"pg_dump --format=custom --file=x.dump {address}\n"
    assert (result.code, result.out) == (1, dump)
    assert "secret" not in result.err
    restore = shlex.split(shell.run("database", "restore", "of monday.dump").out)
    assert restore[0] == "pg_restore"
    assert restore[-2:] == [f"--dbname={address}", "of monday.dump"]
