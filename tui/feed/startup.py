"""A feed that shows the stored snapshot at once, and connects to the service in the background.

The client, the scheduler and the commands take longer to load than the first screen to paint.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from shared.api import OutreachClient
from shared.api.errors import OutreachError
from shared.api.pace import Priority
from shared.commands.base import Question, Result
from shared.commands.run import CommandContext, SessionChanges, open_client
from shared.domain.card import Fact, Tone
from shared.domain.dns_facts import advice, dns_facts, in_dns
from shared.domain.local_zone import local_zone
from shared.domain.reply_queue import ReplyQueue
from shared.domain.snapshot import service_day
from shared.guardrails.activity import HORIZON
from shared.history import History
from shared.records.audit import Actor
from shared.records.domains import DomainPast
from shared.records.records import RecordsUnavailable
from shared.records.sequence_changes import PauseEnd
from shared.settings import Settings, SettingsError
from tui.feed.history_access import HistoryAccess
from tui.feed.pending_changes import Asked, run_command
from tui.feed.poller import Poller, PollIntervals, Tick
from tui.feed.recorded_marks import read_marks, read_pasts
from tui.model.board import DomainFacts
from tui.theme.marks import Mark

if TYPE_CHECKING:
    from shared.store.history import Records

logger = logging.getLogger(__name__)

KEPT_TODAY = timedelta(minutes=1)
SETTLED = 3.0
"""Seconds for the first reads, before the bot's records are opened."""
LOOKED_BACK = timedelta(days=30)
"""The time that the counts of inboxes cover, so that bounces can be a share of sends."""
REPLIES_EVERY = 15.0
"""Seconds between two looks at the bot's records."""
MOST_TROUBLED = 20
"""Domains whose records are looked up at a time."""
OpenRecords = Callable[[Settings], AbstractAsyncContextManager["Records"]]
OpenReplies = Callable[[Settings, str], AbstractAsyncContextManager[ReplyQueue]]


