"""The hot path: the arrivals of one group commit in one statement, which is a transaction of its own.

One statement in SQL of the driver's own, and the interpreter's lock changes hands once a commit. Every arrival is a
row, written after the last one: what is the same delivery is found out later, by `merging`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import sqlalchemy as sa

from bot.store.db.schema import answers
from bot.store.queue.deliveries import Arrival

_INTO = """INSERT INTO deliveries
    (batch, batch_first, seen, pending, dkey, workspace, body, received_at, last_at, before_at)"""
_POSTGRESQL = f"""{_INTO}
    SELECT %s, %s, 1, true, dkey, workspace, body, at, at, at
    FROM unnest(%s::bytea[], %s::text[], %s::bytea[], %s::float8[]) AS new(dkey, workspace, body, at)"""  # noqa: S608 constants alone


def store(connection: sa.Connection, batch: Sequence[Arrival], *, number: int) -> None:
    """Write the arrivals of one group commit."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_POSTGRESQL, (number, number, *_columns(batch)))
    else:
        connection.exec_driver_sql(_sqlite(len(batch)), (number, *_values(batch)))


def _columns(batch: Sequence[Arrival]) -> tuple[list[object], ...]:
    return (
        [one.dkey for one in batch],
        [one.workspace for one in batch],
        [one.body for one in batch],
        [one.at for one in batch],
    )


def _values(batch: Sequence[Arrival]) -> Iterator[object]:
    for one in batch:
        yield from (one.dkey, one.workspace, one.body, one.at)


@lru_cache(maxsize=512)
def _sqlite(size: int) -> str:
    """`?1` is the group's number; then four values a row."""
    rows = (
        f"(?1,?1,1,1,?{n},?{n + 1},?{n + 2},?{n + 3},?{n + 3},?{n + 3})" for n in range(2, 2 + 4 * size, 4)
    )
    return f"{_INTO} VALUES {','.join(rows)}"


def mark_answered(connection: sa.Connection, batches: Sequence[int], *, now: float) -> None:
    """Remember that the senders of these batches were told 200."""
    connection.execute(sa.insert(answers), [{"batch": number, "at": now} for number in batches])


def try_out(connection: sa.Connection, *, now: float) -> None:
    """Write something, and take it back."""
    number = -int(now * 1e6)  # no group's, and no other process's
    connection.execute(sa.insert(answers), {"batch": number, "at": now})
    connection.execute(sa.delete(answers).where(answers.c.batch == number))
