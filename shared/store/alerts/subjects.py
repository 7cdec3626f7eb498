"""The subjects of open alerts (a paused sequence, a recovering domain), and the events of a domain."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from shared.api.event_kinds import DNS, INTERESTED, PAUSED
from shared.domain.dns_facts import in_dns
from shared.guardrails.rule import subject_key
from shared.store.db.columns import NOW
from shared.store.db.engine import Repository, Transaction, reads, writes
from shared.store.db.schema import alerts, posts, sightings
from shared.store.queue import outbox
from shared.store.queue.alert_row import AlertRow, read_alerts
from shared.store.queue.outbox import PlannedPost
from shared.store.queue.post_kinds import ALERT

PAUSED_FOR = 21 * 86_400.0
"""Seconds after which the card of a paused domain is left as it is."""
AT_ONCE = 200
"""Cards that one transaction turns, so that the intake never waits long."""
MOVED = json.dumps({"moved": True})
"""The state of a card about DNS, once the card of the domain's pause shows it instead."""
NAME = 300
"""Letters of a sequence's name that are kept with an alert."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSequence:
    """A sequence on open cards: its name as delivered, and the states that the cards show, which are usually one."""

    name: str
    states: frozenset[str]


_SUBJECT = [alerts.c[name] for name in ("id", "kind", "sequence", "domain", "standing", "received_at")]
"""Of open alerts, what tells whether a card is to change."""


def _is_open() -> sa.ColumnElement[bool]:
    """In the words of the index."""
    interested = alerts.c.kind == sa.literal(INTERESTED, literal_execute=True)
    has_sequence = alerts.c.sequence != sa.literal("", literal_execute=True)
    return interested & alerts.c.handled_at.is_(None) & has_sequence


_PAUSED = (
    (alerts.c.kind == sa.literal(PAUSED, literal_execute=True))
    & alerts.c.recovered_at.is_(None)
    & (alerts.c.received_at > NOW - PAUSED_FOR)
)
_IN_WORKSPACE = sa.bindparam("in_workspace", type_=sa.Text)


def _distinct(column: str, *where: sa.ColumnElement[bool]) -> sa.CTE:
    """The values of a column of open alerts, each found from the one before it in the index, however many rows have it.

    https://wiki.postgresql.org/wiki/Loose_indexscan
    """
    first = sa.select(sa.func.min(alerts.c[column]).label("value")).where(_is_open(), *where)
    values = first.cte(f"distinct_{column}", recursive=True)
    later = sa.select(sa.func.min(alerts.c[column])).where(
        _is_open(), *where, alerts.c[column] > values.c.value
    )
    return values.union_all(sa.select(later.scalar_subquery()).where(values.c.value.is_not(None)))


_WITH_CARDS = _distinct("workspace")
_WORKSPACES = sa.union(
    sa.select(_WITH_CARDS.c.value).where(_WITH_CARDS.c.value.is_not(None)),
    sa.select(alerts.c.workspace).where(_PAUSED),
)
_NAMES = _distinct("sequence", alerts.c.workspace == _IN_WORKSPACE)


def _extreme(function: Any) -> sa.ScalarSelect[Any]:
    of_name = (alerts.c.workspace == _IN_WORKSPACE) & (alerts.c.sequence == _NAMES.c.value)
    return sa.select(function(alerts.c.standing)).where(_is_open(), of_name).scalar_subquery()


_SEQUENCES_SHOWN = sa.select(
    _NAMES.c.value, _extreme(sa.func.min).label("low"), _extreme(sa.func.max).label("high")
).where(_NAMES.c.value.is_not(None))
_TURNED = (
    sa.update(alerts)
    .where(
        alerts.c.id.in_(
            sa.select(alerts.c.id)
            .where(_is_open(), alerts.c.workspace == _IN_WORKSPACE)
            .where(alerts.c.sequence == sa.bindparam("name"), alerts.c.standing == sa.bindparam("shown"))
            .order_by(alerts.c.received_at.desc())
            .limit(AT_ONCE)
            .with_for_update(skip_locked=True)
        )
    )
    .values(standing=sa.bindparam("state"))
    .returning(alerts.c.id)
)
_PAUSED_DOMAINS = (
    sa.select(*_SUBJECT)
    .where(alerts.c.workspace == _IN_WORKSPACE, _PAUSED)
    .order_by(alerts.c.received_at.desc())
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

_HEARD = sa.select(sa.func.min(sightings.c.at)).where(sightings.c.workspace == sa.bindparam("workspace"))


def heard_since(tx: Transaction, workspace: str) -> float | None:
    """When the workspace's first delivery came, of those that are kept: earlier events are unknown; None: none has come."""
    found: float | None = tx.scalar(_HEARD, {"workspace": workspace})
    return found


