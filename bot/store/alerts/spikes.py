"""How many of a kind came in a while, by domain and by sequence; and the spikes that have a card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from bot.store.db.schema import posts, sightings, spikes
from bot.store.queue import deliveries
from bot.store.queue.deliveries import PlannedPost

KINDS = ("lead.bounced", "lead.unsubscribed")
SCOPES = {"domain": sightings.c.domain, "sequence": sightings.c.sequence}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many of a kind befell one domain or sequence."""

    kind: str
    scope: str
    name: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spike:
    """A spike that has a card."""

    kind: str
    scope: str
    name: str
    since: float
    dedupe: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is of."""
        return self.kind, self.scope, self.name


def tallies(connection: sa.Connection, workspace: str, *, since: float) -> Sequence[Tally]:
    """What came since then."""
    found: list[Tally] = []
    for scope, column in SCOPES.items():
        query = (
            sa.select(sightings.c.kind, column, sa.func.count())
            .where(sightings.c.workspace == workspace, sightings.c.at >= since)
            .where(sightings.c.kind.in_(KINDS), column != "")
            .group_by(sightings.c.kind, column)
        )
        rows = connection.execute(query)
        found += [Tally(kind=kind, scope=scope, name=name, count=count) for kind, name, count in rows]
    return found


def under_way(connection: sa.Connection, workspace: str) -> Sequence[Spike]:
    """The spikes that are not over."""
    query = sa.select(spikes).where(spikes.c.workspace == workspace)
    return [
        Spike(kind=row.kind, scope=row.scope, name=row.name, since=row.since, dedupe=row.dedupe)
        for row in connection.execute(query)
    ]


def show(
    connection: sa.Connection, workspace: str, spike: Spike, planned: PlannedPost, *, now: float
) -> bool:
    """Begin its card, or have the card that is there painted anew when it says something else. News?"""
    new = deliveries.upsert(connection, spikes).values(
        workspace=workspace,
        kind=spike.kind,
        scope=spike.scope,
        name=spike.name,
        since=spike.since,
        last_at=now,
        dedupe=spike.dedupe,
    )
    began = connection.execute(new.on_conflict_do_nothing()).rowcount == 1
    if began:
        deliveries.plan(connection, planned, now=now, workspace=workspace)
    return began or _repaint(connection, spike.dedupe, planned.note, now=now)


def end(connection: sa.Connection, workspace: str, spike: Spike, note: str, *, now: float) -> bool:
    """It is over: its card says so for the last time."""
    c = spikes.c
    which = (c.workspace == workspace) & (c.dedupe == spike.dedupe)
    if connection.execute(sa.delete(spikes).where(which)).rowcount != 1:
        return False
    return _repaint(connection, spike.dedupe, note, now=now)


def _repaint(connection: sa.Connection, dedupe: str, note: str, *, now: float) -> bool:
    news = (posts.c.dedupe == dedupe) & (posts.c.note != note)
    painted = sa.update(posts).where(news).values(note=note, version=posts.c.version + 1, repaint_at=now)
    return connection.execute(painted).rowcount == 1
