"""A feed that shows the stored snapshot at once, and connects to the service in the background.

SQLAlchemy, the client and the commands take longer to load than the first screen to paint: they are imported once it
stands.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from shared.api.errors import OutreachError
from shared.api.pace import Priority
from shared.domain.card import Fact, Tone
from shared.domain.local_zone import local_zone
from shared.domain.snapshot import Snapshot, service_day
from shared.history.last_snapshot import read_last_snapshot
from shared.records import Actor, DomainPast, PauseEnd, RecordsUnavailable
from shared.settings import Settings, SettingsError
from tui.feed.history_access import HistoryAccess, as_recalled
from tui.feed.pending_changes import run_command
from tui.feed.poller import Poller, Tick, intervals
from tui.model import happened
from tui.model.board import DomainFacts, compose
from tui.model.happened import Mark

if TYPE_CHECKING:
    from shared.api import OutreachClient
    from shared.commands import Invocation
    from shared.commands.base import CommandContext, Question, Result
    from shared.domain.reply_queue import ReplyQueue
    from shared.store import Store

logger = logging.getLogger(__name__)

KEPT_TODAY = timedelta(minutes=1)
SETTLE_SECONDS = 3.0
"""The time for the first reads, before the bot's records are opened."""
LOOKED_BACK = timedelta(days=30)
"""The time that the counts of inboxes cover, so that bounces can be a share of sends."""
RECORDS_EVERY_SECONDS = 15.0
MOST_TROUBLED = 20
"""Domains whose records are looked up at a time."""
T = TypeVar("T")
D = TypeVar("D")
OpenReplies = Callable[[Settings, str], AbstractAsyncContextManager["ReplyQueue"]]


