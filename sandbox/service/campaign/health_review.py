"""Deliverability: the daily review of every inbox, and the automatic pause of a domain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, select, update

from sandbox.service.base.clock import day_of
from sandbox.service.base.schema import daily_counts, domains, inboxes, sequences
from sandbox.service.campaign import deliverability
from sandbox.service.campaign.deliverability import InboxState, Record
from sandbox.service.campaign.rules import Window, next_slot
from sandbox.service.webhooks import events as webhook_events

NEVER = 1e12
_RECENT_DAYS = 5
_JUDGED_DAYS = 6

_CHANGE = (
    update(inboxes)
    .where(inboxes.c.pk == bindparam("inbox"))
    .values(
        health=bindparam("score"),
        daily_limit=bindparam("cap"),
        status=bindparam("now_is"),
        next_slot_at=bindparam("slot"),
    )
)
_WITH_WINDOWS = select(inboxes, sequences.c.opens, sequences.c.closes, sequences.c.weekdays).join(
    sequences, sequences.c.pk == inboxes.c.sequence_pk
)


def _sums() -> tuple[Any, ...]:
    names = ("sends", "replies", "bounces", "complaints")
    return tuple(func.coalesce(func.sum(daily_counts.c[name]), 0).label(name) for name in names)


_BY_INBOX = (
    select(daily_counts.c.group_key, *_sums())
    .where(
        daily_counts.c.grouping == "inbox", daily_counts.c.day.between(bindparam("first"), bindparam("last"))
    )
    .group_by(daily_counts.c.group_key)
)
_OF_DOMAIN = (
    select(daily_counts.c.day, *_sums())
    .where(
        daily_counts.c.workspace_pk == bindparam("workspace"),
        daily_counts.c.grouping == "inbox",
        daily_counts.c.day.between(bindparam("first"), bindparam("last")),
        # As a join, SQLite would walk the counts of every inbox of the workspace.
        daily_counts.c.group_key.in_(select(inboxes.c.pk).where(inboxes.c.domain_pk == bindparam("domain"))),
    )
    .group_by(daily_counts.c.day)
    .order_by(daily_counts.c.day.desc())
)


def review_inboxes(connection: Connection, *, seed: int, at: float) -> None:
    """The daily review at the start of a UTC day: scores follow the last days, warm-up raises limits."""
    day = day_of(at)
    days = {"first": day - _RECENT_DAYS, "last": day - 1}
    records = {row.group_key: _record(row) for row in connection.execute(_BY_INBOX, days)}
    changes = []
    for inbox in connection.execute(_WITH_WINDOWS.order_by(inboxes.c.pk)).all():
        record = records.get(inbox.pk, Record())
        health = deliverability.health_tomorrow(inbox.health, record, key=(seed, inbox.pk, day))
        if inbox.status == "warming":
            state = deliverability.warmed(inbox.daily_limit, inbox.full_limit, health=health)
            slot = _first_slot(inbox, state, seed=seed, at=at)
        else:
            state = InboxState(health=health, daily_limit=inbox.daily_limit, status=inbox.status)
            slot = inbox.next_slot_at
        changes.append(_change(inbox, state, slot=slot))
    if changes:
        connection.execute(_CHANGE, changes)
    _declare_healthy(connection)


def _record(row: Row[Any]) -> Record:
    names = ("sends", "replies", "bounces", "complaints")
    return Record(**{name: int(getattr(row, name)) for name in names})


def _change(inbox: Row[Any], state: InboxState, *, slot: float) -> dict[str, Any]:
    changed = {"score": state.health, "cap": state.daily_limit, "now_is": state.status}
    return {"inbox": inbox.pk, "slot": slot, **changed}


def _first_slot(inbox: Row[Any], state: InboxState, *, seed: int, at: float) -> float:
    return next_slot(Window.of(inbox), limit=state.daily_limit, after=at, key=(seed, inbox.pk))


def _declare_healthy(connection: Connection) -> None:
    still = select(inboxes.c.domain_pk).where(inboxes.c.status != "active")
    connection.execute(
        update(domains)
        .where(domains.c.state == "warming", domains.c.pk.not_in(still))
        .values(state="healthy")
    )


def pause_unhealthy_domains(connection: Connection, suspects: Iterable[int], *, at: float) -> None:
    """Pause each of these domains whose last days deserve it (document: domain.paused)."""
    for pk in sorted(suspects):
        domain = connection.execute(select(domains).where(domains.c.pk == pk)).one()
        if domain.state != "healthy":  # a domain that is warming up is watched by people already
            continue
        where = {
            "workspace": domain.workspace_pk,
            "domain": pk,
            "first": day_of(at) - _JUDGED_DAYS,
            "last": day_of(at),
        }
        record = deliverability.judged(_record(row) for row in connection.execute(_OF_DOMAIN, where))
        reason = deliverability.reason_to_pause(record)
        if reason is not None:
            pause_domain(connection, domain, at=at, reason=reason, record=record)


def pause_domain(connection: Connection, domain: Row[Any], *, at: float, reason: str, record: Record) -> None:
    """Auto-pause: the domain's inboxes rest, and subscribers are notified."""
    connection.execute(
        update(domains)
        .where(domains.c.pk == domain.pk)
        .values(state="paused", until=at + deliverability.REST)
    )
    resting = connection.execute(
        update(inboxes)
        .where(inboxes.c.domain_pk == domain.pk)
        .values(status="resting", next_slot_at=NEVER)
        .returning(inboxes.c.email)
    )
    payload = webhook_events.domain_payload(
        domain=domain.name,
        reason=reason,
        rate=record.rate(record.bounces if reason == "bounce_rate" else record.complaints),
        inboxes=sorted(row.email for row in resting),
    )
    webhook_events.publish(connection, payload, workspace=domain.workspace_pk, at=at)


def wake_rested_domains(connection: Connection, *, seed: int, at: float) -> None:
    """Let domains that have rested long enough warm up."""
    rested = connection.execute(
        select(domains).where(domains.c.state == "paused", domains.c.until <= at)
    ).all()
    for domain in rested:
        connection.execute(
            update(domains).where(domains.c.pk == domain.pk).values(state="warming", until=None)
        )
        changes = []
        for inbox in connection.execute(_WITH_WINDOWS.where(inboxes.c.domain_pk == domain.pk)).all():
            state = deliverability.rested(inbox.full_limit, health=inbox.health)
            changes.append(_change(inbox, state, slot=_first_slot(inbox, state, seed=seed, at=at)))
        connection.execute(_CHANGE, changes)
