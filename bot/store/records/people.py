"""What people have chosen for themselves; one row for each who has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from bot.store.db.columns import NOW
from bot.store.db.engine import Repository, Transaction, reads, writes
from bot.store.db.schema import people
from bot.store.queue import outbox
from bot.store.queue.outbox import PlannedPost
from bot.store.queue.personal import quiet_until, read_settings
from shared.domain.personal import DEFAULTS, PersonalSettings
from shared.domain.wall_clock import moment

LATEST = 6 * 3600.0
"""Seconds after its time that a digest is still given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDigest:
    """The digest of a person's own replies, due at a moment."""

    person: str
    channel: str
    """Their direct messages with the bot."""
    due_at: float
    zone: str


_ONE = sa.select(people).where(people.c.person == sa.bindparam("of"))
_DUE = sa.select(people).where(people.c.due_at <= NOW)


class People(Repository):
    """The settings of people, by their ids."""

    @reads
    def find(self, tx: Transaction, person: str) -> PersonalSettings:
        """Those of a person; the defaults where they chose nothing."""
        row = tx.execute(_ONE, {"of": person}).one_or_none()
        return read_settings(row) if row else DEFAULTS

    @writes
    def choose(self, tx: Transaction, person: str, settings: PersonalSettings, *, channel: str = "") -> None:
        """Keep what a person chose; `channel`: their direct messages with the bot, where they are known."""
        recurrence = settings.recurrence
        due_at = recurrence.next_after(moment(tx.now)).timestamp() if recurrence else None
        values = {
            "notify": settings.notify,
            "quiet": settings.quiet,
            "zone": settings.zone,
            "digest": settings.digest,
            "due_at": due_at,
        }
        known = {"channel": channel} if channel else {}
        new = tx.insert(people).values(person=person, **{"channel": person, **known}, **values)
        tx.execute(new.on_conflict_do_update(index_elements=["person"], set_={**values, **known}))

    @writes
    def forget(self, tx: Transaction, person: str) -> bool:
        """Erase what a person chose; whether there was anything."""
        return tx.execute(sa.delete(people).where(people.c.person == person)).rowcount > 0

    @writes
    def meet(self, tx: Transaction, person: str, channel: str) -> None:
        """Their direct messages with the bot are this channel."""
        which = (people.c.person == person) & (people.c.channel != channel)
        tx.execute(sa.update(people).where(which).values(channel=channel))

    @reads
    def due_digests(self, tx: Transaction) -> Sequence[OwnDigest]:
        """Those whose time has come."""
        return [
            OwnDigest(person=row.person, channel=row.channel, due_at=row.due_at, zone=row.zone)
            for row in tx.execute(_DUE, {"now": tx.now})
        ]

    @writes
    def give(self, tx: Transaction, one: OwnDigest, notes: Mapping[str, str]) -> bool:
        """Set the time of the next one and plan its messages by workspace, together; late ones are left out.

        False when another process has, or the person chose another time meanwhile.
        """
        row = tx.execute(_ONE, {"of": one.person}).one_or_none()
        settings = read_settings(row) if row else DEFAULTS
        recurrence = settings.recurrence
        later = recurrence.next_after(moment(tx.now)).timestamp() if recurrence else None
        mine = (people.c.person == one.person) & (people.c.due_at == one.due_at)
        if tx.execute(sa.update(people).where(mine).values(due_at=later)).rowcount != 1:
            return False
        if tx.now - one.due_at > LATEST:
            return False
        for workspace, note in notes.items():
            planned = PlannedPost(
                dedupe=f"own:{one.person}:{workspace}:{one.due_at:.0f}",
                channel=one.channel,
                kind="digest",
                note=note,
                held_until=quiet_until(settings, tx.now),
            )
            outbox.plan(tx, planned, workspace=workspace)
        return bool(notes)
