"""Does the database open, and can it be written? What is tried is rolled back."""

from __future__ import annotations

import asyncio

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from cli.doctor.finding import Finding, bad, good
from shared.settings import Settings
from shared.storage.database import open_engine

CURE = "Is the server up, are name and password right, is the folder writable and the disk not full? See OUTREACH_DATABASE_URL."


async def examine(settings: Settings) -> list[Finding]:
    """Make a table and unmake it, in one transaction."""
    shown = settings.database.render_as_string(hide_password=True)
    try:
        await asyncio.to_thread(_try_out, settings)
    except (SQLAlchemyError, OSError) as fault:
        told = str(getattr(fault, "orig", None) or fault).strip().partition("\n")[0]
        return [bad("Database", f"{shown}: {told}", cure=CURE)]
    return [good("Database", f"{shown} can be written")]


def _try_out(settings: Settings) -> None:
    engine = open_engine(settings.database, pool_size=1)
    try:
        with engine.connect() as connection, connection.begin() as transaction:
            connection.execute(sa.text("CREATE TABLE outreach_doctor_was_here (n INTEGER)"))
            transaction.rollback()
    finally:
        engine.dispose()
