"""The repositories over the bot's one database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from sqlalchemy.engine import URL

from shared.store.alerts import Alerts
from shared.store.audit import Confirmations
from shared.store.db.engine import Database
from shared.store.deliveries import Arrivals, Deliveries, FoundLeads
from shared.store.domains import Domains
from shared.store.erasure import Erasure, Retention
from shared.store.guardrails import Guardrails, Incidents
from shared.store.history import Records
from shared.store.instance import Instance
from shared.store.jobs import Jobs
from shared.store.messages import LeaseTimings, Outbox, Posting, Repaints
from shared.store.people import Turns
from shared.store.sequences import SequenceChanges, Timers
from shared.store.slack_limits import SlackEvents
from shared.store.subscriptions import Digests


class Store:
    """The repositories over one database, by subject; `records` is for the commands."""

    def __init__(self, database: Database, timings: LeaseTimings) -> None:
        self.database = database
        self.alerts = Alerts(database)
        self.arrivals = Arrivals(database)
        self.changes = SequenceChanges(database)
        self.confirmations = Confirmations(database)
        self.deliveries = Deliveries(database)
        self.digests = Digests(database)
        self.domains = Domains(database)
        self.erasure = Erasure(database)
        self.found_leads = FoundLeads(database)
        self.guardrails = Guardrails(database)
        self.incidents = Incidents(database)
        self.instance = Instance(database)
        self.jobs = Jobs(database)
        self.outbox = Outbox(database)
        self.posting = Posting(database, timings)
        self.records = Records(database)
        self.repaints = Repaints(database)
        self.retention = Retention(database)
        self.slack_events = SlackEvents(database)
        self.timers = Timers(database)
        self.turns = Turns(database)


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
