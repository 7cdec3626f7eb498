"""The events of the nine weeks before the first day, as if the service had recorded them then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from sqlalchemy import Connection

from sandbox.service.base.clock import DAY, date_of
from sandbox.service.base.schema import blocklist, events
from sandbox.service.campaign import rules
from sandbox.service.campaign.people_names import Person
from sandbox.service.campaign.responses import BLOCKING, KINDS_OF, details
from sandbox.service.campaign.rows import insert_all
from sandbox.service.campaign.simulation import KEPT_DAYS, REPLIES
from sandbox.service.webhooks.events import encode, lead_payload


class PastResponse(NamedTuple):
    """A response that has taken effect, with what its event says."""

    at: float
    kind: str
    serial: int
    step: int
    person: Person
    sequence: str
    inbox: str


def insert_past_events(
    connection: Connection, past: Iterable[PastResponse], *, workspace: int, seed: int, now: float
) -> None:
    """Record the past responses as events, oldest first, and block the addresses that they block.

    Replies are kept forever, the other events for `KEPT_DAYS`, as the daily clean-up does it.
    """
    responses = sorted(past)
    rows = (
        {
            "workspace_pk": workspace,
            "kind": payload["event"],
            "email": one.person.email,
            "at": one.at,
            "body": encode(payload),
        }
        for one in responses
        for payload in _payloads(one, seed=seed, since=now - KEPT_DAYS * DAY)
    )
    insert_all(connection, events, rows)
    blocked = {one.person.email for one in responses if one.kind in BLOCKING}
    insert_all(
        connection, blocklist, [{"workspace_pk": workspace, "entry": entry} for entry in sorted(blocked)]
    )


def _payloads(one: PastResponse, *, seed: int, since: float) -> Iterator[dict[str, Any]]:
    kinds = [kind for kind in KINDS_OF[one.kind] if kind in REPLIES or one.at >= since]
    if not kinds:
        return
    away = rules.days_away(seed=seed, lead=-one.serial, step=one.step)
    extra = details(
        one.kind,
        text=None,
        returns=date_of(one.at + away * DAY),
        key=(seed, -one.serial, one.step),
        inbox=one.inbox,
        lead=one.person,
    )
    for kind in kinds:
        yield lead_payload(
            kind, lead=one.person, sequence=one.sequence, step=one.step, inbox=one.inbox, **extra
        )
