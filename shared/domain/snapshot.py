"""Everything that a dashboard shows, read concurrently, each part with its age and error.

A part that can't be read keeps its last value, and says since when and why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from shared.api.errors import OutreachError
from shared.api.http.decode_thread import decode_in_thread
from shared.api.http.rate_limit import BudgetState
from shared.api.models import GROUPINGS, NOTHING, Grouping, Inbox, Lead, Page, Sequence, StatsRow
from shared.domain.failures import cause_of
from shared.domain.guard_records import Incident
from shared.domain.known_days import is_known_from
from shared.domain.records import InterestedReply
from shared.domain.totals import totals

if TYPE_CHECKING:  # a dashboard shows what was kept before it needs a client
    from shared.api import OutreachClient

T = TypeVar("T")
DEFAULT_RANGE = timedelta(days=30)
NEWEST_INTERESTED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Generic[T]):
    """The last value that was read, when, and what went wrong since."""

    value: T | None = None
    read_at: datetime | None = None
    error: str | None = None
    failed_since: datetime | None = None
    failed_at: datetime | None = None
    """The latest failure; `error` and `cause` are of this one."""
    cause: str = ""
    """The failure in a few words: `The service rejects the API key (401)`."""
    more: bool = False
    """The service has more than what was read: the value is a page."""

    @property
    def was_tried(self) -> bool:
        return self.read_at is not None or self.failed_since is not None

    def failed(self, error: str, *, cause: str, at: datetime) -> Reading[T]:
        """This reading after another failure: the value stays, and the first failure's time."""
        return replace(self, error=error, cause=cause, failed_at=at, failed_since=self.failed_since or at)


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyCounts:
    """The counts of past days, the oldest first, and what was sent until this hour of the last comparable day."""

    days: tuple[tuple[date, StatsRow], ...] = ()
    compared_at: datetime | None = None
    """The same hour of a week ago, or of yesterday if it wasn't read then."""
    compared: StatsRow | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InterestedCount:
    """How many leads are interested in all, and those after the first page whose reply the bot has recorded."""

    total: int
    recorded: tuple[Lead, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """How a workspace stood; `stats` by grouping over the last 30 days, `previous` the total of the 30 before, if all are known."""

    workspace: str
    sequences: Reading[tuple[Sequence, ...]] = Reading()
    inboxes: Reading[tuple[Inbox, ...]] = Reading()
    stats: Mapping[str, Reading[tuple[StatsRow, ...]]] = field(
        default_factory=lambda: {grouping: Reading() for grouping in GROUPINGS}
    )
    today: Reading[StatsRow] = Reading()
    previous: Reading[StatsRow] = Reading()
    interested: Reading[tuple[Lead, ...]] = Reading()
    budget: BudgetState | None = None
    replies: tuple[InterestedReply, ...] = ()
    """What the bot's records tell of the leads who are interested; nothing where no bot's database is shared."""
    daily: DailyCounts = DailyCounts()
    firings: tuple[Incident, ...] = ()
    """Guardrails that have fired, and whose condition still holds; from the bot's records too."""
    interested_count: InterestedCount | None = None
    """None until every page was counted, and where the first page is all there is."""

    def reading(self, source: Source) -> Reading[Any]:
        found = self.stats[source.grouping] if source.grouping else getattr(self, source.name)
        assert isinstance(found, Reading)
        return found

    @property
    def is_whole(self) -> bool:
        """Whether everything was read, or at least asked for."""
        return all(self.reading(source).was_tried for source in SOURCES.values())

    def with_reading(self, source: Source, reading: Reading[Any]) -> Snapshot:
        """This snapshot with one reading exchanged; readings taken concurrently are put in one after another."""
        if source.grouping:
            return replace(self, stats={**self.stats, source.grouping: reading})
        changed: dict[str, Any] = {source.name: reading}
        return replace(self, **changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One thing to read: `factor` is its interval in base intervals (health moves daily, status at any time)."""

    name: str
    factor: float
    read: Callable[[OutreachClient, date], Awaitable[Any]] = field(repr=False, compare=False)
    grouping: str = ""


async def _today(client: OutreachClient, today: date) -> StatsRow:
    return totals(await client.stats(start=today, end=today), group="today")


async def _previous(client: OutreachClient, today: date) -> StatsRow:
    start, end = today - 2 * DEFAULT_RANGE + timedelta(days=1), today - DEFAULT_RANGE
    if not await is_known_from(client, start):
        return StatsRow(group="previous")
    return totals(await client.stats(start=start, end=end), group="previous")


async def _interested(client: OutreachClient, _: date) -> Page[Lead]:
    return await client.list_leads(status="interested", limit=NEWEST_INTERESTED)


def _stats_by(grouping: Grouping, *, factor: float) -> Source:
    def read(client: OutreachClient, _: date) -> Awaitable[tuple[StatsRow, ...]]:
        return client.stats(group_by=grouping)

    return Source(name=f"stats_{grouping}", factor=factor, read=read, grouping=grouping)


SOURCES: Mapping[str, Source] = {
    source.name: source
    for source in (
        Source(name="sequences", factor=1, read=lambda client, _: client.list_sequences()),
        Source(name="interested", factor=1, read=_interested),
        Source(name="inboxes", factor=2, read=lambda client, _: client.list_inboxes()),
        Source(name="today", factor=2, read=_today),
        _stats_by("sequence", factor=4),
        _stats_by("inbox", factor=8),
        _stats_by("step", factor=8),
        _stats_by("variant", factor=8),
        Source(name="previous", factor=60, read=_previous),
    )
}


async def read_source(
    before: Reading[Any], source: Source, client: OutreachClient, *, now: datetime
) -> Reading[Any]:
    """Read a source; a failure keeps the value of before. Never raises `OutreachError`."""
    value: Any
    try:
        value = await source.read(client, service_day(client, now=now))
    except OutreachError as error:
        return before.failed(str(error), cause=cause_of(error), at=now)
    more = False
    if isinstance(value, Page):
        value, more = value.items, value.next_cursor is not None
    if isinstance(value, tuple):
        value = await decode_in_thread(partial(_settled, value, before.value or ()), rows=len(value))
    return Reading(value=value, read_at=now, more=more)


def _settled(value: tuple[Any, ...], before: tuple[Any, ...]) -> tuple[Any, ...]:
    """What reads as before is the object of before, and what the service sent besides is let go.

    Else ten thousand inboxes would be kept twice, and with them the whole answer they came in.
    """
    known = {one: one for one in before}
    return tuple([known.get(one) or replace(one, raw=NOTHING) for one in value])


def service_day(client: OutreachClient, *, now: datetime) -> date:
    return (client.service_time or now).date()


async def refresh(snapshot: Snapshot, source: Source, client: OutreachClient, *, now: datetime) -> Snapshot:
    """The snapshot with one source read again. Never raises `OutreachError`."""
    reading = await read_source(snapshot.reading(source), source, client, now=now)
    return replace(snapshot.with_reading(source, reading), budget=client.budget)


async def take_snapshot(client: OutreachClient, workspace: str, *, now: datetime) -> Snapshot:
    """Every source, read concurrently. Never raises `OutreachError`."""
    snapshot = Snapshot(workspace=workspace)
    sources = tuple(SOURCES.values())
    readings = await asyncio.gather(*(read_source(Reading(), source, client, now=now) for source in sources))
    for source, reading in zip(sources, readings, strict=True):
        snapshot = snapshot.with_reading(source, reading)
    return replace(snapshot, budget=client.budget)
