"""Records the data for guardrails: the counts of each day so far, and the health of every inbox."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date

import structlog

from bot.commands.context import CommandContexts
from bot.guardrails.account import Account
from bot.runtime.pacing import visit
from shared.api.client import OutreachClient
from shared.api.errors import OutreachError
from shared.api.models import Inbox, StatsRow
from shared.api.models import Sequence as Campaign
from shared.domain.snapshot import service_day
from shared.domain.totals import totals
from shared.domain.wall_clock import DAY, moment
from shared.guardrails.rule import subject_key
from shared.records.guardrails import CLOSED, HEALTH, POLL, CountSample, day_of, number_of
from shared.store import Store

EVERY = 300.0
"""Seconds between two readings: four requests each."""
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
        self._written: dict[tuple[str, str, str, int], tuple[object, ...]] = {}

    async def sample(self) -> None:
        """Read every workspace; one that fails is read next time. Raises `RecordsUnavailable`."""
        await visit(self._contexts.clients, self._sample)

    async def _sample(self, workspace: str) -> None:
        client = self._contexts.clients[workspace]
        try:
            sequences, inboxes = await asyncio.gather(client.list_sequences(), client.list_inboxes())
            if self._watch:
                await self._watch(workspace, inboxes)
            now = self._store.database.clock()
            today = service_day(client, now=moment(now))
            samples = await _read_day(client, today, sequences, inboxes, at=now)
            for inbox in inboxes:
                if inbox.health_score is not None:
                    key, health = inbox.email.casefold(), inbox.health_score
                    samples.append(
                        CountSample(scope=HEALTH, key=key, day=number_of(today), at=now, health=health)
                    )
            samples.append(CountSample(scope=POLL, key="", day=number_of(today), at=now))
            await self._keep(workspace, [one for one in samples if self._is_new(workspace, one)])
            self._accounts[workspace].sequences = sequences
            await self._fill_in(workspace, today, sequences, inboxes)
        except OutreachError as error:
            log.warning("counts not read", workspace=workspace, error=type(error).__name__)

    def _is_new(self, workspace: str, sample: CountSample) -> bool:
        """True for what has changed since this process wrote it last."""
        place = (workspace, sample.scope, sample.key, sample.day if sample.scope != HEALTH else 0)
        values = (sample.sends, sample.replies, sample.positive, sample.health)
        if sample.scope != POLL and self._written.get(place) == values:
            return False
        self._written[place] = values
        return True

    async def _keep(self, workspace: str, samples: Sequence[CountSample]) -> None:
        await self._store.guardrails.keep(workspace, samples)
        self._accounts[workspace].learned += samples

    async def _fill_in(
        self, workspace: str, today: date, sequences: Sequence[Campaign], inboxes: Sequence[Inbox]
    ) -> None:
        """The whole counts of days that are over, the newest first."""
        client, last = self._contexts.clients[workspace], number_of(today) - 1
        closed = await self._store.guardrails.closed_days(workspace)
        missing = [day for day in range(last, last - BACKFILL, -1) if day not in closed]
        self._written = {
            place: values for place, values in self._written.items() if place[3] in {0, last + 1}
        }
        for day in missing[:DAYS_READ_AT_ONCE]:
            at = (day + 1) * DAY - 1
            samples = await _read_day(client, day_of(day), sequences, inboxes, at=at)
            await self._keep(workspace, [*samples, CountSample(scope=CLOSED, key="", day=day, at=at)])


async def _read_day(
    client: OutreachClient, day: date, sequences: Sequence[Campaign], inboxes: Sequence[Inbox], *, at: float
) -> list[CountSample]:
    by_sequence, by_inbox = await asyncio.gather(
        client.stats(group_by="sequence", start=day, end=day),
        client.stats(group_by="inbox", start=day, end=day),
    )
    names = {one.id: one.label for one in sequences}
    addresses = {one.id: one.email for one in inboxes if one.id}
    return [
        *_summed("sequence", names, by_sequence, day=day, at=at),
        *_summed("inbox", addresses, by_inbox, day=day, at=at),
    ]


def _summed(
    scope: str, names: Mapping[str, str], rows: Sequence[StatsRow], *, day: date, at: float
) -> list[CountSample]:
    """Rows by name, as deliveries have no other; a count that one of several rows doesn't have is unknown."""
    by_key: dict[str, list[StatsRow]] = {}
    written: dict[str, str] = {}
    for row in rows:
        name = names.get(row.group, row.group)
        key = name.casefold() if scope == "inbox" else written.setdefault(subject_key(name), name)
        by_key.setdefault(key, []).append(row)
    samples = []
    for key, same in by_key.items():
        sums = totals(same)
        sample = CountSample(
            scope=scope,
            key=key,
            day=number_of(day),
            at=at,
            sends=sums.sends,
            replies=sums.replies,
            positive=sums.positive_replies,
        )
        samples.append(sample)
    return samples
