"""The huge account, written by the database itself: a million leads are too many to play or to carry through Python."""

from __future__ import annotations

from sqlalchemy import Connection


def found_huge(connection: Connection, *, seed: int, now: float) -> None:
    """10,000 inboxes on 500 domains, a million leads and a month of counts."""
