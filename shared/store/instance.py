"""The database's id and its running bots, so that a shell can tell whether it uses the bot's database."""

from __future__ import annotations

import secrets
import socket
from dataclasses import dataclass

import sqlalchemy as sa

from shared.store.db.columns import NOW
from shared.store.db.engine import Repository, Transaction, reads, writes
from shared.store.db.installation_schema import bot_processes, instance

BEAT_SECONDS = 20.0
ALIVE_SECONDS = 90.0
"""A bot that was seen so long ago no longer runs."""
FORGET_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenBot:
    """The bot that was seen last: on which machine, and how many seconds ago."""

    host: str
    age: float

    @property
    def runs(self) -> bool:
        return self.age <= ALIVE_SECONDS


_FORGET = sa.delete(bot_processes).where(bot_processes.c.seen_at < NOW - FORGET_SECONDS)
_NEWEST = sa.select(bot_processes).order_by(bot_processes.c.seen_at.desc()).limit(1)


class Instance(Repository):
    """The one row that names the database, and the heartbeats of its bots."""

    @writes
    def id(self, tx: Transaction) -> str:
        """The name of the database, created by the first call."""
        tx.execute(tx.insert_once(instance), {"number": 1, "id": secrets.token_hex(6)})
        return str(tx.scalar(sa.select(instance.c.id)))

    @reads
    def known_id(self, tx: Transaction) -> str | None:
        """The same without writing; None if there is no name yet."""
        return tx.scalar(sa.select(instance.c.id))

    @writes
    def beat(self, tx: Transaction, process: str) -> None:
        """This bot runs."""
        values = {"id": process, "host": socket.gethostname(), "seen_at": tx.now}
        tx.execute(tx.upsert(bot_processes, "seen_at"), values)
        tx.execute(_FORGET, {"now": tx.now})

    @writes
    def leave(self, tx: Transaction, process: str) -> None:
        """This bot ends."""
        tx.execute(sa.delete(bot_processes).where(bot_processes.c.id == process))

    @reads
    def last_seen(self, tx: Transaction) -> SeenBot | None:
        """The bot with the newest heartbeat."""
        return last_seen(tx)


def last_seen(tx: Transaction) -> SeenBot | None:
    row = tx.execute(_NEWEST).one_or_none()
    return SeenBot(host=row.host, age=max(0.0, tx.now - row.seen_at)) if row else None
