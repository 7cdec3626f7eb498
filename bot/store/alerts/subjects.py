"""The subjects of open alerts (a paused sequence, a recovering domain), and the events of a domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from bot.store.db.columns import NOW
from bot.store.db.engine import Repository, Transaction, reads, writes
from bot.store.db.schema import alerts, posts, sightings
from bot.store.queue import outbox
from bot.store.queue.alert_row import AlertRow, read_alerts
from bot.store.queue.outbox import PlannedPost
from bot.store.queue.post_kinds import ALERT
from shared.api.event_kinds import INTERESTED, PAUSED, SPIKING
from shared.domain.wall_clock import DAY

INTERESTED_FOR, PAUSED_FOR = 3 * 86_400.0, 21 * 86_400.0
"""Seconds after which a card is left as it is."""
MOST = 500
NAME = 300
"""Letters of a sequence's name that are kept with an alert."""


_SUBJECT = [alerts.c[name] for name in ("id", "kind", "sequence", "domain", "standing", "received_at")]
"""Of hundreds of open alerts, what tells whether a card is to change."""


def _is_kind(kind: str) -> sa.ColumnElement[bool]:
    return alerts.c.kind == sa.literal(kind, literal_execute=True)


_OPEN = (
    _is_kind(INTERESTED)
    & alerts.c.handled_at.is_(None)
    & (alerts.c.sequence != "")
    & (alerts.c.received_at > NOW - INTERESTED_FOR)
)
_PAUSED = _is_kind(PAUSED) & alerts.c.recovered_at.is_(None) & (alerts.c.received_at > NOW - PAUSED_FOR)
_WORKSPACES = sa.union(
    sa.select(alerts.c.workspace).where(_OPEN), sa.select(alerts.c.workspace).where(_PAUSED)
)
_WATCHED = (
    sa.select(*_SUBJECT)
    .where(alerts.c.workspace == sa.bindparam("workspace"), _OPEN | _PAUSED)
    .order_by(alerts.c.received_at.desc())
    .limit(MOST)
)
_CHANGED = sa.update(alerts).where(alerts.c.id == sa.bindparam("alert"))
_NEWS = _CHANGED.where(alerts.c.standing != sa.bindparam("shown"))
_RECOVERED = _CHANGED.where(alerts.c.recovered_at.is_(None))
_OF_DOMAIN = (
    (sightings.c.workspace == sa.bindparam("workspace"))
    & (sightings.c.domain == sa.bindparam("domain"))
    & (sightings.c.at >= sa.bindparam("since"))
)
_KINDS = sa.select(sightings.c.kind, sa.func.count()).where(_OF_DOMAIN).group_by(sightings.c.kind)
_HARD = sa.select(sa.func.count()).where(
    _OF_DOMAIN, sightings.c.kind == "lead.bounced", sightings.c.detail.like("hard%")
)
_SEQUENCES = (
    sa.select(sightings.c.sequence, sa.func.count())
    .where(_OF_DOMAIN, sightings.c.sequence != "")
    .group_by(sightings.c.sequence)
    .order_by(sa.func.count().desc(), sightings.c.sequence)
)
_BUSIEST = _SEQUENCES.limit(50)
_IS_TROUBLE = sightings.c.kind.in_(SPIKING)
_TROUBLES, _TROUBLED = _KINDS.where(_IS_TROUBLE), _SEQUENCES.where(_IS_TROUBLE)

_BOUNCED = sa.select(sa.func.count()).where(
    _OF_DOMAIN, sightings.c.at < sa.bindparam("until"), sightings.c.kind == "lead.bounced"
)
_HEARD = sa.select(sa.func.min(sightings.c.at)).where(sightings.c.workspace == sa.bindparam("workspace"))


def heard_since(tx: Transaction, workspace: str) -> float | None:
    """When the workspace's first delivery came, of those that are kept: earlier events are unknown; None: none has come."""
    found: float | None = tx.scalar(_HEARD, {"workspace": workspace})
    return found


def first_whole_day(heard: float | None, *, since: float) -> float | None:
    """When the first day begins, from that of `since` on, of which every delivery is known; it may be tomorrow."""
    return None if heard is None else max(since // DAY, -(-heard // DAY)) * DAY


class Subjects(Repository):
    """What open alerts are about."""

    @reads
    def workspaces(self, tx: Transaction) -> Sequence[str]:
        return tx.scalars(_WORKSPACES, {"now": tx.now}).all()

    @reads
    def watched(self, tx: Transaction, workspace: str) -> Sequence[AlertRow]:
        """Interested replies that are not handled and paused domains that have not recovered, the newest first."""
        return read_alerts(tx, _WATCHED, {"workspace": workspace, "now": tx.now})

    @writes
    def update(
        self,
        tx: Transaction,
        alert: str,
        standing: str,
        *,
        note: PlannedPost | None = None,
        recovered: bool = False,
    ) -> bool:
        """Store its state; returns whether it is new, so that a note is posted in its cards' threads."""
        values: dict[str, Any] = {"standing": standing, "looked_at": tx.now}
        if recovered:
            values["recovered_at"] = tx.now
        else:
            values["shown"] = standing
        if not tx.execute(_RECOVERED if recovered else _NEWS, {"alert": alert, **values}).rowcount:
            return False
        outbox.repaint(tx, [alert])
        if note is not None:
            cards = sa.select(posts.c.workspace, posts.c.channel)
            for card in tx.execute(cards.where(posts.c.alert_id == alert, posts.c.kind == ALERT)).all():
                in_channel = replace(note, channel=card.channel, dedupe=f"{note.dedupe}:{card.channel}")
                outbox.plan(tx, in_channel, workspace=card.workspace)
        return True

    @reads
    def domain_events(
        self, tx: Transaction, workspace: str, domain: str, *, since: float
    ) -> tuple[Mapping[str, int], Sequence[str]]:
        """The events of a domain: counts by kind, also of hard bounces, and the sequences that sent from it, busiest first."""
        which = {"workspace": workspace, "domain": domain, "since": since}
        counts = {kind: int(count) for kind, count in tx.execute(_KINDS, which)}
        return {**counts, "hard": int(tx.scalar(_HARD, which) or 0)}, tx.scalars(_BUSIEST, which).all()

    @reads
    def heard_since(self, tx: Transaction, workspace: str) -> float | None:
        return heard_since(tx, workspace)

    @reads
    def bounced(self, tx: Transaction, workspace: str, domain: str, *, since: float, until: float) -> int:
        """The bounces of a domain in this time."""
        which = {"workspace": workspace, "domain": domain, "since": since, "until": until}
        return int(tx.scalar(_BOUNCED, which) or 0)

    @reads
    def troubles(
        self, tx: Transaction, workspace: str, domain: str, *, since: float
    ) -> tuple[Mapping[str, int], Sequence[tuple[str, int]]]:
        """Bounces and opt-outs of a domain by kind, and by sequence, the most first."""
        which = {"workspace": workspace, "domain": domain, "since": since}
        by_sequence = [(name, int(count)) for name, count in tx.execute(_TROUBLED, which)]
        return {kind: int(count) for kind, count in tx.execute(_TROUBLES, which)}, by_sequence
