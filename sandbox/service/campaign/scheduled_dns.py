"""The zones of the account's domains, and what the scenario changes in them."""

from __future__ import annotations

from sqlalchemy import Connection, select

from sandbox.service.base.schema import domains, world
from sandbox.service.campaign import scenarios
from sandbox.service.dns.account_zones import AccountZones, ZoneChange


def start_zones(connection: Connection, zones: AccountZones) -> None:
    """Let the zones be those of the store's domains, with the scenario's changes at their times."""
    state = connection.execute(select(world.c.scenario, world.c.founded_at)).one()
    rows = connection.execute(select(domains.c.pk, domains.c.name).order_by(domains.c.pk)).all()
    names = {row.pk: row.name for row in rows}
    scheduled = [
        ZoneChange(
            domain=names[one.domain],
            change=one.change,
            start=state.founded_at + one.start,
            end=float("inf") if one.end is None else state.founded_at + one.end,
        )
        for one in scenarios.load(state.scenario).dns
        if one.domain in names
    ]
    zones.start(list(names.values()), scheduled=scheduled, created_at=state.founded_at)