class ServiceFeed:
    """The real dashboard's feed, and where its command lines are run."""

    def __init__(
        self,
        settings: Settings,
        *,
        workspace: str,
        open_records: OpenRecords | None,
        now: Callable[[], datetime],
    ) -> None:
        self._settings = settings
        self._place = settings.workspace(workspace)
        self._open_records = open_records
        self._now = now
        self._poller: Poller | None = None
        self._client: OutreachClient | None = None
        self._context: CommandContext | None = None
        self._records: Records | None = None
        self._acting = asyncio.Event()
        self._equipped = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._today = asyncio.Lock()
        self._sent: Mapping[str, int | None] = {}
        self._sent_at: datetime | None = None
        self.history: HistoryAccess | None = None
        self.thresholds = self._place.thresholds
        self.has_bot = has_bot_database(settings)
        """Whether a bot's database is at hand: it knows who has claimed which reply."""

    def start(self, deliver: Callable[[Tick], object], fail: Callable[[Exception], object]) -> None:
        """Begin; both are called in the event loop."""
        self._task = asyncio.create_task(self._run(deliver, fail), name="dashboard-opening")

    def read_now(self, *names: str) -> None:
        if self._poller:
            self._poller.read_now(*names)

    async def aclose(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def sent_today(self) -> Mapping[str, int | None]:
        """Read at most once a minute, for all callers."""
        async with self._today:
            now = self._now()
            if self._client and (self._sent_at is None or now - self._sent_at > KEPT_TODAY):
                read = await self._read_sends(self._client, service_day(self._client, now=now))
                self._sent, self._sent_at = self._sent if read is None else read, now
            return self._sent

    async def recorded_marks(self, *, start: datetime, end: datetime) -> Sequence[Mark]:
        """Nothing where the bot's database isn't shared, or doesn't answer."""
        if self._records is None or self._poller is None:
            return ()
        return await read_marks(self._records, self._poller.snapshot, start=start, end=end)

    async def domain_dns(self, domain: str) -> tuple[tuple[Fact, ...], tuple[str, ...]]:
        """The DNS of a domain as the bot found it, and what to do; nothing where it isn't checked, or not shared."""
        settings = self._context.settings if self._context else None
        if self._records is None or settings is None or not settings.dns.enabled:
            return (), ()
        now, name = self._now(), in_dns(domain)
        try:
            report = (await self._records.domains.reports([name])).get(name)
        except RecordsUnavailable as error:
            logger.info("the DNS of a domain: %s", error)
            return (
                Fact(label="DNS", value="unknown: the bot's database doesn't answer", tone=Tone.UNKNOWN),
            ), ()
        return dns_facts(report, now=now, zone=local_zone()), advice(report, now=now)

    async def domain_past(self, domain: str) -> DomainPast | None:
        """What the bot recorded of a domain in the last 30 days; None where its database doesn't answer."""
        if self._records is None:
            return None
        try:
            return await self._records.domain_past(self._place.name, domain, self._now() - LOOKED_BACK)
        except RecordsUnavailable as error:
            logger.info("what happened to a domain: %s", error)
            return None

    async def _read_sends(self, client: OutreachClient, day: date) -> Mapping[str, int | None] | None:
        try:
            rows = await client.stats(group_by="inbox", start=day, end=day, priority=Priority.INTERACTIVE)
        except OutreachError as error:
            logger.warning("sends by inbox: %s", error)
            return None
        return {row.group: row.sends for row in rows}

    async def run(self, asked: Asked) -> Result | Question:
        """Carry out a command, as soon as the service can be reached."""
        self._acting.set()
        await self._equipped.wait()
        assert self._context
        return await run_command(self._context, asked)

    async def _run(self, deliver: Callable[[Tick], object], fail: Callable[[Exception], object]) -> None:
        try:
            await self._poll(deliver)
        except Exception as error:
            logger.exception("the connection to the service couldn't be set up")
            fail(error)

    async def _poll(self, deliver: Callable[[Tick], object]) -> None:
        settings, place = self._settings, self._place
        async with (
            History(settings.history_database, thresholds=place.thresholds) as store,
            open_client(settings, place) as self._client,
        ):
            self.history = HistoryAccess(store, workspace=place.name)
            self._poller = Poller(
                client=self._client,
                workspace=place.name,
                poll_intervals=PollIntervals.of(
                    settings.poll_seconds,
                    own={str(name): seconds for name, seconds in settings.dashboard.intervals.items()},
                    jitter=settings.dashboard.jitter,
                ),
                now=self._now,
                thresholds=place.thresholds,
                history=self.history,
            )
            self._poller.start(deliver, past=await self.history.recall(now=self._now()))
            poller = self._poller
            try:
                await self._serve(self._client)
            finally:
                await poller.aclose()

    async def _serve(self, client: OutreachClient) -> None:
        """Make the context for the first command; what opens the records takes ten megabytes.

        Where the bot's database is shared they are opened anyway: it knows who has claimed which reply.
        """
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._acting.wait(), SETTLED if self.has_bot else None)
        opened: AbstractAsyncContextManager[Records | None] = contextlib.nullcontext()
        if self._open_records:
            opened = self._open_records(self._settings)
        async with opened as records:
            self._records = records
            self._context = CommandContext(
                workspace=self._place,
                client=client,
                actor=Actor(name=getpass.getuser(), face="dashboard"),
                records=records,
                now=self._now,
                settings=self._settings,
                zone=local_zone(),
                session=SessionChanges(),
                asks_always=True,
            )
            self._equipped.set()
            while records and self._poller:
                await self._read_replies(records, self._poller)
                await self._read_firings(records, self._poller)
                await self._read_pauses(records, self._poller)
                await self._read_domains(records, self._poller)
                await asyncio.sleep(REPLIES_EVERY)
            await asyncio.Event().wait()

    async def _read_replies(self, records: Records, poller: Poller) -> None:
        try:
            replies = await records.interested_replies(self._place.name)
        except RecordsUnavailable as error:
            logger.info("interested replies: %s", error)
            replies = ()
        poller.note_replies(tuple(replies))

    async def _read_pauses(self, records: Records, poller: Poller) -> None:
        """Those of which nothing can be read now stay."""
        try:
            timers = await records.timers(self._place.name, "resume")
        except RecordsUnavailable as error:
            logger.info("timed pauses: %s", error)
        else:
            poller.note_pauses(
                tuple(
                    PauseEnd(sequence=one.key, until=one.due_at.timestamp(), by=one.payload.get("by", ""))
                    for one in timers
                )
            )

    async def _read_domains(self, records: Records, poller: Poller) -> None:
        """Why the domains in trouble are so; forgotten once they are well."""
        names = sorted(poller.troubled_domains)[:MOST_TROUBLED]
        pasts = await read_pasts(records, self._place.name, names, now=self._now())
        try:
            broken = await records.domains.broken(self._place.name)
        except RecordsUnavailable as error:
            logger.info("the DNS of domains: %s", error)
            broken = {}
        poller.note_domains(DomainFacts(pasts=pasts, broken=broken))

    async def _read_firings(self, records: Records, poller: Poller) -> None:
        """Those of which nothing can be read now stay."""
        since = self._now().timestamp() - HORIZON
        try:
            incidents = await records.guardrails.incidents(self._place.name, since)
        except RecordsUnavailable as error:
            logger.info("guardrails that have fired: %s", error)
        else:
            poller.note_firings(tuple(one for one in incidents if one.sentence and one.ended_at is None))


@contextlib.asynccontextmanager
async def opened_replies(
    load: Callable[[], Settings], workspace: str, open_replies: OpenReplies
) -> AsyncIterator[ReplyQueue]:
    """The queue of a workspace, with the settings as they are now: who may do what changes while the dashboard runs."""
    try:
        settings = await asyncio.to_thread(load)
    except SettingsError as error:
        words = (f"{one.name} {one.problem}" for one in error.problems)
        raise RecordsUnavailable(f"The settings can't be used: {' '.join(words)}") from None
    async with open_replies(settings, workspace) as queue:
        yield queue


def has_bot_database(settings: Settings) -> bool:
    """Whether a bot may have recorded something: its database is a server's, or a file that is there."""
    path = settings.database.database
    return settings.database.get_backend_name() != "sqlite" or bool(path and Path(path).is_file())
