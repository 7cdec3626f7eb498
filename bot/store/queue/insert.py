"""The hot path: inserts the arrivals of one group commit in a single statement and transaction.

One statement in SQL of the driver's own, and the interpreter's lock changes hands once a commit. Every arrival is a
row, written after the last one: what is the same delivery is found out later, by `dedupe`.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import sqlalchemy as sa

from bot.store.db import migrate
from bot.store.db.engine import Repository, Transaction, writes
from bot.store.db.schema import answers

_INTO = """INSERT INTO deliveries
    (batch, batch_first, seen, pending, dkey, workspace, body, received_at, last_at, before_at)"""
_POSTGRESQL = f"""{_INTO}
    SELECT %s, %s, 1, true, dkey, workspace, body, at, at, at
    FROM unnest(%s::bytea[], %s::text[], %s::bytea[], %s::float8[]) AS new(dkey, workspace, body, at)"""  # noqa: S608 constants alone

_ANSWERED = sa.insert(answers)
_PROBE = sa.Table("write_probe", sa.MetaData(), sa.Column("bytes", sa.LargeBinary))
"""There only while a write of deliveries is tried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One signed body, as it came to one workspace."""

    workspace: str
    body: bytes
    at: float

    @property
    def dkey(self) -> bytes:
        return hashlib.sha256(b"%b\0%b" % (self.workspace.encode(), self.body)).digest()


def alert_id(dkey: bytes) -> str:
    return f"al_{dkey.hex()[:20]}"


class Arrivals(Repository):
    """Deliveries as they come in."""

    async def append(self, batch: Sequence[Arrival], *, number: int, answered: Sequence[int] = ()) -> None:
        """Commit which earlier batches were answered 200, and then the arrivals of one batch."""
        if answered:
            await self._mark_answered(answered)
        if batch:
            await self.database.append(lambda tx: insert(tx, batch, number=number))

    @writes
    def _mark_answered(self, tx: Transaction, batches: Sequence[int]) -> None:
        tx.execute(_ANSWERED, [{"batch": number, "at": tx.now} for number in batches])

    @writes
    def check(self, tx: Transaction) -> None:
        """Raise `RecordsUnavailable` unless the database can be written to, and no newer version has upgraded it."""
        if str(tx.scalar(sa.text("SELECT version_num FROM alembic_version"))) != migrate.HEAD:
            migrate.read_state(tx.connection).check()
        number = -int(tx.now * 1e6)  # no batch's, and no other process's
        tx.execute(_ANSWERED, {"batch": number, "at": tx.now})
        tx.execute(sa.delete(answers).where(answers.c.batch == number))

    async def try_out(self, size: int) -> None:
        """Write so many bytes, and drop them again: a small write may fit on a disk on which no delivery does.

        Raises `RecordsUnavailable`.
        """
        await self.database.write(lambda tx: _write_bytes(tx, size))
        await self.database.write(_drop_bytes)


def _write_bytes(tx: Transaction, size: int) -> None:
    tx.execute(sa.schema.CreateTable(_PROBE, if_not_exists=True))
    tx.execute(sa.insert(_PROBE), {"bytes": secrets.token_bytes(size)})  # random: PostgreSQL would pack zeros


def _drop_bytes(tx: Transaction) -> None:
    tx.execute(sa.schema.DropTable(_PROBE, if_exists=True))


def insert(tx: Transaction, batch: Sequence[Arrival], *, number: int) -> None:
    """Write the arrivals of one batch."""
    if tx.is_postgresql:
        tx.connection.exec_driver_sql(_POSTGRESQL, (number, number, *_columns(batch)))
    else:
        tx.connection.exec_driver_sql(_sqlite(len(batch)), (number, *_values(batch)))


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
