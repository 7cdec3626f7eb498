"""Checks the settings, the privacy of the files with keys, the database, and whether domains are checked."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from cli.console.resources import open_records
from cli.doctor.finding import Finding, bad, doubtful, good
from shared.domain.card import Tone
from shared.domain.dns_facts import dns_fact
from shared.domain_health.lookup import system_resolvers
from shared.records.records import AlertsSummary, RecordsUnavailable
from shared.settings import Need, Settings, SettingsError, load
from shared.storage.database import connection_advice, temporary_engine
from shared.store.db import migrate
from shared.store.db.migrate import UnusableSchema
from shared.store.db.schema import jobs
from shared.store.history import TIMERS_BY_WORKSPACE
from shared.text.formats import show_number

DATABASE_FIX = "Check that the server runs, the name and password are right, the folder is writable and the disk isn't full. See OUTREACH_DATABASE_URL."


def read_settings(config: Path | None) -> tuple[Settings | None, list[Finding]]:
    """The settings, as far as they can be read, and what was found about them."""
    check = "Configuration"
    try:
        settings = load(config=config, needs=tuple(Need))
    except SettingsError as refusal:
        faults = [bad(check, f"{f.name} {f.problem}", fix=f.fix) for f in refusal.problems]
        try:
            return load(config=config), faults
        except SettingsError:
            return None, faults
    sources = f"{settings.file} and the environment" if settings.file else "the environment"
    findings = [good(check, f"complete, from {sources}")]
    for file in filter(None, (settings.file, *settings.secret_files)):
        if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            fix = f"If it contains keys: chmod go= {file}"
            findings.append(doubtful(check, f"other users of this machine can read {file}", fix=fix))
    return settings, findings


async def database(settings: Settings) -> AsyncIterator[Finding]:
    """Create a table in a transaction that is rolled back, and look for what is stuck there."""
    address = settings.database.render_as_string(hide_password=True)
    try:
        timers = await asyncio.to_thread(_try_out, settings)
    except UnusableSchema as refusal:
        yield bad("Database", str(refusal), fix="`outreach database status` shows both versions.")
        return
    except (SQLAlchemyError, OSError) as fault:
        reason = str(getattr(fault, "orig", None) or fault).strip().partition("\n")[0]
        yield bad("Database", f"{address}: {reason}", fix=connection_advice(reason) or DATABASE_FIX)
        return
    yield good("Database", f"{address} is writable")
    if orphaned := AlertsSummary(timers=timers).orphaned_timers(settings.workspaces):
        names = ", ".join(f"{name} ({count})" for name, count in orphaned.items())
        yield doubtful(
            "Timed pauses",
            f"won't end, because the settings don't have these workspaces: {names}",
            fix="Add the workspace to the settings again, or resume its sequences yourself.",
        )


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


async def domains(settings: Settings) -> AsyncIterator[Finding]:
    """The resolvers, and what the bot found about the domains; nothing is looked up."""
    if not settings.dns.enabled:
        yield good("DNS", "domains aren't checked: [dns] enabled = false")
        return
    count = len(settings.dns.resolvers) or len(system_resolvers())
    if count > 1:
        yield good("DNS resolvers", show_number(count, "resolver"))
    else:
        which = "one resolver" if count else "no resolver"
        fix = 'Two must confirm a problem. Set [dns] resolvers, such as resolvers = ["9.9.9.9", "1.1.1.1"].'
        yield doubtful("DNS resolvers", f"{which}: problems are shown, but never alerted", fix=fix)
    try:
        async with open_records(settings) as records:
            reports = await records.domains.reports()
    except RecordsUnavailable as error:
        yield doubtful("DNS", f"unknown: {error}", fix="See Database above.")
        return
    facts = {name: dns_fact(report, now=datetime.now(UTC)) for name, report in reports.items()}
    broken = [name for name, fact in facts.items() if fact.tone is Tone.BAD]
    unknown = [name for name, fact in facts.items() if fact.tone is Tone.UNKNOWN]
    if not reports:
        yield doubtful("DNS", "no domain checked yet", fix="A running bot checks them within minutes.")
    elif broken:
        fix = "`outreach domain DOMAIN` says what to do."
        yield doubtful("DNS", f"problems of {', '.join(broken)}", fix=fix)
    elif unknown:
        fix = "Check that the bot runs and its resolvers answer."
        yield doubtful("DNS", f"{show_number(len(unknown), 'domain')} unknown", fix=fix)
    else:
        yield good("DNS", f"{show_number(len(reports), 'domain')} good")