class ServiceFeed:
    """The source of a workspace's ticks, and the place where its commands run."""

    def __init__(
        self,
        settings: Settings,
        *,
        workspace: str,
        now: Callable[[], datetime],
    ) -> None:
        self._settings = settings
        self._place = settings.workspace(workspace)
        self._now = now
        self._poller: Poller | None = None
        self._client: OutreachClient | None = None
        self._context: CommandContext | None = None
        self._records: Store | None = None
        self._is_wanted = asyncio.Event()
        """A command waits for its context."""
        self._is_changed = asyncio.Event()
        """What the bot has recorded is other than it was read."""
        self._is_equipped = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._today = asyncio.Lock()
        self._sent: Mapping[str, int | None] = {}
        self._sent_at: datetime | None = None
        self.history: HistoryAccess | None = None
        """None until it is open."""
        own = {str(name): seconds for name, seconds in settings.dashboard.intervals.items()}
        self._intervals = intervals(settings.poll_seconds, own)
        self.has_bot = may_hold_data(settings.database_file)
        """A bot's database is at hand: it knows who has claimed which reply."""

    def stored_tick(self) -> Tick | None:
        """The board as it was kept last, for the first screen; its charts come with the first tick. None: nothing was kept."""
        file = self._settings.history_file
        snapshot = read_last_snapshot(file, self._place.name, now=self._now()) if file else None
        if snapshot is None:
            return None
        snapshot = as_recalled(snapshot)
        board = compose(snapshot, intervals=self._intervals, thresholds=self._place.thresholds)
        return Tick(board=board)

    def start(self, deliver: Callable[[Tick], object], fail: Callable[[Exception], object]) -> None:
        """Begin; both are called in the event loop, `fail` when nothing can be delivered."""
        self._task = asyncio.create_task(self._run(deliver, fail), name="dashboard-opening")

    def read_now(self) -> None:
        """Read all sources now, and what the bot has recorded."""
        self._is_changed.set()
        if self._poller:
            self._poller.read_now()

    async def aclose(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def run(self, asked: Invocation) -> Result | Question:
        """Carry out a command, as soon as the service can be reached."""
        # A command before the records are open asks for them now instead of after the first reads.
        self._is_wanted.set()
        await self._is_equipped.wait()
        assert self._context
        return await run_command(self._context, asked)

    # -- what is read for one page -----------------------------------------------------------------------

    async def records_open(self) -> None:
        """Wait until the bot's records can be asked; at once where its database isn't shared."""
        if self.has_bot:
            await self._is_equipped.wait()

    async def sent_today(self) -> Mapping[str, int | None]:
        """Count the sends of each inbox today, as far as it can be told; read at most once a minute for all callers."""
        # The lock lets several pages that open at once share one request.
        async with self._today:
            now, client = self._now(), self._client
            if client and (self._sent_at is None or now - self._sent_at > KEPT_TODAY):
                day, self._sent_at = service_day(client, now=now), now
                try:
                    rows = await client.stats(
                        group_by="inbox", start=day, end=day, priority=Priority.INTERACTIVE
                    )
                    self._sent = {row.group: row.sends for row in rows}
                except OutreachError as error:
                    logger.warning("sends by inbox: %s", error)
            return self._sent

    async def recorded_marks(self, snapshot: Snapshot, *, start: datetime, end: datetime) -> Sequence[Mark]:
        """Read the marks of lanes that the bot recorded; nothing where its database isn't shared, or doesn't answer."""
        if self._records is None:
            return ()
        return await read_marks(self._records, snapshot, start=start, end=end)

    async def domain_dns(self, domain: str) -> tuple[tuple[Fact, ...], tuple[str, ...]]:
        """The DNS of a domain as the bot found it, and what to do; nothing where it isn't checked, or not shared."""
        if self._records is None or not self._settings.dns.enabled:
            return (), ()
        from shared.domain.dns_facts import advice, dns_facts, in_dns  # late: no first screen shows DNS

        now, name = self._now(), in_dns(domain)
        reports = await _or(self._records.domains.reports([name]), None)
        if reports is None:
            unread = "unknown: the bot's database doesn't answer"
            return (Fact(label="DNS", value=unread, tone=Tone.UNKNOWN),), ()
        report = reports.get(name)
        return dns_facts(report, now=now, zone=local_zone()), advice(report, now=now)

    async def domain_pasts(self, domains: Sequence[str]) -> Mapping[str, DomainPast]:
        """Read the bot's records of domains in the last 30 days; without those that can't be read."""
        if self._records is None:
            return {}
        return await read_pasts(self._records, self._place.name, domains, now=self._now())

    # -- opening and reading on --------------------------------------------------------------------------

    async def _run(self, deliver: Callable[[Tick], object], fail: Callable[[Exception], object]) -> None:
        try:
            await self._poll(deliver)
        except Exception as error:
            logger.exception("the connection to the service couldn't be set up")
            fail(error)

    async def _poll(self, deliver: Callable[[Tick], object]) -> None:
        from shared.history.history import History  # late: it loads SQLAlchemy

        settings, place = self._settings, self._place
        async with History(settings.history_database, thresholds=place.thresholds) as store:
            self.history = HistoryAccess(store, workspace=place.name)
            poller = Poller(
                workspace=place.name,
                intervals=self._intervals,
                jitter=settings.dashboard.jitter,
                now=self._now,
                thresholds=place.thresholds,
                history=self.history,
            )
            async with aclosing(poller):
                poller.start(deliver, past=await self.history.recall(now=self._now()))
                from shared.commands.run import open_client  # late: it loads the client

                # The poller is closed before the client that it reads with.
                async with open_client(settings, place) as self._client, aclosing(poller):
                    poller.connect(self._client)
                    self._poller = poller
                    await self._serve(self._client, poller)

    async def _serve(self, client: OutreachClient, poller: Poller) -> None:
        """Make the context for the first command; what opens the records takes ten megabytes.

        Where the bot's database is shared they are opened anyway: it knows who has claimed which reply.
        """
        from shared.commands.base import CommandContext
        from shared.store import open_records

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS if self.has_bot else None):
                await self._is_wanted.wait()
        async with open_records(self._settings.database) as self._records:
            self._context = CommandContext(
                workspace=self._place,
                client=client,
                actor=Actor(name=getpass.getuser(), face="dashboard"),
                records=self._records,
                now=self._now,
                settings=self._settings,
                zone=local_zone(),
                asks_always=True,
            )
            self._is_equipped.set()
            while True:
                self._is_changed.clear()
                await self._read_records(self._records, poller)
                # What somebody changes here is read at once: the end of their pause stands in its line.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(RECORDS_EVERY_SECONDS):
                        await self._is_changed.wait()

    async def _read_records(self, records: Store, poller: Poller) -> None:
        """Show what the bot has recorded; pauses and firings of which nothing can be read now stay."""
        from shared.guardrails.activity import HORIZON  # late, likewise

        workspace, now = self._place.name, self._now()
        poller.note(replies=tuple(await _or(records.interested_replies(workspace), ())))
        incidents = await _or(records.guardrails.incidents(workspace, now.timestamp() - HORIZON), None)
        if incidents is not None:
            firings = tuple(
                incident for incident in incidents if incident.sentence and incident.ended_at is None
            )
            poller.note(firings=firings)
        known = await _or(records.pauses(workspace), None)
        if known is not None:
            pauses = (
                PauseEnd(sequence=timer.key, until=timer.due_at.timestamp(), by=timer.payload.get("by", ""))
                for timer in known.timers.values()
            )
            poller.note(pauses=tuple(pauses))
        # Only of domains that are in trouble now: those that are well again are forgotten.
        troubled = sorted(poller.troubled_domains)
        pasts = await read_pasts(records, workspace, troubled, now=now)
        broken = await _or(records.domains.broken(workspace), None)
        poller.note(domain_facts=DomainFacts(pasts=pasts, broken=broken or {}))


