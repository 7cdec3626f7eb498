"""Reads the service regularly: counts and health for the guardrails, everything for the history, and what never arrived."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

import structlog

from bot.commands.context import CommandContexts
from bot.guardrails import NEVER, Account
from bot.runtime import visit
from shared.api import Priority
from shared.api.client import OutreachClient
from shared.api.errors import OutreachError
from shared.api.models import Inbox, Lead, Page, StatsRow
from shared.api.models import Sequence as Campaign
from shared.domain.event_kinds import INTERESTED
from shared.domain.evidence import totals
from shared.domain.snapshot import SOURCES, Snapshot, refresh, service_day
from shared.domain.wall_clock import DAY, moment
from shared.guardrails.rule import subject_key
from shared.history.history import History
from shared.records.guardrails import CLOSED, HEALTH, POLL, CountSample, day_of, number_of
from shared.records.records import HistoryUnavailable
from shared.store import Store
from shared.store.deliveries import address

EVERY = 300.0
"""Seconds between two readings for the guardrails: four requests each."""
HISTORY_EVERY = 900.0
"""Seconds between two readings of everything: nine requests each."""
BACKFILL = 30
"""Days whose whole counts are read once, so that rules and backtests know a past."""
DAYS_READ_AT_ONCE = 10
"""Days that one reading fills in: two requests each."""

log = structlog.get_logger("polls")
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
        self._written: dict[tuple[str, str, str], CountSample] = {}
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
        place = (workspace, sample.scope, sample.key)
        last = self._written.get(place)
        self._written[place] = sample
        day = last.day if last and sample.scope == HEALTH else sample.day
        return last is None or replace(sample, at=last.at, day=day) != last

    async def _fill_in(
        self, workspace: str, today: int, sequences: Sequence[Campaign], inboxes: Sequence[Inbox]
    ) -> None:
        """The whole counts of days that are over, the newest first."""
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
            # A count that one of several rows doesn't have is unknown.
            sums = totals(group) if len(group) > 1 else group[0]
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


# -- interested replies whose delivery never arrived

# Leads that exist at the first run count as known. Later, an interested lead that no delivery and no earlier run has
# announced is announced as found late. The service lists the newest leads first, but also an old one may become
# interested: each check reads the newest until all of a page are known, and then the next portion of the others.


RECONCILED_EVERY = 900.0
"""Seconds between two checks."""
SETTLING = 120.0
"""Seconds that a delivery may be late before its lead counts as found."""

PAGES = 10
"""Pages of older leads in one check: all of them in a small account, and in a large one a portion of them each time."""


class Reconciler:
    """`look` at every workspace; several processes can, and each lead is found once."""

    def __init__(
        self, store: Store, contexts: CommandContexts, *, found: Callable[[], None], grace: float = SETTLING
    ) -> None:
        self._store, self._contexts, self._found, self._grace = store, contexts, found, grace
        self._places: dict[str, str | None] = {}
        """The cursor of the older leads that come next, by workspace; None: those after the newest."""
        self._seen_empty: set[str] = set()
        """The workspaces whose first look found no lead at all, once."""

    async def reconcile(self) -> None:
        if candidates := await self._reconcile(self._contexts.clients):
            await asyncio.sleep(self._grace)
            await self._reconcile(candidates)

    async def _reconcile(self, workspaces: Collection[str]) -> Collection[str]:
        """Compare these workspaces; returns those with leads whose delivery may still come."""
        candidates: set[str] = set()

        async def compare(name: str) -> None:
            try:
                if await self._compare(name):
                    candidates.add(name)
            except OutreachError as error:
                log.warning("replies not reconciled", workspace=name, error=type(error).__name__)

        await visit(workspaces, compare)
        return candidates

    async def _compare(self, workspace: str) -> int:
        """One look at a workspace; returns how many leads may still get their delivery."""
        if not await self._store.found_leads.has_begun(workspace):
            return await self._begin(workspace)
        try:
            candidates, end = await self._compare_pages(workspace)
            if end is None:
                self._places.pop(workspace, None)
                return candidates
            below, end = await self._compare_pages(workspace, start=self._places.get(workspace) or end)
        except OutreachError:
            self._places.pop(workspace, None)  # the cursor may be what the service refuses
            raise
        if not below:  # else the second look must find the same leads
            self._places[workspace] = end
        return candidates + below

    async def _compare_pages(self, workspace: str, *, start: str | None = None) -> tuple[int, str | None]:
        """Compare the newest leads until a page is all known, or some pages of older ones from `start`.

        Returns how many may still get their delivery, and the cursor of the page to go on with.
        """
        candidates, end, count = 0, None, 0
        async for page in self._pages(workspace, cursor=start):
            bodies = {_identity(lead): body(lead) for lead in page.items}
            compared = await self._store.found_leads.compare(workspace, bodies, grace=self._grace)
            if compared.late:
                log.warning("found late", workspace=workspace, leads=compared.late)
                self._found()
            candidates, end, count = candidates + compared.candidates, page.next_cursor, count + 1
            if count == PAGES if start else not compared.unknown:
                break
        return candidates, end

    async def _begin(self, workspace: str) -> int:
        """Take the first look: the leads that are there are known already. Returns 1 where it is to be repeated.

        One empty list isn't a fact: believed, it would announce every lead of the account at the next look.
        """
        is_empty = True
        async for page in self._pages(workspace):
            await self._store.found_leads.remember(workspace, list(map(_identity, page.items)))
            is_empty = is_empty and not page.items
        if is_empty and workspace not in self._seen_empty:
            self._seen_empty.add(workspace)
            return 1
        await self._store.found_leads.compare(workspace, {}, grace=self._grace)
        return 0

    def _pages(self, workspace: str, *, cursor: str | None = None) -> AsyncIterator[Page[Lead]]:
        client = self._contexts.clients[workspace]
        return client.iter_pages(status="interested", cursor=cursor, priority=Priority.BULK)


def _identity(lead: Lead) -> str:
    return address(lead.email or lead.id)


def body(lead: Lead) -> bytes:
    """The missing delivery, as far as the list of leads has its values."""
    fields = {
        "email": lead.email,
        "first_name": lead.first_name,
        "last_name": lead.last_name,
        "company": lead.company,
    }
    known = {name: value for name, value in fields.items() if value is not None}
    return json.dumps({"event": INTERESTED, "lead": known, "found": lead.id}).encode()
