"""Which interested leads are news: neither announced, nor known from before, nor perhaps on their way.

A lead becomes a candidate when it is first seen without an alert, and is announced when a later look finds it
still without one. What is announced this way is a delivery that nobody delivered (`found`); should the sender's
retry come after all, the router gives it to the alert that is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from bot.store.db.schema import alerts, deliveries, known_leads
from bot.store.queue import deliveries as inbox

_BEGUN = ""
"""The row that says that a first look has been taken."""
INTERESTED = "reply.interested"


def compare(
    connection: sa.Connection, workspace: str, bodies: Mapping[str, bytes], *, now: float, grace: float
) -> tuple[int, int]:
    """Store a found delivery for each lead that is news; returns how many, and how many candidates remain."""
    known = _known(connection, workspace)
    if _BEGUN not in known:
        _remember(connection, workspace, [_BEGUN, *bodies], since=None)
        return 0, 0
    unknown = {lead for lead in bodies if known.get(lead, 0.0) is not None}
    told = _announced(connection, workspace, unknown)
    _remember(connection, workspace, sorted(told), since=None)
    ripe = sorted(lead for lead in unknown - told if lead in known and now - (known[lead] or now) >= grace)
    _remember(connection, workspace, sorted(unknown - told - set(known)), since=now)
    _remember(connection, workspace, ripe, since=None)
    _store(connection, [inbox.Arrival(workspace=workspace, body=bodies[lead], at=now) for lead in ripe])
    return len(ripe), len(unknown - told) - len(ripe)


def _known(connection: sa.Connection, workspace: str) -> dict[str, float | None]:
    query = sa.select(known_leads.c.lead, known_leads.c.candidate_since)
    rows = connection.execute(query.where(known_leads.c.workspace == workspace))
    return {row.lead: row.candidate_since for row in rows}


def _announced(connection: sa.Connection, workspace: str, leads: set[str]) -> set[str]:
    mine = (alerts.c.workspace == workspace) & (alerts.c.kind == INTERESTED)
    found: set[str] = set()
    for chunk in _chunks(sorted(leads)):
        query = sa.select(alerts.c.email).where(mine, alerts.c.email.in_(chunk))
        found |= set(connection.execute(query).scalars())
    return found


def _chunks(leads: Sequence[str], size: int = 500) -> Sequence[Sequence[str]]:
    return [leads[at : at + size] for at in range(0, len(leads), size)]


def _remember(
    connection: sa.Connection, workspace: str, leads: Sequence[str], *, since: float | None
) -> None:
    if not leads:
        return
    new = inbox.upsert(connection, known_leads)
    rows = [{"workspace": workspace, "lead": lead, "candidate_since": since} for lead in leads]
    connection.execute(
        new.on_conflict_do_update(
            index_elements=["workspace", "lead"], set_={"candidate_since": new.excluded.candidate_since}
        ),
        rows,
    )


def _store(connection: sa.Connection, found: Sequence[inbox.Arrival]) -> None:
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
    connection.execute(inbox.upsert(connection, deliveries).on_conflict_do_nothing(), rows)
