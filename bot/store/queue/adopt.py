"""A delivery and what the API told of the same lead are one alert, whichever is routed first, and by whom."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from bot.store.db.schema import alerts, deliveries, known_leads

ADOPTED_WITHIN = 90_000.0
"""Seconds; the sender tries for a day."""

Lead = tuple[str, str, str]
"""Workspace, kind of event, address."""
LONGEST_ADDRESS = 320
"""Characters of an address that is stored whole: 64 before the @ and 255 after it (RFC 5321)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A delivery that has no alert yet, and whom it tells of."""

    delivery: int
    found: bool
    lead: Lead
    shown: bool
    """Whether anybody is told."""


def address(email: str) -> str:
    """What two spellings of one lead's address have in common, short enough for an index.

    A text that is too long for an address ends in its hash, so that two of them stay different.
    """
    text = email.strip().lower()
    if len(text) <= LONGEST_ADDRESS:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[: LONGEST_ADDRESS - len(digest)]}{digest}"


def join(
    connection: sa.Connection, told: Sequence[Told], *, now: float
) -> tuple[Mapping[int, str], Collection[int]]:
    """The deliveries that take over the alert of what was found before, and the found ones that come too late."""
    _hold(connection, {one.lead for one in told})
    delivered = [one for one in told if not one.found]
    adopted = _adopt(connection, {one.lead: one.delivery for one in delivered}, now=now)
    shown = {one.lead for one in delivered if one.shown}
    return adopted, _too_late(connection, [one for one in told if one.found], shown)


def _hold(connection: sa.Connection, leads: Collection[Lead]) -> None:
    """Let one process at a time decide on a lead that the API tells of; SQLite has one writer in any case."""
    if leads and connection.dialect.name == "postgresql":
        row = known_leads.c.workspace, known_leads.c.lead
        held = sa.select(*row).where(sa.tuple_(*row).in_({(lead[0], lead[2]) for lead in leads}))
        connection.execute(held.order_by(*row).with_for_update())


def _adopt(connection: sa.Connection, late: dict[Lead, int], *, now: float) -> Mapping[int, str]:
    if not late:
        return {}
    found = (
        sa.select(alerts.c.id, alerts.c.workspace, alerts.c.kind, alerts.c.email)
        .join(deliveries, deliveries.c.id == alerts.c.delivery_id)
        .where(alerts.c.email.in_([email for _, _, email in late]), deliveries.c.found)
        .where(alerts.c.received_at > now - ADOPTED_WITHIN)
    )
    adopted: dict[int, str] = {}
    for name, *key in connection.execute(found).all():
        delivery = late.pop(tuple(key), None)
        if delivery is not None:
            connection.execute(sa.update(alerts).where(alerts.c.id == name).values(delivery_id=delivery))
            adopted[delivery] = name
    return adopted


def _too_late(connection: sa.Connection, found: Sequence[Told], shown: Collection[Lead]) -> Collection[int]:
    """Found while their delivery was on the way: that has its alert, or gets it in this transaction."""
    if not found:
        return ()
    query = sa.select(alerts.c.workspace, alerts.c.kind, alerts.c.email)
    rows = connection.execute(query.where(alerts.c.email.in_({one.lead[2] for one in found})))
    there = {*shown, *(tuple(row) for row in rows)}
    late: set[int] = set()
    for one in found:
        if one.lead in there:
            late.add(one.delivery)
        there.add(one.lead)
    return late
