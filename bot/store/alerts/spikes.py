"""Counts of recent events by domain and sequence, and the spikes that have a card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

from bot.store.alerts.subjects import PAUSED_FOR, first_whole_day, heard_since
from bot.store.db.engine import Repository, Transaction, reads, writes
from bot.store.db.schema import alerts, posts, sightings, spikes
from bot.store.queue import outbox
from bot.store.queue.outbox import PlannedPost
from shared.api.event_kinds import PAUSED, SPIKING
from shared.domain.wall_clock import DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The domain or the sequence that events befell."""

    scope: str
    name: str

    @property
    def label(self) -> str:
        return self.name if self.scope == "domain" else f"“{self.name}”"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """How many of a kind befell one sequence on one domain."""

    kind: str
    domain: str
    sequence: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spike:
    """One kind's part of a card; kinds that spike together share the card, by its `dedupe`."""

    kind: str
    subject: Subject
    since: float
    dedupe: str


Counts = Mapping[tuple[str, Subject], int]
"""By kind and subject."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallies:
    """What came lately, and the spikes that are not over, the oldest first."""

    origins: Sequence[Origin]
    """The same by domain and sequence together, the most first."""
    recent: Counts
    open: Sequence[Spike]

    def kinds(self, dedupe: str) -> Sequence[str]:
        return [spike.kind for spike in self.open if spike.dedupe == dedupe]


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeDays:
    """What came since a day began, of which every delivery is known; later than now: none is yet."""

    since: float
    counts: Counts = field(default_factory=dict)


# Not grouped by the column as it is: SQLite would go through all sightings in its index, and not the latest ones.
_WORKSPACE = sa.func.coalesce(sightings.c.workspace, sa.literal_column("''"))
_WORKSPACES = sa.union(
    sa.select(_WORKSPACE)
    .where(sightings.c.at >= sa.bindparam("since"), sightings.c.kind.in_(SPIKING))
    .group_by(_WORKSPACE)
    .having(sa.func.count() >= sa.bindparam("at_least")),
    sa.select(spikes.c.workspace),
)


class Spikes(Repository):
    """Many bounces or opt-outs at once."""

    @reads
    def workspaces(self, tx: Transaction, *, since: float, at_least: int) -> Sequence[str]:
        """Those with so many bounces or opt-outs since then, or with a spike that is not over."""
        return tx.scalars(_WORKSPACES, {"since": since, "at_least": at_least}).all()

    @reads
    def tallies(self, tx: Transaction, workspace: str, *, since: float) -> Tallies:
        """What came since then, and the cards that are not over."""
        c = spikes.c
        origins = _origins(tx, workspace, since=since)
        query = sa.select(c.kind, c.scope, c.name, c.since, c.dedupe).where(c.workspace == workspace)
        return Tallies(
            origins=origins,
            recent=_counts(origins),
            open=[
                Spike(
                    kind=row.kind,
                    subject=Subject(scope=row.scope, name=row.name),
                    since=row.since,
                    dedupe=row.dedupe,
                )
                for row in tx.execute(query.order_by(c.since, c.dedupe))
            ],
        )

    @reads
    def paused_domains(self, tx: Transaction, workspace: str) -> frozenset[str]:
        """The domains whose pause has a card that counts their bounces and opt-outs already."""
        paused = alerts.c.kind == sa.literal(PAUSED, literal_execute=True)
        open_ = paused & alerts.c.recovered_at.is_(None) & (alerts.c.received_at > tx.now - PAUSED_FOR)
        return frozenset(tx.scalars(sa.select(alerts.c.domain).where(open_, alerts.c.workspace == workspace)))

    @reads
    def whole_days(self, tx: Transaction, workspace: str) -> WholeDays:
        """What came since yesterday (UTC), or since the first day later of which every delivery is known."""
        known_from = first_whole_day(heard_since(tx, workspace), since=tx.now - DAY)
        if known_from is None or known_from > tx.now:
            return WholeDays(since=float("inf") if known_from is None else known_from)
        return WholeDays(since=known_from, counts=_counts(_origins(tx, workspace, since=known_from)))

    @writes
    def show(
        self, tx: Transaction, workspace: str, subject: Subject, kinds: Sequence[str], planned: PlannedPost
    ) -> bool:
        """Begin a card, or redraw it when it changed; returns whether there is news."""
        c, here = spikes.c, _of(workspace, subject)
        known = {row.kind: row.dedupe for row in tx.execute(sa.select(c.kind, c.dedupe).where(here))}
        if known and planned.dedupe not in known.values():
            return False  # another process began a card meanwhile; the next look finds it
        began = False
        for kind in kinds:
            if kind not in known:
                new = tx.insert(spikes).values(
                    workspace=workspace,
                    kind=kind,
                    scope=subject.scope,
                    name=subject.name,
                    since=tx.now,
                    last_at=tx.now,
                    dedupe=planned.dedupe,
                )
                began |= tx.execute(new.on_conflict_do_nothing()).rowcount == 1
        if began and not known:
            outbox.plan(tx, planned, workspace=workspace)
        return (began and not known) or _repaint(tx, planned.dedupe, planned.note)

    @writes
    def end(
        self,
        tx: Transaction,
        workspace: str,
        subject: Subject,
        dedupe: str,
        note: str,
        *,
        condensed: bool = False,
    ) -> bool:
        """It is over, or another card shows it: its card says so for the last time."""
        shown = _of(workspace, subject) & (spikes.c.dedupe == dedupe)
        if not tx.execute(sa.delete(spikes).where(shown)).rowcount:
            return False
        return _repaint(tx, dedupe, note, condensed=condensed)


def _of(workspace: str, subject: Subject) -> sa.ColumnElement[bool]:
    """The spikes of one subject, in all columns of the key: there may be many at once."""
    c = spikes.c
    return (
        (c.workspace == workspace)
        & c.kind.in_(SPIKING)
        & (c.scope == subject.scope)
        & (c.name == subject.name)
    )


def _repaint(tx: Transaction, dedupe: str, note: str, **values: bool) -> bool:
    news = (posts.c.dedupe == dedupe) & (posts.c.note != note)
    painted = sa.update(posts).where(news)
    again = painted.values(note=note, version=posts.c.version + 1, repaint_at=tx.now, **values)
    return tx.execute(again).rowcount == 1


_BY = (sightings.c.kind, sightings.c.domain, sightings.c.sequence)
_ORIGINS = (
    sa.select(*_BY, sa.func.count().label("count"))
    .where(sightings.c.workspace == sa.bindparam("of"), sightings.c.at >= sa.bindparam("since"))
    .where(sightings.c.kind.in_(SPIKING))
    .group_by(*_BY)
    .order_by(sa.func.count().desc(), *_BY)
)


def _origins(tx: Transaction, workspace: str, *, since: float) -> Sequence[Origin]:
    return [Origin(**row._asdict()) for row in tx.execute(_ORIGINS, {"of": workspace, "since": since})]


def _counts(origins: Sequence[Origin]) -> Counts:
    found: Counter[tuple[str, Subject]] = Counter()
    for one in origins:
        for scope, name in (("domain", one.domain), ("sequence", one.sequence)):
            if name:
                found[one.kind, Subject(scope=scope, name=name)] += one.count
    return found
