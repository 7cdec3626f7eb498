"""The repositories over the bot's one database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sqlalchemy.engine import URL

from bot.store.alerts.claims import Alerts
from bot.store.alerts.confirmations import Confirmations
from bot.store.alerts.digests import Digests
from bot.store.alerts.records import CommandRecords
from bot.store.alerts.reminders import Reminders
from bot.store.alerts.spikes import Spikes
from bot.store.alerts.subjects import Subjects
from bot.store.alerts.timers import Timers
from bot.store.db.engine import Database
from bot.store.queue.deliveries import Deliveries
from bot.store.queue.found_leads import FoundLeads
from bot.store.queue.insert import Arrivals
from bot.store.queue.leases import ChannelLeases, LeaseTimings
from bot.store.queue.outbox import Outbox
from bot.store.queue.outcomes import Outcomes
from bot.store.queue.repaints import Repaints
from bot.store.queue.retention import Retention


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """What the bot must not forget, by subject; `records` is for the commands."""

    database: Database
    alerts: Alerts
    arrivals: Arrivals
    confirmations: Confirmations
    deliveries: Deliveries
    digests: Digests
    found_leads: FoundLeads
    leases: ChannelLeases
    outbox: Outbox
    outcomes: Outcomes
    records: CommandRecords
    reminders: Reminders
    repaints: Repaints
    retention: Retention
    spikes: Spikes
    subjects: Subjects
    timers: Timers


@asynccontextmanager
async def open_store(
    url: URL, *, clock: Callable[[], float] | None = None, timings: LeaseTimings | None = None
) -> AsyncIterator[Store]:
    """Open the database, bring its schema up to date, and close it in the end.

    Raises `RecordsUnavailable` when it cannot be opened.
    """
    database = await Database.opened(url, clock=clock)
    timings = timings or LeaseTimings()
    try:
        yield Store(
            database=database,
            alerts=Alerts(database),
            arrivals=Arrivals(database),
            confirmations=Confirmations(database),
            deliveries=Deliveries(database),
            digests=Digests(database),
            found_leads=FoundLeads(database),
            leases=ChannelLeases(database, timings),
            outbox=Outbox(database),
            outcomes=Outcomes(database, timings),
            records=CommandRecords(database),
            reminders=Reminders(database),
            repaints=Repaints(database),
            retention=Retention(database),
            spikes=Spikes(database),
            subjects=Subjects(database),
            timers=Timers(database),
        )
    finally:
        await database.aclose()
