"""Triggers events of scenarios and of the control API, by the campaign's rules."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from sandbox.service.base.clock import date_of, day_of
from sandbox.service.base.errors import NotFound
from sandbox.service.base.schema import domains, inboxes, leads, sequences, workspaces
from sandbox.service.base.seeded_random import roll
from sandbox.service.campaign.daily_counts import Cell
from sandbox.service.campaign.deliverability import Record
from sandbox.service.campaign.health_review import pause_domain
from sandbox.service.campaign.people_names import person
from sandbox.service.campaign.responses import Response, Work, apply_response, details
from sandbox.service.campaign.rules import variant_of
from sandbox.service.campaign.scenarios import ScheduledEvent
from sandbox.service.webhooks.events import lead_payload, publish

SCHEDULED_RESPONSES = {
    "interested": "interested",
    "replies": "reply",
    "bounces": "bounce_hard",
    "opt_outs": "unsubscribe",
    "out_of_office": "ooo",
}
RESPONSES = {
    "lead.replied": "reply",
    "reply.interested": "interested",
    "reply.ooo": "ooo",
    "lead.bounced": "bounce_hard",
    "lead.unsubscribed": "unsubscribe",
    "sequence.completed": "completed",
}

_REACHED = (
    select(
        leads.c.pk,
        leads.c.sequence_pk,
        leads.c.inbox_pk,
        leads.c.step,
        sequences.c.steps,
        inboxes.c.domain_pk,
    )
    .join(inboxes, inboxes.c.pk == leads.c.inbox_pk)
    .join(sequences, sequences.c.pk == leads.c.sequence_pk)
    .where(
        leads.c.workspace_pk == bindparam("workspace"),
        leads.c.status == "active",
        leads.c.step >= 1,
        leads.c.pk >= bindparam("start"),
    )
    .order_by(leads.c.pk)
    .limit(bindparam("count"))
)
_OF_DOMAIN = _REACHED.where(inboxes.c.domain_pk == bindparam("domain"))
_OF_SEQUENCE = _REACHED.where(leads.c.sequence_pk == bindparam("sequence"))
_OF_LEAD = _REACHED.where(leads.c.pk == bindparam("start"))
_IS_SENDING = (sequences.c.status == "active", inboxes.c.status != "resting")


def run_scheduled_event(work: Work, event: ScheduledEvent, *, at: float) -> set[int]:
    """Carry out a scenario's event, in the first workspace if it names none; the domains that it may have harmed."""
    connection, domain, workspace = work.connection, event.domain, 1
    assert not isinstance(domain, str)
    if event.workspace is not None:
        named = select(workspaces.c.pk).where(workspaces.c.name == event.workspace)
        workspace = connection.execute(named).scalar_one()
    elif domain is not None:
        workspace = connection.execute(
            select(domains.c.workspace_pk).where(domains.c.pk == domain)
        ).scalar_one()
    key = (work.seed, event.at, event.kind, domain or 0, event.count)
    bounces = event.kind == "bounces"
    reached = choose(
        connection, workspace=workspace, count=event.count, key=key, domain=domain, sending=bounces
    )
    for lead in reached:
        step = lead.step
        if bounces:  # of mail that goes out now: what isn't sent can't bounce
            step = min(step + 1, lead.steps)
            variant = variant_of(seed=work.seed, lead=lead.pk, step=step)
            cell = Cell(workspace, day_of(at), lead.sequence_pk, step, variant, lead.inbox_pk)
            work.buffer.count(cell, "sends")
        kind = SCHEDULED_RESPONSES[event.kind]
        apply_response(work, Response(lead=lead.pk, inbox=lead.inbox_pk, step=step, kind=kind), at=at)
    return {lead.domain_pk for lead in reached} if bounces else set()


