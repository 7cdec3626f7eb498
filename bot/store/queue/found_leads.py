"""Finds interested leads that are new: not announced, not known from before, and without a delivery in transit.

A lead becomes a candidate when it is first seen without an alert, and is announced when a later look finds it
still without one. What is announced this way is a delivery that was found, not delivered (`found`); should the sender's
retry come after all, the router gives it to the alert that is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from bot.store.db.engine import Repository, Transaction, writes
from bot.store.db.schema import alerts, deliveries, known_leads
from bot.store.queue.insert import Arrival

_BEGUN = ""
"""The row that says that a first look has been taken."""
INTERESTED = "reply.interested"


class FoundLeads(Repository):
    """Interested leads that the API shows."""

    @writes
    def compare(
        self, tx: Transaction, workspace: str, bodies: Mapping[str, bytes], *, grace: float
    ) -> tuple[int, int]:
        """Store a found delivery for each lead that is news; returns how many, and how many candidates remain."""
        known = _known(tx, workspace)
        if _BEGUN not in known:
            _remember(tx, workspace, [_BEGUN, *bodies], since=None)
            return 0, 0
        unknown = {lead for lead in bodies if known.get(lead, 0.0) is not None}
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
        return len(ripe), len(unknown - announced) - len(ripe)


def _known(tx: Transaction, workspace: str) -> dict[str, float | None]:
    query = sa.select(known_leads.c.lead, known_leads.c.candidate_since)
    rows = tx.execute(query.where(known_leads.c.workspace == workspace))
    return {row.lead: row.candidate_since for row in rows}


def _announced(tx: Transaction, workspace: str, leads: set[str]) -> set[str]:
    mine = (alerts.c.workspace == workspace) & (alerts.c.kind == INTERESTED)
    found: set[str] = set()
    for chunk in _chunks(sorted(leads)):
        query = sa.select(alerts.c.email).where(mine, alerts.c.email.in_(chunk))
        found |= set(tx.execute(query).scalars())
    return found


def _chunks(leads: Sequence[str], size: int = 500) -> Sequence[Sequence[str]]:
    return [leads[at : at + size] for at in range(0, len(leads), size)]


def _remember(tx: Transaction, workspace: str, leads: Sequence[str], *, since: float | None) -> None:
    if not leads:
        return
    new = tx.insert(known_leads)
    rows = [{"workspace": workspace, "lead": lead, "candidate_since": since} for lead in leads]
    tx.execute(
        new.on_conflict_do_update(
            index_elements=["workspace", "lead"], set_={"candidate_since": new.excluded.candidate_since}
        ),
        rows,
    )


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
