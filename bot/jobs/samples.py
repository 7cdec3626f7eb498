"""Reads the service regularly: counts and health for the guardrails, and everything for the history."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

import structlog

from bot.commands.context import CommandContexts
from bot.guardrails import NEVER, Account
from bot.runtime import visit
from shared.api.client import OutreachClient
from shared.api.errors import OutreachError
from shared.api.models import Inbox, StatsRow
from shared.api.models import Sequence as Campaign
from shared.domain.evidence import totals
from shared.domain.snapshot import SOURCES, Snapshot, refresh, service_day
from shared.domain.wall_clock import DAY, moment
from shared.guardrails.rule import subject_key
from shared.history.history import History
from shared.records.guardrails import CLOSED, HEALTH, POLL, CountSample, day_of, number_of
from shared.records.records import HistoryUnavailable
from shared.store import Store

EVERY = 300.0
"""Seconds between two readings for the guardrails: four requests each."""
HISTORY_EVERY = 900.0
"""Seconds between two readings of everything: nine requests each."""
BACKFILL = 30
"""Days whose whole counts are read once, so that rules and backtests know a past."""
DAYS_READ_AT_ONCE = 10
"""Days that one reading fills in: two requests each."""

log = structlog.get_logger("guardrails")
Watch = Callable[[str, Sequence[Inbox]], Awaitable[None]]
"""Takes note of a workspace's inboxes."""


class GuardrailSampler:
    """`sample` regularly; several processes can, and write the same rows."""

    def __init__(
        self,
        store: Store,
        contexts: CommandContexts,
        *,
        accounts: Mapping[str, Account],
        watch: Watch | None = None,
    ) -> None:
        self._store, self._contexts = store, contexts
        self._accounts, self._watch = accounts, watch
        self._written: dict[tuple[str, str, str, int], CountSample] = {}
        """The last sample of each subject that this process has stored: only what differs is stored again."""

    async def sample(self) -> None:
        """Read every workspace; one that fails is read next time. Raises `RecordsUnavailable`."""
        await visit(self._contexts.clients, self._sample)

    async def _sample(self, workspace: str) -> None:
        client = self._contexts.clients[workspace]
        try:
            sequences, inboxes = await asyncio.gather(client.list_sequences(), client.list_inboxes())
            if self._watch:
                await self._watch(workspace, inboxes)
            at = self._store.database.clock()
            today = service_day(client, now=moment(at))
            day = number_of(today)
            samples = await _read_day(client, today, sequences, inboxes, at=at)
            for inbox in inboxes:
                if (health := inbox.health_score) is not None:
                    key = inbox.email.casefold()
                    samples.append(CountSample(scope=HEALTH, key=key, day=day, at=at, health=health))
            new = [one for one in samples if self._is_new(workspace, one)]
            poll = CountSample(scope=POLL, key="", day=day, at=at)
            await self._store.guardrails.keep(workspace, [*new, poll])
            self._accounts[workspace].sequences = sequences
            await self._fill_in(workspace, day, sequences, inboxes)
        except OutreachError as error:
            log.warning("counts not read", workspace=workspace, error=type(error).__name__)

    def _is_new(self, workspace: str, sample: CountSample) -> bool:
        """True for what has changed since this process wrote it last; a score lasts from one day to the next."""
        place = (workspace, sample.scope, sample.key, 0 if sample.scope == HEALTH else sample.day)
        last = self._written.get(place)
        self._written[place] = sample
        return last is None or replace(sample, at=last.at, day=last.day) != last

    async def _fill_in(
        self, workspace: str, today: int, sequences: Sequence[Campaign], inboxes: Sequence[Inbox]
    ) -> None:
        """The whole counts of days that are over, the newest first."""
        self._written = {place: last for place, last in self._written.items() if place[3] in {0, today}}
        closed = await self._store.guardrails.closed_days(workspace)
        missing = [day for day in range(today - 1, today - 1 - BACKFILL, -1) if day not in closed]
        for day in missing[:DAYS_READ_AT_ONCE]:
            at = (day + 1) * DAY - 1
            client = self._contexts.clients[workspace]
            samples = await _read_day(client, day_of(day), sequences, inboxes, at=at)
            closing = CountSample(scope=CLOSED, key="", day=day, at=at)
            await self._store.guardrails.keep(workspace, [*samples, closing])
            self._accounts[workspace].loaded_at = NEVER


async def _read_day(
    client: OutreachClient, day: date, sequences: Sequence[Campaign], inboxes: Sequence[Inbox], *, at: float
) -> list[CountSample]:
    by_sequence, by_inbox = await asyncio.gather(
        client.stats(group_by="sequence", start=day, end=day),
        client.stats(group_by="inbox", start=day, end=day),
    )
    labels = {one.id: one.label for one in sequences}
    addresses = {one.id: one.email.casefold() for one in inboxes if one.id}
    samples = []
    for scope, names, rows in (("sequence", labels, by_sequence), ("inbox", addresses, by_inbox)):
        # By name, as deliveries have no other. Names that people can't tell apart are one subject.
        written: dict[str, str] = {}
        same: defaultdict[str, list[StatsRow]] = defaultdict(list)
        for row in rows:
            name = names.get(row.group, row.group)
            same[written.setdefault(subject_key(name), name)].append(row)
        for name, group in same.items():
            sums = totals(group)  # a count that one of several rows doesn't have is unknown
            sample = CountSample(
                scope=scope,
                key=name,
                day=number_of(day),
                at=at,
                sends=sums.sends,
                replies=sums.replies,
                positive=sums.positive_replies,
            )
            samples.append(sample)
    return samples


class HistorySampler:
    """`keep` regularly; several processes and dashboards can, and nothing is stored twice."""

    def __init__(self, contexts: CommandContexts, history: History) -> None:
        self._contexts, self._history = contexts, history

    async def sample(self) -> None:
        await visit(self._contexts.clients, self._sample)

    async def _sample(self, name: str) -> None:
        now, client = datetime.now(UTC), self._contexts.clients[name]
        snapshot = Snapshot(workspace=name)
        for source in SOURCES.values():
            snapshot = await refresh(snapshot, source, client, now=now)
            if snapshot.reading(source).error:
                break  # no nine requests to a service that is down
        try:
            await self._history.add(snapshot, now=now)
        except HistoryUnavailable as error:
            log.warning("history not stored", workspace=name, error=type(error).__name__)
