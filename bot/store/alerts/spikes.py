"""How many of a kind came in a while, by domain and by sequence; and the spikes that have a card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields

import sqlalchemy as sa

from bot.store.alerts.subjects import PAUSED_FOR
from bot.store.db.engine import Repository, Transaction, reads, writes
from bot.store.db.schema import alerts, posts, sightings, spikes
from bot.store.queue import outbox
from bot.store.queue.outbox import PlannedPost

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
class Origin:
    """How many of a kind befell one sequence on one domain."""

    kind: str
    domain: str
    sequence: str
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
        return self.kind, self.scope, self.name


_SPIKE = [spikes.c[field.name] for field in fields(Spike)]


class Spikes(Repository):
    """Many bounces or opt-outs at once."""

    @reads
    def workspaces(self, tx: Transaction, *, since: float, at_least: int) -> Sequence[str]:
        """Those with so many bounces or opt-outs since then, or with a spike that is not over."""
        many = (
            sa.select(sightings.c.workspace)
            .where(sightings.c.at >= since, sightings.c.kind.in_(KINDS))
            .group_by(sightings.c.workspace)
            .having(sa.func.count() >= at_least)
        )
        return tx.scalars(sa.union(many, sa.select(spikes.c.workspace))).all()

    @reads
    def tallies(
        self, tx: Transaction, workspace: str, *, since: float
    ) -> tuple[Sequence[Tally], Mapping[tuple[str, str, str], int], Sequence[Spike]]:
        """What came since then, how much came since yesterday (UTC), and the spikes that are not over."""
        lately = _count(tx, workspace, since=tx.now - tx.now % 86_400 - 86_400)
        counts = {(one.kind, one.scope, one.name): one.count for one in lately}
        under_way = [
            Spike(**row._asdict())
            for row in tx.execute(sa.select(*_SPIKE).where(spikes.c.workspace == workspace))
        ]
        return _count(tx, workspace, since=since), counts, under_way

    @reads
    def paused_domains(self, tx: Transaction, workspace: str) -> frozenset[str]:
        """The domains whose pause has a card that counts their bounces and opt-outs already."""
        paused = alerts.c.kind == sa.literal("domain.paused", literal_execute=True)
        open_ = paused & alerts.c.recovered_at.is_(None) & (alerts.c.received_at > tx.now - PAUSED_FOR)
        return frozenset(tx.scalars(sa.select(alerts.c.domain).where(open_, alerts.c.workspace == workspace)))

    @reads
    def origins(self, tx: Transaction, workspace: str, *, since: float) -> Sequence[Origin]:
        """What came since then, by domain and sequence together, the most first."""
        by = (sightings.c.kind, sightings.c.domain, sightings.c.sequence)
        query = (
            sa.select(*by, sa.func.count().label("count"))
            .where(sightings.c.workspace == workspace, sightings.c.at >= since, sightings.c.kind.in_(KINDS))
            .group_by(*by)
            .order_by(sa.func.count().desc(), *by)
        )
        return [Origin(**row._asdict()) for row in tx.execute(query)]

    @writes
    def show(self, tx: Transaction, workspace: str, spike: Spike, planned: PlannedPost) -> bool:
        """Begin a spike's card, or redraw it when it changed; returns whether there is news."""
        new = tx.insert(spikes).values(workspace=workspace, last_at=tx.now, **asdict(spike))
        began = tx.execute(new.on_conflict_do_nothing()).rowcount == 1
        if began:
            outbox.plan(tx, planned, workspace=workspace)
        return began or _repaint(tx, spike.dedupe, planned.note)

    @writes
    def end(
        self, tx: Transaction, workspace: str, spike: Spike, note: str, *, condensed: bool = False
    ) -> bool:
        """It is over, or another card shows it: its card says so for the last time."""
        c = spikes.c
        which = (c.workspace == workspace) & (c.dedupe == spike.dedupe)
        if tx.execute(sa.delete(spikes).where(which)).rowcount != 1:
            return False
        return _repaint(tx, spike.dedupe, note, condensed=condensed)


def _repaint(tx: Transaction, dedupe: str, note: str, **values: bool) -> bool:
    news = (posts.c.dedupe == dedupe) & (posts.c.note != note)
    painted = sa.update(posts).where(news)
    again = painted.values(note=note, version=posts.c.version + 1, repaint_at=tx.now, **values)
    return tx.execute(again).rowcount == 1


def _count(tx: Transaction, workspace: str, *, since: float) -> Sequence[Tally]:
    """What came since then."""
    found: list[Tally] = []
    for scope, column in SCOPES.items():
        query = (
            sa.select(sightings.c.kind, column, sa.func.count())
            .where(sightings.c.workspace == workspace, sightings.c.at >= since)
            .where(sightings.c.kind.in_(KINDS), column != "")
            .group_by(sightings.c.kind, column)
        )
        rows = tx.execute(query)
        found += [Tally(kind=kind, scope=scope, name=name, count=count) for kind, name, count in rows]
    return found
