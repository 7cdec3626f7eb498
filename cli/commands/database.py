"""`outreach database`: status, backup, restore and upgrade of the bot's database."""

from __future__ import annotations

import contextlib
import shlex
import sqlite3
from argparse import Namespace
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import URL

from cli.console.exit_codes import FAILED, Failed, WrongUsage, print_error
from cli.console.interactive import must_be_free
from shared.commands.base import Result
from shared.domain.card import Card, Fact, Tone
from shared.settings import load
from shared.storage.database import temporary_engine
from shared.storage.files import make_private_folder, replacing
from shared.store.db import migrate
from shared.store.db.engine import sole_owner


def run(options: Namespace) -> Result | int:
    """`status`, `backup`, `restore` or `upgrade`."""
    action, file = options.action, options.file
    settings = load(config=options.config)
    url, own_file = settings.database, settings.database_file
    if action in {"status", "upgrade"}:
        if file is not None:
            raise WrongUsage(f"database {action} takes no file: it is about the database of the settings")
        return _status(url, own_file) if action == "status" else _upgrade(url, own_file)
    if file is None:
        raise WrongUsage(f"name a file: outreach database {action} FILE")
    if own_file is None:
        verb = "backed up" if action == "backup" else "restored"
        print_error(f"a PostgreSQL database is {verb} by its own program. Run this:")
        # Alone on stdout, to be copied or piped; the exit code says that nothing was done yet.
        print(_postgresql_command(url, action, file))
        return FAILED
    if action == "backup":
        return _backup(own_file, file, overwrite=options.yes)
    return _restore(url, own_file, file)


def _status(url: URL, file: Path | None) -> Result:
    state, database = _state(url, file), url.render_as_string(hide_password=True)
    standing = f"{state.revision or 'empty'}; upgraded to {migrate.HEAD} at the bot's next start"
    if state.revision == migrate.HEAD or state.problem:
        standing = f"{state.revision}. {state.problem or 'It is the newest.'}"
    facts = [Fact("Database", database), Fact("Schema", standing)]
    facts += [Fact("Made by version", state.made_by)] if state.made_by else []
    row = {"database": database, "schema": state.revision, "newest": migrate.HEAD, "made_by": state.made_by}
    tone, failed = Tone.BAD if state.problem else Tone.GOOD, bool(state.problem)
    card = Card(title="The bot's database", tone=tone, facts=tuple(facts), failure=failed)
    return Result(card=card, rows=(row,))


def _state(url: URL, file: Path | None) -> migrate.SchemaState:
    # By looking, SQLite would create the file.
    if file and not file.exists():
        return migrate.SchemaState()
    with temporary_engine(url) as engine, engine.connect() as connection:
        return migrate.read_state(connection)


def _upgrade(url: URL, file: Path | None) -> Result:
    before = _state(url, file).revision
    with temporary_engine(url) as engine:
        migrate.upgrade(engine)
    text = "already the newest" if before == migrate.HEAD else f"upgraded from {before or 'empty'}"
    return _done(f"The schema is at {migrate.HEAD}: {text}")


def _done(title: str, *text: str) -> Result:
    return Result(card=Card(title=title, tone=Tone.GOOD, text=text))


def _backup(source: Path, target: Path, *, overwrite: bool) -> Result:
    """Copy the database while the bot goes on; whole, or not at all."""
    if not source.exists():
        raise Failed(f"There is no database at {source} yet.")
    must_be_free(target, overwrite=overwrite, option="--yes")
    with closing(sqlite3.connect(source)) as database:
        _copy(database, target)
    return _done(f"Backed up to {target}")


def _restore(url: URL, target: Path, source: Path) -> Result:
    """Replace the database, which is kept beside the new one."""
    _must_be_usable(source)
    make_private_folder(target.parent)
    text: list[str] = []
    # A running bot holds this; it would go on writing to the file that was replaced.
    with sole_owner(url) as owned:
        if not owned:
            raise Failed("A bot is running on this database. Stop it, then try again.")
        if target.exists():
            # To the microsecond: two restores within a second keep both.
            kept = target.with_name(f"{target.name}.replaced-{datetime.now(UTC):%Y%m%d%H%M%S%f}")
            with closing(sqlite3.connect(target)) as replaced:
                _copy(replaced, kept)
            text.append(f"What was there before is kept as {kept}.")
        # They belong to the file that is replaced, and would be read into the new one.
        stale = [target.with_name(target.name + ending) for ending in ("-wal", "-shm")]
        with closing(_open_backup(source)) as backup:
            _copy(backup, target, stale=stale)
    return _done(f"Restored from {source}", *text)


def _must_be_usable(source: Path) -> None:
    if not source.is_file():
        raise Failed(f"There is no file {source}.")
    state = migrate.SchemaState()
    engine = sa.create_engine("sqlite://", creator=lambda: _open_backup(source), poolclass=sa.NullPool)
    with contextlib.suppress(sa.exc.DatabaseError), engine.connect() as connection:
        # A damaged page would show only when the bot reads it, long after the old database was replaced.
        if connection.scalar(sa.text("PRAGMA integrity_check")) == "ok":
            state = migrate.read_state(connection)
    if not state.revision:
        raise Failed(f"{source} is not an intact backup of the bot's database.")
    state.check()


def _open_backup(file: Path) -> sqlite3.Connection:
    """Opened to read: a backup stays as it is, and is needed again if this restore was not the last."""
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)


def _copy(old: sqlite3.Connection, target: Path, *, stale: Iterable[Path] = ()) -> None:
    """Copy by SQLite's online backup, which is whole also while the database is used; `stale` goes at its end."""
    with replacing(target) as fresh:
        with closing(sqlite3.connect(fresh)) as new:
            old.backup(new)
            new.execute("PRAGMA journal_mode=DELETE")  # one file, nothing beside it
        for journal in stale:
            journal.unlink(missing_ok=True)


def _postgresql_command(url: URL, action: str, file: Path) -> str:
    """Return a command to paste; it asks for the password, which stays out of the terminal's history."""
    address = url._replace(drivername="postgresql", password=None).render_as_string()
    if action == "backup":
        return shlex.join(["pg_dump", "--format=custom", f"--file={file}", address])
    how = ("--clean", "--if-exists", "--single-transaction")
    return shlex.join(["pg_restore", *how, f"--dbname={address}", str(file)])
