"""Finds interested leads that are new: not announced, not known from before, and without a delivery in transit.

A lead becomes a candidate when it is first seen without an alert, and is announced when a later look finds it
still without one. What is announced this way is a delivery that was found, not delivered (`found`); should the sender's
retry come after all, the router gives it to the alert that is there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from bot.store.db.engine import Repository, Transaction, portions, reads, writes
from bot.store.db.schema import alerts, deliveries, known_leads
from bot.store.queue.adopt import lead_key
from bot.store.queue.insert import Arrival
from shared.api.event_kinds import INTERESTED

_BEGUN = ""
"""The row that says that a first look has been taken."""
NOTED = 86_400.0
"""Seconds after which it is written down again that a lead is still listed."""


class Compared(NamedTuple):
    """How many listed leads were found late, how many may still get their delivery, and how many were not known yet."""

    late: int
    candidates: int
    unknown: int


class FoundLeads(Repository):
    """Interested leads that the API shows."""

    @reads
    def has_begun(self, tx: Transaction, workspace: str) -> bool:
        """Whether a first look at all leads has been taken."""
        c = known_leads.c
        return tx.scalar(sa.select(c.lead).where(c.workspace == workspace, c.lead == _BEGUN)) is not None

    @writes
    def remember(self, tx: Transaction, workspace: str, leads: Collection[str]) -> None:
        """Of a first look, which an empty `compare` ends: these leads are no news."""
        _remember(tx, workspace, sorted(leads), since=None)

    @writes
    def compare(
        self, tx: Transaction, workspace: str, bodies: Mapping[str, bytes], *, grace: float
    ) -> Compared:
        """Store a found delivery for each of these leads that is news."""
        known = _known(tx, workspace, sorted(bodies))
        if _BEGUN not in known:
            _remember(tx, workspace, [_BEGUN, *bodies], since=None)
            return Compared(0, 0, len(bodies))
        unknown = {lead for lead in bodies if lead not in known or known[lead] is not None}
        announced = _announced(tx, workspace, unknown)
        _remember(tx, workspace, sorted(announced), since=None)
        ripe = sorted(
            lead
            for lead in unknown - announced
            if lead in known and tx.now - (known[lead] or tx.now) >= grace
        )
        _remember(tx, workspace, sorted(unknown - announced - set(known)), since=tx.now)
        _remember(tx, workspace, ripe, since=None)
        _store(tx, [Arrival(workspace=workspace, body=bodies[lead], at=tx.now) for lead in ripe])
        return Compared(len(ripe), len(unknown - announced) - len(ripe), len(unknown))


def _known(tx: Transaction, workspace: str, leads: Sequence[str]) -> dict[str, float | None]:
    """Since when each lead is a candidate, None: no news; of those that are listed, which are noted as seen."""
    c, found = known_leads.c, dict[str, float | None]()
    for chunk in portions([_BEGUN, *leads]):
        keys = {_key(lead): lead for lead in chunk}
        mine = (c.workspace == workspace) & c.lead.in_(keys)
        rows = tx.execute(sa.select(c.lead, c.candidate_since, c.seen_at).where(mine)).all()
        found |= {keys[row.lead]: row.candidate_since for row in rows}
        stale = [row.lead for row in rows if row.lead and (row.seen_at or 0.0) < tx.now - NOTED]
        if stale:
            seen = sa.update(known_leads).where(c.workspace == workspace, c.lead.in_(stale))
            tx.execute(seen.values(seen_at=tx.now))
    return found


def _key(lead: str) -> str:
    return lead_key(lead) if lead else _BEGUN


def _announced(tx: Transaction, workspace: str, leads: set[str]) -> set[str]:
    mine = (alerts.c.workspace == workspace) & (alerts.c.kind == INTERESTED)
    found: set[str] = set()
    for chunk in portions(sorted(leads)):
        query = sa.select(alerts.c.email).where(mine, alerts.c.email.in_(chunk))
        found |= set(tx.execute(query).scalars())
    return found


def _remember(tx: Transaction, workspace: str, leads: Sequence[str], *, since: float | None) -> None:
    if not leads:
        return
    rows = [
        {
            "workspace": workspace,
            "lead": _key(lead),
            "candidate_since": since,
            "seen_at": tx.now if lead else None,
        }
        for lead in leads
    ]
    tx.execute(tx.upsert(known_leads, "candidate_since"), rows)


def _store(tx: Transaction, found: Sequence[Arrival]) -> None:
    if not found:
        return
    rows = [
        {
            "dkey": one.dkey,
            "workspace": one.workspace,
            "body": one.body,
            "found": True,
            "received_at": one.at,
            "last_at": one.at,
            "before_at": one.at,
            "seen": 1,
            "pending": True,
        }
        for one in found
    ]
    tx.execute(tx.insert_once(deliveries), rows)
