"""Checks the settings, the privacy of the file with keys, and whether the database is writable."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from cli.doctor.finding import Finding, bad, doubtful, good
from shared.records.records import AlertsSummary
from shared.settings import Need, Settings, SettingsError, load
from shared.storage.database import connection_advice, temporary_engine
from shared.store.db import migrate
from shared.store.db.migrate import UnusableSchema
from shared.store.db.schema import jobs
from shared.store.history import TIMERS_BY_WORKSPACE

DATABASE_FIX = "Check that the server runs, the name and password are right, the folder is writable and the disk isn't full. See OUTREACH_DATABASE_URL."


def read_settings(config: Path | None) -> tuple[Settings | None, list[Finding]]:
    """The settings, as far as they can be read, and what was found about them."""
    try:
        settings = load(config=config, needs=tuple(Need))
        return settings, list(_privacy(settings))
    except SettingsError as refusal:
        faults = [bad("Configuration", f"{f.name} {f.problem}", fix=f.fix) for f in refusal.problems]
    try:
        return load(config=config), faults
    except SettingsError:
        return None, faults


def _privacy(settings: Settings) -> Iterator[Finding]:
    file = settings.file
    yield good(
        "Configuration",
        f"complete, from {file} and the environment" if file else "complete, from the environment",
    )
    if file and _others_can_read(file):
        fix = f"If it contains keys: chmod 600 {file}"
        yield doubtful("Configuration", f"other users of this machine can read {file}", fix=fix)
    for secret in filter(_others_can_read, settings.secret_files):
        fix = f"It contains a secret: chmod go= {secret}"
        yield doubtful("Configuration", f"other users of this machine can read {secret}", fix=fix)


def _others_can_read(file: Path) -> bool:
    return bool(file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


async def database(settings: Settings) -> list[Finding]:
    """Create a table in a transaction that is rolled back, and look for what is stuck there."""
    shown = settings.database.render_as_string(hide_password=True)
    try:
        waiting = await asyncio.to_thread(_try_out, settings)
    except UnusableSchema as refusal:
        return [bad("Database", str(refusal), fix="`outreach database status` shows both versions.")]
    except (SQLAlchemyError, OSError) as fault:
        reason = str(getattr(fault, "orig", None) or fault).strip().partition("\n")[0]
        return [bad("Database", f"{shown}: {reason}", fix=connection_advice(reason) or DATABASE_FIX)]
    findings = [good("Database", f"{shown} is writable")]
    if orphaned := AlertsSummary(timers=waiting).orphaned_timers(settings.workspaces):
        names = ", ".join(f"{name} ({count})" for name, count in orphaned.items())
        fix = "Add the workspace to the settings again, or resume its sequences yourself."
        findings.append(
            doubtful(
                "Timed pauses",
                f"won't end, because the settings don't have these workspaces: {names}",
                fix=fix,
            )
        )
    return findings


def _try_out(settings: Settings) -> Mapping[str, int]:
    """Count the timed pauses that wait in each workspace."""
    with temporary_engine(settings.database) as engine:
        with engine.connect() as connection, connection.begin() as transaction:
            connection.execute(sa.text("CREATE TABLE outreach_doctor (n INTEGER)"))
            transaction.rollback()
        with engine.connect() as connection:
            migrate.read_state(connection).check()
            if not sa.inspect(connection).has_table(jobs.name):
                return {}
            return {row.workspace: row.waiting for row in connection.execute(TIMERS_BY_WORKSPACE)}