def open_card(tx: Transaction, workspace: str, domain: str) -> sa.Row[str, str, str] | None:
    """The alert of a domain's pause, or else of its broken DNS, while it is not over; `domain` in small letters."""
    c = alerts.c
    query = sa.select(c.id, c.kind, c.domain).where(
        c.workspace == workspace,
        c.received_at > tx.now - PAUSED_FOR,
        c.kind.in_((PAUSED, DNS)),
        c.recovered_at.is_(None),
    )
    # In Python: a domain is compared by its key everywhere, which a database can't compute.
    rows = tx.execute(query.order_by(c.received_at.desc()))
    found = [row for row in rows if domain in {subject_key(row.domain), in_dns(row.domain)}]
    return min(found, key=lambda row: row.kind != PAUSED, default=None)


def update_subject(
    tx: Transaction,
    alert: str,
    standing: str,
    *,
    note: PlannedPost | None = None,
    recovered: bool = False,
    held_until: Callable[[str], float | None] = lambda _channel: None,
) -> bool:
    """Store the state of an alert's subject; False: there is no such alert, or it has that state.

    `held_until`: until when a note waits in a channel.
    """
    values: dict[str, Any] = {"standing": standing}
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
            in_channel = replace(
                note,
                channel=card.channel,
                dedupe=f"{note.dedupe}:{card.channel}",
                alert_id=alert,
                held_until=held_until(card.channel),
            )
            outbox.plan(tx, in_channel, workspace=card.workspace)
    return True


def events_of_domain(
    tx: Transaction, workspace: str, domain: str, *, since: float
) -> tuple[Mapping[str, int], Sequence[str]]:
    """Counts by kind, also of hard bounces, and the sequences that sent from it, busiest first."""
    which = {"workspace": workspace, "domain": domain, "since": since}
    counts = {kind: int(count) for kind, count in tx.execute(_KINDS, which)}
    return {**counts, "hard": int(tx.scalar(_HARD, which) or 0)}, tx.scalars(_BUSIEST, which).all()


class Subjects(Repository):
    """What open alerts are about."""

    @reads
    def workspaces(self, tx: Transaction) -> Sequence[str]:
        return tx.scalars(_WORKSPACES, {"now": tx.now}).all()

    @reads
    def paused_domains(self, tx: Transaction, workspace: str) -> Sequence[AlertRow]:
        """Paused domains that have not recovered, the newest first."""
        return read_alerts(tx, _PAUSED_DOMAINS, {"in_workspace": workspace, "now": tx.now})

    @writes
    def take_dns(self, tx: Transaction, workspace: str, domain: str) -> None:
        """Let the card of a domain's broken DNS point to that of its pause, which shows it from now on."""
        c = alerts.c
        query = sa.select(c.id, c.domain).where(
            c.workspace == workspace,
            c.kind == DNS,
            c.received_at > tx.now - PAUSED_FOR,
            c.recovered_at.is_(None),
        )
        for row in tx.execute(query).all():
            if in_dns(row.domain) == in_dns(domain):
                update_subject(tx, row.id, MOVED, recovered=True)

    @reads
    def sequences(self, tx: Transaction, workspace: str) -> Sequence[ShownSequence]:
        """The sequences on the cards of interested replies that are not handled."""
        rows = tx.execute(_SEQUENCES_SHOWN, {"in_workspace": workspace})
        return [ShownSequence(name=name, states=frozenset({low, high})) for name, low, high in rows]

    @writes
    def turn(self, tx: Transaction, workspace: str, name: str, *, shown: str, state: str) -> int:
        """Have some of the open cards that show a state of the sequence show another, the newest first; returns how many."""
        values = {"in_workspace": workspace, "name": name, "shown": shown, "state": state, "now": tx.now}
        turned = tx.scalars(_TURNED, values).all()
        if turned:
            outbox.repaint(tx, turned)
        return len(turned)

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
        return update_subject(tx, alert, standing, note=note, recovered=recovered)

    @reads
    def domain_events(
        self, tx: Transaction, workspace: str, domain: str, *, since: float
    ) -> tuple[Mapping[str, int], Sequence[str]]:
        """The events of a domain: counts by kind, also of hard bounces, and the sequences that sent from it, busiest first."""
        return events_of_domain(tx, workspace, domain, since=since)
