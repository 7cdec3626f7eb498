"""The events of the nine weeks before the first day, as if the service had recorded them then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, select

from sandbox.service.base.clock import DAY, date_of
from sandbox.service.base.schema import blocklist, events, inboxes
from sandbox.service.campaign import rules
from sandbox.service.campaign.people_names import Person
from sandbox.service.campaign.responses import BLOCKING, KINDS_OF, details
from sandbox.service.campaign.rows import insert_all
from sandbox.service.campaign.simulation import KEPT_DAYS, REPLIES
from sandbox.service.seed.prehistory import Prehistory
from sandbox.service.webhooks.events import encode, lead_payload


def insert_past_events(
    connection: Connection,
    past: Prehistory,
    *,
    workspace: int,
    sequences: Mapping[int, str],
    person: Callable[[int], Person],
) -> None:
    """Record the past responses as events, oldest first, and block the addresses that they block.

    Replies are kept forever, the other events for `KEPT_DAYS`, as the daily clean-up does it. `person` makes the lead
    of a serial number.
    """
    mine = select(inboxes.c.pk, inboxes.c.email).where(inboxes.c.workspace_pk == workspace)
    addresses = {row.pk: row.email for row in connection.execute(mine)}
    since, blocked = past.now - KEPT_DAYS * DAY, set[str]()

    def rows() -> Iterator[dict[str, Any]]:
        for one in sorted(past.settled, key=lambda one: (one.at, one.kind, one.history.serial, one.step)):
            history, lead = one.history, person(one.history.serial)
            if one.kind in BLOCKING:
                blocked.add(lead.email)
            kinds = [kind for kind in KINDS_OF[one.kind] if kind in REPLIES or one.at >= since]
            if not kinds:
                continue
            inbox, key = addresses[history.inbox], (past.seed, -history.serial, one.step)
            away = rules.days_away(seed=past.seed, lead=-history.serial, step=one.step)
            returns = date_of(one.at + away * DAY)
            extra = details(one.kind, text=None, returns=returns, key=key, inbox=inbox, lead=lead)
            for kind in kinds:
                name = sequences[history.sequence]
                body = encode(
                    lead_payload(kind, lead=lead, sequence=name, step=one.step, inbox=inbox, **extra)
                )
                row = {"workspace_pk": workspace, "kind": kind, "email": lead.email}
                yield {**row, "at": one.at, "body": body}

    insert_all(connection, events, rows())
    insert_all(
        connection, blocklist, [{"workspace_pk": workspace, "entry": entry} for entry in sorted(blocked)]
    )
