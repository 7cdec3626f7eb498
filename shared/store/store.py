"""The repositories over the bot's one database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import get_type_hints

from sqlalchemy.engine import URL

from shared.store.alerts import Alerts, Turns
from shared.store.audit import Confirmations
from shared.store.db.engine import Database
from shared.store.deliveries import Arrivals, Deliveries, FoundLeads
from shared.store.domains import Domains
from shared.store.erasure import Erasure, Retention
from shared.store.facts import Instance, SlackEvents
from shared.store.guardrails import Guardrails, Incidents
from shared.store.history import Records
from shared.store.jobs import Jobs
from shared.store.messages import LeaseTimings, Outbox, Posting, Repaints
from shared.store.sequences import SequenceChanges
from shared.store.subscriptions import Digests


class Store:
    """The repositories over one database, by subject; `records` is for the commands."""

    alerts: Alerts
    arrivals: Arrivals
    changes: SequenceChanges
    confirmations: Confirmations
    deliveries: Deliveries
    digests: Digests
    domains: Domains
    erasure: Erasure
    found_leads: FoundLeads
    guardrails: Guardrails
    incidents: Incidents
    instance: Instance
    jobs: Jobs
    outbox: Outbox
    records: Records
    repaints: Repaints
    retention: Retention
    slack_events: SlackEvents
    turns: Turns

    def __init__(self, database: Database, timings: LeaseTimings) -> None:
        self.database = database
        for name, repository in get_type_hints(Store).items():
            setattr(self, name, repository(database))
        self.posting = Posting(database, timings)


@asynccontextmanager
async def open_store(
    url: URL, *, clock: Callable[[], float] | None = None, timings: LeaseTimings | None = None
) -> AsyncIterator[Store]:
    """Open the database, bring its schema up to date, and close it in the end.

    Raises `RecordsUnavailable` when it cannot be opened.
    """
    database = await Database.opened(url, clock=clock)
    try:
        yield Store(database, timings or LeaseTimings())
    finally:
        await database.aclose()
