"""The hot path: the arrivals of one group commit, in as few statements as there can be.

One INSERT carries the whole group, in SQL of the driver's own: the interpreter's lock is given up once a commit
and not once a row, and nothing is compiled. What the delivery's row says of a first arrival is not said twice;
each later one has a row of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

import sqlalchemy as sa

from bot.ledger.inbox import Arrival
from bot.ledger.tables import answers, arrivals, deliveries

CHUNKS = (64, 16, 4, 1)
"""Rows of one statement on SQLite; few sizes, so that the driver finds each statement prepared."""
_INTO = """INSERT INTO deliveries
    (batch, batch_first, seen, pending, dkey, workspace, body, received_at, last_at, before_at)"""
_POSTGRESQL = f"""{_INTO}
    SELECT %s, %s, 1, true, dkey, workspace, body, at, at, at
    FROM unnest(%s::bytea[], %s::text[], %s::bytea[], %s::float8[]) AS new(dkey, workspace, body, at)
    ON CONFLICT (dkey) DO NOTHING"""  # noqa: S608 constants alone


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """An arrival with its key, which is computed once."""

    dkey: bytes
    arrival: Arrival


def store(connection: sa.Connection, batch: Sequence[Arrival], *, number: int) -> None:
    """Write the arrivals of one group commit; an identical body raises `seen` of the delivery that is there."""
    rows = [_Row(dkey=one.dkey, arrival=one) for one in batch]
    insert = _insert_in_chunks
    if connection.dialect.name == "postgresql":  # one order for all processes, lest they lock each other out
        insert, rows = _insert_many, sorted(rows, key=attrgetter("dkey"))
    if insert(connection, rows, number=number) < len(rows):
        _repeat(connection, rows, number=number)


def _insert_many(connection: sa.Connection, rows: Sequence[_Row], *, number: int) -> int:
    columns = (
        [row.dkey for row in rows],
        [row.arrival.workspace for row in rows],
        [row.arrival.body for row in rows],
        [row.arrival.at for row in rows],
    )
    return connection.exec_driver_sql(_POSTGRESQL, (number, number, *columns)).rowcount


def _insert_in_chunks(connection: sa.Connection, rows: Sequence[_Row], *, number: int) -> int:
    return sum(
        connection.exec_driver_sql(_SQLITE[len(chunk)], tuple(_values(chunk, number))).rowcount
        for chunk in _chunks(rows)
    )


def _chunks(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    start = 0
    for size in CHUNKS:
        while len(rows) - start >= size:
            yield rows[start : start + size]
            start += size


def _values(chunk: Iterable[_Row], number: int) -> Iterator[object]:
    yield number
    for row in chunk:
        yield from (row.dkey, row.arrival.workspace, row.arrival.body, row.arrival.at)


def _sqlite(size: int) -> str:
    """`?1` is the group's number; then four values a row."""
    rows = (
        f"(?1,?1,1,1,?{n},?{n + 1},?{n + 2},?{n + 3},?{n + 3},?{n + 3})" for n in range(2, 2 + 4 * size, 4)
    )
    return f"{_INTO} VALUES {','.join(rows)} ON CONFLICT (dkey) DO NOTHING"


_SQLITE = {size: _sqlite(size) for size in CHUNKS}


def _repeat(connection: sa.Connection, rows: Sequence[_Row], *, number: int) -> None:
    """Note those that were there: before this group, or earlier in it."""
    keys = {row.dkey for row in rows}
    mine = sa.select(deliveries.c.dkey).where(
        deliveries.c.dkey.in_(keys), deliveries.c.batch_first == number, deliveries.c.seen == 1
    )
    first = set(connection.execute(mine).scalars())
    came = []
    for row in rows:
        if row.dkey in first:
            first.discard(row.dkey)
        else:
            came.append({"key": row.dkey, "at": row.arrival.at, "number": number})
    connection.execute(_AGAIN, came)
    connection.execute(_ARRIVAL, came)


_AGAIN = (
    sa.update(deliveries)
    .where(deliveries.c.dkey == sa.bindparam("key"))
    .values(
        seen=deliveries.c.seen + 1,
        before_at=deliveries.c.last_at,
        last_at=sa.bindparam("at"),
        batch_before=deliveries.c.batch,
        batch=sa.bindparam("number"),
        pending=True,
    )
)
_ARRIVAL = sa.insert(arrivals).values(
    dkey=sa.bindparam("key"), at=sa.bindparam("at"), batch=sa.bindparam("number")
)


def mark_answered(connection: sa.Connection, batches: Sequence[int], *, now: float) -> None:
    """Remember that the senders of these batches were told 200."""
    if batches:
        connection.execute(sa.insert(answers), [{"batch": number, "at": now} for number in batches])
