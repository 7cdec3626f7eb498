"""The database's id and its running bots, so that a shell can tell whether it uses the bot's database."""

from __future__ import annotations

import secrets

from shared.store import facts
from shared.store.db.engine import Repository, Transaction, method, reads, writes
from shared.store.facts import INSTANCE, PROCESS

BEAT_SECONDS = 20.0
ALIVE_SECONDS = 90.0
"""A bot that was seen so long ago no longer runs."""


def is_running(tx: Transaction) -> bool:
    """True if a bot that uses this database was seen in the last minute and a half."""
    return bool(facts.since(tx, PROCESS, tx.now - ALIVE_SECONDS))


def known_id(tx: Transaction) -> str | None:
    """The name of the database; None if there is none yet."""
    name = facts.find(tx, INSTANCE, "")
    return str(name.value["id"]) if name else None


class Instance(Repository):
    """The one row that names the database, and the heartbeats of its bots."""

    known_id = reads(method(known_id))

    @writes
    def id(self, tx: Transaction) -> str:
        """The name of the database, created by the first call."""
        facts.put(tx, INSTANCE, "", {"id": secrets.token_hex(6)}, once=True)
        return known_id(tx) or ""

    @writes
    def beat(self, tx: Transaction, process: str) -> None:
        """This bot runs."""
        facts.put(tx, PROCESS, process, at=tx.now)
        facts.forget(tx, PROCESS, before=tx.now - ALIVE_SECONDS)

    @writes
    def leave(self, tx: Transaction, process: str) -> None:
        """This bot ends."""
        facts.drop(tx, PROCESS, process)