def choose(
    connection: Connection,
    *,
    workspace: int,
    count: int,
    key: tuple[object, ...],
    domain: int | None = None,
    sequence: int | None = None,
    sending: bool = False,
) -> list[Any]:
    """Leads that have been written to and have not answered, from a place in the list that the key decides.

    `sending`: only of active sequences, and of inboxes that aren't resting.
    """
    last = (
        connection.execute(select(func.max(leads.c.pk)).where(leads.c.workspace_pk == workspace)).scalar()
        or 0
    )
    where: dict[str, Any] = {"workspace": workspace, "count": count}
    statement = _REACHED
    if domain is not None:
        statement, where = _OF_DOMAIN, where | {"domain": domain}
    elif sequence is not None:
        statement, where = _OF_SEQUENCE, where | {"sequence": sequence}
    if sending:
        statement = statement.where(*_IS_SENDING)
    found = list(connection.execute(statement, where | {"start": int(last * roll("choose", *key))}))
    if len(found) < count:
        known = {lead.pk for lead in found}
        again = connection.execute(statement, where | {"start": 0})
        found += [lead for lead in again if lead.pk not in known][: count - len(found)]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRequest:
    """An event on demand: of which kind, how often, about whom, and what its payload shall say otherwise.

    Many events are granted in several goes; `first` is how many went before.
    """

    kind: str
    count: int = 1
    first: int = 0
    sequence: int | None = None
    lead: int | None = None
    domain: int | None = None
    text: str | None = None
    overrides: dict[str, Any] = field(default_factory=dict)


def trigger(connection: Connection, request: EventRequest, *, workspace: int, seed: int, at: float) -> int:
    """Let an event happen; how many times it did. Leads that run out are replaced by strangers.

    Raises `NotFound`: there is no such lead, sequence or domain, or nothing in the workspace to send from.
    """
    if request.kind == "domain.paused":
        return _pause_domains(connection, request, workspace=workspace, at=at)
    work = Work(connection=connection, seed=seed)
    reached = _reached(connection, request, workspace=workspace, seed=seed, at=at)
    for lead in reached:
        response = Response(
            lead=lead.pk,
            inbox=lead.inbox_pk,
            step=lead.step,
            kind=RESPONSES[request.kind],
            text=request.text,
            overrides=request.overrides,
        )
        apply_response(work, response, at=at)
    work.buffer.save(connection)
    missing = 0 if request.lead is not None else request.count - len(reached)
    for number in range(missing):
        payload = _payload_of_a_stranger(
            connection, request, workspace=workspace, key=(seed, at, request.first + number), at=at
        )
        publish(connection, payload, workspace=workspace, at=at)
    return len(reached) + missing


def _reached(
    connection: Connection, request: EventRequest, *, workspace: int, seed: int, at: float
) -> list[Any]:
    if request.lead is None:
        key = (seed, at, request.kind, request.first)
        return choose(
            connection, workspace=workspace, count=request.count, key=key, sequence=request.sequence
        )
    where = {"workspace": workspace, "count": 1, "start": request.lead}
    lead = connection.execute(_OF_LEAD, where).first()
    if lead is None:
        raise NotFound("No lead matches that was contacted and hasn't replied yet.")
    return [lead]


def _payload_of_a_stranger(
    connection: Connection, request: EventRequest, *, workspace: int, key: tuple[object, ...], at: float
) -> dict[str, Any]:
    """An event about someone who isn't a lead: the account doesn't change."""
    statement = select(sequences.c.name, inboxes.c.email).join(
        inboxes, inboxes.c.sequence_pk == sequences.c.pk
    )
    statement = statement.where(sequences.c.workspace_pk == workspace).order_by(inboxes.c.pk).limit(1)
    if request.sequence is not None:
        statement = statement.where(sequences.c.pk == request.sequence)
    home = connection.execute(statement).first()
    if home is None:
        raise NotFound("The workspace has no sequence with an inbox that can receive a reply.")
    someone = person(*key)
    extra = details(
        RESPONSES[request.kind],
        text=request.text,
        returns=date_of(at) + dt.timedelta(days=7),
        key=key,
        inbox=home.email,
        lead=someone,
    )
    payload = lead_payload(request.kind, lead=someone, sequence=home.name, step=1, inbox=home.email, **extra)
    return payload | request.overrides


def _pause_domains(connection: Connection, request: EventRequest, *, workspace: int, at: float) -> int:
    statement = (
        select(domains).where(domains.c.workspace_pk == workspace).order_by(domains.c.state == "paused")
    )
    if request.domain is not None:
        statement = statement.where(domains.c.pk == request.domain)
    found = connection.execute(statement.order_by(domains.c.pk).limit(request.count)).all()
    if not found:
        raise NotFound("This domain doesn't exist in this workspace.")
    for domain in found:
        record = Record(sends=100, bounces=8, complaints=1)
        pause_domain(connection, domain, at=at, reason="bounce_rate", record=record)
    return len(found)
