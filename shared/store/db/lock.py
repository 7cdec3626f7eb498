"""Locks a SQLite file for one bot, so that the leases of a dead one can be taken over at once."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy.engine import URL


@contextlib.contextmanager
def sole_owner(url: URL) -> Iterator[bool]:
    """Hold the lock beside the database while the block runs; False when another bot holds it, or on PostgreSQL.

    The kernel drops the lock when its process dies, however it dies.
    """
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        yield False
        return
    descriptor = os.open(Path(f"{url.database}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        yield _locked(descriptor)
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
