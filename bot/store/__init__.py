"""Everything the bot must not forget: deliveries, alerts, posts, claims, timers, subscriptions, the audit.

`open_ledger` is what other parts use; the ledger implements `shared.domain.records.Records` for the commands.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from sqlalchemy.engine import URL

from bot.store.db.engine import Store
from bot.store.ledger import Ledger
from bot.store.queue.leases import LeaseTimings

__all__ = ["LeaseTimings", "Ledger", "open_ledger"]


@asynccontextmanager
async def open_ledger(
    url: URL, *, clock: Callable[[], float] | None = None, pace: LeaseTimings | None = None
) -> AsyncIterator[Ledger]:
    """Open the database, bring its schema up to date, and close it in the end.

    Raises `RecordsUnavailable` when it cannot be opened.
    """
    ledger = Ledger(await Store.opened(url, clock=clock), pace=pace)
    try:
        yield ledger
    finally:
        await ledger.store.aclose()
