"""The last snapshot of a history, by a statement that needs no SQLAlchemy: the dashboard paints it before that is loaded."""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from datetime import datetime
from pathlib import Path

from shared.domain.snapshot import Snapshot, from_text

LAST_BODY = """
    SELECT body FROM history_snapshots WHERE workspace = :workspace AND at <= :until ORDER BY at DESC LIMIT 1
"""
BUSY_SECONDS = 0.2
"""The first screen waits no longer for another process's write."""


def read_last_snapshot(file: Path, workspace: str, *, now: datetime) -> Snapshot | None:
    """Read it from a SQLite file, which is neither made nor changed.

    None where there is none, and where the file can't be read: whoever opens the history afterwards says why.
    """
    wanted = {"workspace": workspace, "until": int(now.timestamp())}
    try:
        address = f"{file.absolute().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)) as connection:
            row = connection.execute(LAST_BODY, wanted).fetchone()
    except sqlite3.Error:
        return None
    return decoded(row[0]) if row else None


def decoded(body: bytes) -> Snapshot | None:
    """The snapshot of a stored body; None where it can't be read."""
    try:
        return from_text(zlib.decompress(body))
    except (ValueError, KeyError, TypeError, IndexError, zlib.error):
        return None