async def _or(reading: Awaitable[T], default: D) -> T | D:
    """Give what the bot recorded, or the default where its database doesn't answer."""
    try:
        return await reading
    except RecordsUnavailable as error:
        logger.info("the bot's records: %s", error)
        return default


async def read_marks(records: Store, snapshot: Snapshot, *, start: datetime, end: datetime) -> Sequence[Mark]:
    """Pauses and by whom, paused domains, lost replies, guardrails, DNS; nothing where the bot's database doesn't answer."""
    names = {sequence.id: sequence.label for sequence in snapshot.sequences.value or ()}
    from shared.domain.dns_facts import in_dns  # late, likewise

    domains = frozenset(in_dns(inbox.domain) for inbox in snapshot.inboxes.value or () if inbox.domain)
    period = await _or(records.period(snapshot.workspace, start, end), None)
    if period is None:
        return ()
    fired = await _or(records.guardrails.incidents(snapshot.workspace, start.timestamp()), ())
    dns = await _or(records.domains.changes(domains, start), ())
    others = (*happened.of_incidents(fired), *happened.of_dns(dns))
    return (*happened.of_period(period, names=names), *(mark for mark in others if start <= mark.at <= end))


async def read_pasts(
    records: Store, workspace: str, domains: Sequence[str], *, now: datetime
) -> Mapping[str, DomainPast]:
    """Read the bot's records of domains in the last 30 days; without those whose records can't be read now."""
    pasts: dict[str, DomainPast] = {}
    for domain in domains[:MOST_TROUBLED]:
        past = await _or(records.domain_past(workspace, domain, now - LOOKED_BACK), None)
        if past is None:  # its database doesn't answer: asking for each domain would take as many timeouts
            break
        pasts[domain] = past
    return pasts


@contextlib.asynccontextmanager
async def opened_replies(
    load: Callable[[], Settings], workspace: str, open_replies: OpenReplies
) -> AsyncIterator[ReplyQueue]:
    """The queue of a workspace, with the settings as they are now: who may do what changes while the dashboard runs."""
    try:
        settings = await asyncio.to_thread(load)
    except SettingsError as error:
        words = (f"{problem.name} {problem.problem}" for problem in error.problems)
        raise RecordsUnavailable(f"The settings can't be used: {' '.join(words)}") from None
    async with open_replies(settings, workspace) as queue:
        yield queue


def may_hold_data(file: Path | None) -> bool:
    """True for a file that is there, and where a server has the database."""
    return file is None or file.is_file()
