"""The data of guardrails about each workspace: deliveries and counts, read from the store as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from shared.api.models import Sequence as Campaign
from shared.guardrails.activity import Activity, days, portions
from shared.records.guardrails import CountSample, Happening
from shared.store import Store

EVERY = 30.0
"""Seconds between two evaluations."""
RELOAD_SECONDS = 3600.0
"""Seconds between two readings of everything, which also forget what is old."""
OVERLAP_SECONDS = 1800.0
"""Deliveries are read again for so long: some are routed later than they came."""


@dataclass(slots=True)
class Account:
    """The data of one workspace."""

    activity: Activity = field(default_factory=Activity)
    sequences: Sequence[Campaign] = ()
    learned: list[CountSample] = field(default_factory=list)
    """The counts that this process has stored since the last look."""
    heard_since: float = float("inf")
    """The time of the first delivery."""


class AccountReader:
    """Keeps the `accounts` up to date."""

    def __init__(self, store: Store, accounts: Mapping[str, Account]) -> None:
        self._store, self._accounts = store, accounts
        self._routed: dict[int, float] = {}
        """The deliveries that were taken in lately, by number, and when they came."""
        self._loaded_at, self._read_until = float("-inf"), 0.0
        self._spans: frozenset[float] = frozenset()
        """The ages at which windows of the rules begin: around these, every reading was loaded."""

    async def read(self, now: float, spans: frozenset[float]) -> None:
        """The events since the last look; once an hour, or where a rule looks further back, all events."""
        for name, account in self._accounts.items():
            if account.heard_since == float("inf"):
                account.heard_since = await self._store.guardrails.heard_since(name) or float("inf")
            account.activity.heard_since = account.heard_since
        # What came while other bots evaluated is read again as far back as deliveries may be routed late.
        recent = 0 <= now - self._read_until < OVERLAP_SECONDS / 2
        if recent and 0 <= now - self._loaded_at < RELOAD_SECONDS and spans <= self._spans:
            happened = await self._store.guardrails.happenings(None, now - OVERLAP_SECONDS)
            sampled = await self._store.guardrails.samples(None, self._read_until - 60)
            fresh = [happening for happening in happened if happening.delivery_id not in self._routed]
            await self._take(now, fresh, sampled)
        else:
            await self._reload(now, spans)
        broken = await self._store.domains.all_broken()
        for name, account in self._accounts.items():
            account.activity.saw_broken(now, broken.get(name, {}))
            learned, account.learned = account.learned, []
            await asyncio.to_thread(account.activity.add, (), learned)
        self._read_until = now
        self._routed = {number: at for number, at in self._routed.items() if at > now - 2 * OVERLAP_SECONDS}

    async def _reload(self, now: float, spans: frozenset[float]) -> None:
        """Read everything again, in threads and in portions: of a large account it is millions of rows."""
        self._loaded_at = float("-inf")  # one that fails is begun again before anything is evaluated
        for account in self._accounts.values():
            account.activity = Activity()  # before the new one, so that there is memory for one only
            account.activity.heard_since = account.heard_since
        self._routed = {}
        heard = {one.heard_since for one in self._accounts.values()}
        for start, end in days(now, since=min(heard)):
            await self._take(now, await self._store.guardrails.happenings(None, start, end), ())
        since = await self._store.guardrails.counted_since()
        serves = RELOAD_SECONDS + EVERY
        for start, end, is_edge in portions(now, spans, since=since, begins=heard, serves=serves):
            sampled = await self._store.guardrails.samples(None, start, end, last_only=not is_edge)
            await self._take(now, (), sampled)
        self._loaded_at, self._spans = now, spans

    async def _take(self, now: float, happened: Sequence[Happening], sampled: Iterable[CountSample]) -> None:
        await asyncio.to_thread(self._add, happened, sampled)
        since = now - 2 * OVERLAP_SECONDS
        self._routed.update((one.delivery_id, one.at) for one in happened if one.at > since)

    def _add(self, happened: Iterable[Happening], sampled: Iterable[CountSample]) -> None:
        for happening in happened:
            if account := self._accounts.get(happening.workspace):
                account.activity.add((happening,))
        for sample in sampled:
            if account := self._accounts.get(sample.workspace):
                account.activity.add((), (sample,))
