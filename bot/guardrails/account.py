"""The data of guardrails about a workspace: deliveries and counts, read from the store as they come."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from shared.api.models import Sequence as Campaign
from shared.commands.rules import load_activity
from shared.guardrails.activity import Activity
from shared.store import Store

EVERY = 30.0
"""Seconds between two evaluations."""
RELOAD_SECONDS = 3600.0
"""Seconds between two readings of everything, which also forget what is old."""
OVERLAP_SECONDS = 1800.0
"""Deliveries are read again for so long: some are routed later than they came."""
LATE_SECONDS = 300.0
"""Counts are stored so long after the moment that they are of, at most."""
NEVER = float("-inf")


@dataclass(slots=True)
class Account:
    """The data of one workspace, as far as this process has read it."""

    activity: Activity = field(default_factory=Activity)
    sequences: tuple[Campaign, ...] = ()
    loaded_at: float = NEVER
    """The time of the last reading of everything; `NEVER` has everything read again."""
    read_until: float = NEVER
    spans: frozenset[float] = frozenset()
    """The ages at which windows of the rules begin: around these, every count was loaded."""


async def refresh(account: Account, store: Store, workspace: str, *, spans: frozenset[float]) -> None:
    """Read what came since the last look; once an hour, or where a rule looks further back, read everything."""
    now, guardrails = store.database.clock(), store.guardrails
    # What came while other bots evaluated is read again as far back as deliveries may be routed late.
    is_recent = 0 <= now - account.read_until < OVERLAP_SECONDS / 2
    if is_recent and 0 <= now - account.loaded_at < RELOAD_SECONDS and spans <= account.spans:
        since = now - OVERLAP_SECONDS
        account.activity.forget(since)
        happenings = await guardrails.happenings(workspace, since)
        samples = await guardrails.samples(workspace, account.read_until - LATE_SECONDS)
        await asyncio.to_thread(account.activity.add, happenings, samples)
        account.activity.saw_broken(now, await store.domains.broken(workspace))
    else:
        # The old one goes first, so that there is memory for one only. A reading that fails is begun again.
        account.activity, account.loaded_at, account.read_until = Activity(), now, NEVER
        account.activity, account.spans = await load_activity(store.records, workspace, now, spans), spans
    if account.activity.heard_since == float("inf"):
        account.activity.heard_since = await guardrails.heard_since(workspace) or float("inf")
    account.read_until = now
