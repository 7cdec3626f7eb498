"""The last snapshot of a history, by a statement that needs no SQLAlchemy: the dashboard paints it before that is loaded."""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from datetime import datetime
from pathlib import Path

from shared.domain.snapshot import Snapshot, from_json

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
    with contextlib.suppress(ValueError, KeyError, zlib.error):
        found = from_json(zlib.decompress(body))
        # Only whole ones are kept: another one is of a version that named its parts otherwise.
        return found if found.is_whole else None
    return None
