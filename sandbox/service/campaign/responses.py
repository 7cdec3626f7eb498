"""Records a response: the lead's status, the counts and the events, in one transaction."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from sandbox.service.base.clock import DAY, date_of, day_of
from sandbox.service.base.schema import blocklist, inboxes, leads, responses, sequences
from sandbox.service.base.storage import upsert
from sandbox.service.campaign import reply_texts, rules
from sandbox.service.campaign.daily_counts import Cell, CountBuffer
from sandbox.service.webhooks import events as webhook_events

KINDS_OF: dict[str, tuple[str, ...]] = {
    "interested": ("lead.replied", "reply.interested"),
    "reply": ("lead.replied",),
    "again": ("lead.replied",),
    "turned": ("lead.replied", "reply.interested"),
    "ooo": ("reply.ooo",),
    "bounce_hard": ("lead.bounced",),
    "bounce_soft": ("lead.bounced",),
    "unsubscribe": ("lead.replied", "lead.unsubscribed"),
    "complaint": ("lead.unsubscribed",),
    "completed": ("sequence.completed",),
    "meeting": (),
}
"""The deliveries that a response causes (document: Event kinds)."""
BLOCKING = {"bounce_hard", "unsubscribe", "complaint"}
"""The responses that put the address on the blocklist."""

_CONTEXT = (
    select(
        leads,
        sequences.c.name.label("sequence"),
        sequences.c.steps,
        inboxes.c.email.label("inbox"),
    )
    .join(sequences, sequences.c.pk == leads.c.sequence_pk)
    .join(inboxes, inboxes.c.pk == bindparam("inbox"))
    .where(leads.c.pk == bindparam("lead"))
)
_SETTLE = (
    update(leads)
    .where(leads.c.pk == bindparam("lead"))
    .values(status=bindparam("now_is"), due_at=bindparam("next_due"), step=bindparam("at_step"))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What a lead (or its mail server) sends back to a step."""

    lead: int
    inbox: int
    step: int
    kind: str
    text: str | None = None
    overrides: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One transaction of the campaign, and the counts of what happens in it."""

    connection: Connection
    seed: int
    buffer: CountBuffer = field(default_factory=CountBuffer)
    hostile: bool = False
    """Whether a third of the replies attack whoever shows them."""


def apply_response(work: Work, response: Response, *, at: float) -> bool:
    """Let a response take effect; False when its lead has been removed or is past it."""
    found = work.connection.execute(_CONTEXT, {"lead": response.lead, "inbox": response.inbox})
    lead = found.first()
    if lead is None or not _possible(response.kind, lead.status):
        return False
    variant = rules.variant_of(seed=work.seed, lead=response.lead, step=response.step)
    cell = Cell(lead.workspace_pk, day_of(at), lead.sequence_pk, response.step, variant, response.inbox)
    for what in rules.COUNTED[response.kind]:
        work.buffer.count(cell, what)
    _change_lead(work, response, lead, at=at)
    away = rules.days_away(seed=work.seed, lead=lead.pk, step=response.step)
    extra = details(
        response.kind,
        text=response.text,
        returns=date_of(at + away * DAY),
        key=(work.seed, lead.pk, response.step),
        inbox=lead.inbox,
        lead=lead,
        hostile=work.hostile,
    )
    for kind in KINDS_OF[response.kind]:
        payload = webhook_events.lead_payload(
            kind, lead=lead, sequence=lead.sequence, step=response.step, inbox=lead.inbox, **extra
        )
        body = payload | response.overrides
        webhook_events.publish(work.connection, body, workspace=lead.workspace_pk, at=at)
    return True


def _possible(kind: str, status: str) -> bool:
    if kind == "meeting":
        return status == "interested"
    if kind == "again":
        return status in {"replied", "interested"}
    if kind == "turned":
        return status == "replied"
    return status == "active" or (kind == "bounce_hard" and status == "completed")


def _change_lead(work: Work, response: Response, lead: Any, *, at: float) -> None:
    connection, seed = work.connection, work.seed
    if response.kind not in {"meeting", "again"}:
        connection.execute(_SETTLE, {"lead": lead.pk} | _next(response, lead, seed=seed, at=at))
    if response.kind in BLOCKING:
        block(connection, lead.workspace_pk, lead.email)
    if response.kind == "ooo" and response.step >= lead.steps:
        expect(connection, response, kind="completed", due_at=at + rules.FINISH_AFTER)
    again = rules.writes_again(response.kind, seed=seed, lead=lead.pk, step=response.step)
    if again is not None:
        expect(connection, response, kind=again.kind, due_at=at + again.delay)
    if response.kind in {"interested", "turned"}:
        delay = rules.books_meeting(seed=seed, lead=lead.pk, step=response.step)
        if delay is not None:
            expect(connection, response, kind="meeting", due_at=at + delay)


def _next(response: Response, lead: Any, *, seed: int, at: float) -> dict[str, Any]:
    """Where the lead stands now. A soft bounce is sent again a day later, an absent lead after the return date."""
    if response.kind == "bounce_soft":
        return {"now_is": "active", "next_due": at + DAY, "at_step": response.step - 1}
    if response.kind == "ooo":
        away = rules.days_away(seed=seed, lead=lead.pk, step=response.step)
        due = at + away * DAY if response.step < lead.steps else None
        return {"now_is": "active", "next_due": due, "at_step": response.step}
    return {"now_is": rules.FINAL.get(response.kind, "completed"), "next_due": None, "at_step": response.step}


def block(connection: Connection, workspace: int, entry: str) -> None:
    statement = upsert(connection.dialect.name, blocklist).values(workspace_pk=workspace, entry=entry.lower())
    connection.execute(statement.on_conflict_do_nothing())


def expect(connection: Connection, response: Response, *, kind: str, due_at: float) -> None:
    """Let a response show later."""
    row = {"lead_pk": response.lead, "inbox_pk": response.inbox, "step": response.step}
    connection.execute(insert(responses), {**row, "kind": kind, "due_at": due_at})


def details(
    kind: str,
    *,
    text: str | None,
    returns: dt.date,
    key: object,
    inbox: str,
    lead: Any,
    hostile: bool = False,
) -> dict[str, Any]:
    """What the payload of a response says beside the lead: `reply`, `return_date` or `bounce_type`."""
    if kind.startswith("bounce"):
        return {"bounce_type": kind.removeprefix("bounce_")}
    kind = "interested" if kind == "turned" else kind
    if kind not in {"interested", "reply", "again", "ooo", "unsubscribe"}:
        return {}
    reply = text or reply_texts.reply_text(
        kind,
        key=key,
        me=inbox.partition("@")[0].rstrip("0123456789").capitalize(),
        first=lead.first_name,
        last=lead.last_name,
        company=lead.company,
        date=returns,
        hostile=hostile,
    )
    return {"reply": reply} | ({"return_date": returns.isoformat()} if kind == "ooo" else {})
