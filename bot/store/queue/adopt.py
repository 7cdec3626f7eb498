"""Joins a delivery with a lead found through the API into one alert, whichever is routed first."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from bot.store.db.columns import NOW
from bot.store.db.engine import Transaction
from bot.store.db.schema import alerts, deliveries, known_leads

ADOPTED_WITHIN = 90_000.0
"""Seconds; the sender tries for a day."""

Lead = tuple[str, str, str]
"""Workspace, kind of event, address."""
LONGEST_ADDRESS = 320
"""Characters of an address that is stored whole: 64 before the @ and 255 after it (RFC 5321)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A delivery that has no alert yet, and its lead."""

    delivery: int
    found: bool
    lead: Lead
    shown: bool
    """Whether it is posted anywhere."""


def address(email: str) -> str:
    """What two spellings of one lead's address have in common, short enough for an index.

    A text that is too long for an address ends in its hash, so that two of them stay different.
    """
    text = email.strip().lower()
    if len(text) <= LONGEST_ADDRESS:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[: LONGEST_ADDRESS - len(digest)]}{digest}"


def lead_key(email: str) -> str:
    """What `known_leads` remembers an address by: recognizing it takes no address that could be read."""
    return hashlib.sha256(address(email).encode("utf-8", "surrogatepass")).hexdigest()


def join(tx: Transaction, mentions: Sequence[Mention]) -> tuple[Mapping[int, str], Collection[int]]:
    """The deliveries that take over the alert of what was found before, and the found ones that come too late."""
    _lock(tx, {one.lead for one in mentions})
    delivered = [one for one in mentions if not one.found]
    adopted = _adopt(tx, {one.lead: one.delivery for one in delivered})
    shown = {one.lead for one in delivered if one.shown}
    return adopted, _too_late(tx, [one for one in mentions if one.found], shown)


def _lock(tx: Transaction, leads: Collection[Lead]) -> None:
    """Let one process at a time decide on a lead that the API showed; SQLite has one writer in any case."""
    if leads and tx.is_postgresql:
        row = known_leads.c.workspace, known_leads.c.lead
        rows = sa.select(*row).where(sa.tuple_(*row).in_({(lead[0], lead_key(lead[2])) for lead in leads}))
        tx.execute(rows.order_by(*row).with_for_update())


_FOUND = (
    sa.select(alerts.c.id, alerts.c.workspace, alerts.c.kind, alerts.c.email)
    .join(deliveries, deliveries.c.id == alerts.c.delivery_id)
    .where(alerts.c.email.in_(sa.bindparam("emails", expanding=True)), deliveries.c.found)
    .where(alerts.c.received_at > NOW - ADOPTED_WITHIN)
)


def _adopt(tx: Transaction, late: dict[Lead, int]) -> Mapping[int, str]:
    if not late:
        return {}
    values = {"emails": [email for _, _, email in late], "now": tx.now}
    adopted: dict[int, str] = {}
    for name, *key in tx.execute(_FOUND, values).all():
        delivery = late.pop(tuple(key), None)
        if delivery is not None:
            tx.execute(sa.update(alerts).where(alerts.c.id == name).values(delivery_id=delivery))
            adopted[delivery] = name
    return adopted


def _too_late(tx: Transaction, found: Sequence[Mention], shown: Collection[Lead]) -> Collection[int]:
    """Found while their delivery was on the way: that has its alert, or gets it in this transaction."""
    if not found:
        return ()
    query = sa.select(alerts.c.workspace, alerts.c.kind, alerts.c.email)
    rows = tx.execute(query.where(alerts.c.email.in_({one.lead[2] for one in found})))
    there = {*shown, *(tuple(row) for row in rows)}
    late: set[int] = set()
    for one in found:
        if one.lead in there:
            late.add(one.delivery)
        there.add(one.lead)
    return late
