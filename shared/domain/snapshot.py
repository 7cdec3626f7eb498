"""Everything that a dashboard shows, read concurrently, each part with its age and error.

A part that can't be read keeps its last value, and says since when and why.

As JSON it is kept in the history and printed by `--json`; what the service sent besides is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from collections.abc import Sequence as Listed
from dataclasses import field, replace
from datetime import date, datetime, timedelta
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import TypeAdapter

from shared.api.errors import (
    NoResponse,
    OutreachError,
    RateLimited,
    Refused,
    ServiceBroken,
    Unauthorized,
    Unreadable,
)
from shared.api.models import NOTHING, Inbox, Lead, Page, Sequence, StatsRow
from shared.api.pace import BudgetState
from shared.api.pipeline import LARGE_LIST_ROWS, decode_in_thread
from shared.api.words import GROUPINGS, Grouping
from shared.domain.evidence import totals
from shared.frozen import frozen
from shared.records import Incident, InterestedReply, PauseEnd
from shared.text.formats import show_some

if TYPE_CHECKING:  # a dashboard shows what was kept before it needs a client
    from shared.api import OutreachClient

T = TypeVar("T")
DAY, DEFAULT_RANGE = timedelta(days=1), timedelta(days=30)
COMPARED_BACK = timedelta(weeks=5)
"""The full days of the default range are compared with as many days so far back, on the same weekdays."""
NEWEST_INTERESTED = 50


SEEN_LATE = 3600.0
"""Seconds by which a poll may see a problem late that it saw begin."""


@frozen
class ProblemStart:
    """The start of a problem, and of its present kind, in Unix seconds."""

    key: str
    kind: str
    since: float
    kind_since: float
    is_older: bool = False
    """It held already at the first look: it began at `since` or before."""

    def known_from(self, at: float) -> ProblemStart:
        """Return this with the earlier start that someone else recorded; one long before is another problem's."""
        if at >= self.kind_since or not (self.is_older or self.kind_since - at <= SEEN_LATE):
            return self
        return replace(self, since=min(self.since, at), kind_since=at, is_older=False)


@frozen
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
    cause_since: datetime | None = None
    """The start of this cause: another cause has a start of its own."""
    more: bool = False
    """The service has more than what was read: the value is a page."""

    @property
    def was_tried(self) -> bool:
        return self.read_at is not None or self.failed_since is not None

    def failed(self, error: str, *, cause: str, at: datetime) -> Reading[T]:
        """This reading after another failure: the value stays, and the first failure's time."""
        # Another cause has a start of its own; the reading has been failing since the first.
        is_same = self.failed_since is not None and cause == self.cause
        return replace(
            self,
            error=error,
            cause=cause,
            cause_since=self.cause_since if is_same else at,
            failed_at=at,
            failed_since=self.failed_since or at,
        )


@frozen
class Snapshot:
    """The state of a workspace; `stats` by grouping over 30 days, `previous` the days before that they are compared with."""

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
    """The bot's records of the interested leads; empty where no bot's database is shared."""
    firings: tuple[Incident, ...] = ()
    """Guardrails that have fired, and whose condition still holds; from the bot's records too."""
    pauses: tuple[PauseEnd, ...] | None = None
    """Timed pauses, from the bot's records; None where these were not read."""
    problems: tuple[ProblemStart, ...] = ()
    """Since when what is wrong has been so, as the history remembers it for every process."""

    def reading(self, source: Source) -> Reading[Any]:
        found = self.stats[source.grouping] if source.grouping else getattr(self, source.name)
        assert isinstance(found, Reading)
        return found

    @property
    def is_whole(self) -> bool:
        """True if everything was read, or at least asked for."""
        return all(self.reading(source).was_tried for source in SOURCES.values())

    def with_reading(self, source: Source, reading: Reading[Any]) -> Snapshot:
        """This snapshot with one reading exchanged; readings taken concurrently are put in one after another."""
        if source.grouping:
            return replace(self, stats={**self.stats, source.grouping: reading})
        changed: dict[str, Any] = {source.name: reading}
        return replace(self, **changed)


@frozen
class Source:
    """One thing to read: `factor` is its interval in base intervals (health moves daily, status at any time)."""

    name: str
    factor: float
    read: Callable[[OutreachClient, date], Awaitable[Any]] = field(repr=False, compare=False)
    grouping: str = ""


async def _today(client: OutreachClient, today: date) -> StatsRow:
    return totals(await client.stats(start=today, end=today), group="today")


async def _previous(client: OutreachClient, today: date) -> StatsRow:
    start, end = (today - back - COMPARED_BACK for back in (DEFAULT_RANGE - DAY, DAY))
    # A young account's first days would make everything look like growth.
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
    # A failure is kept with the last value, so that a page never goes blank.
    try:
        value = await source.read(client, service_day(client, now=now))
    except OutreachError as error:
        return before.failed(str(error), cause=cause_of(error), at=now)
    more = False
    if isinstance(value, Page):
        value, more = value.items, value.next_cursor is not None
    if isinstance(value, tuple):
        settle = partial(_settled, value, before.value or ())
        value = await decode_in_thread(settle, is_large=len(value) > LARGE_LIST_ROWS)
    return Reading(value=value, read_at=now, more=more)


def _settled(value: tuple[Any, ...], before: tuple[Any, ...]) -> tuple[Any, ...]:
    """Reuse the objects of before for rows that read the same, and drop what the service sent besides.

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


@cache
def _adapter() -> TypeAdapter[Snapshot]:
    return TypeAdapter(Snapshot)


def to_json(snapshot: Snapshot) -> bytes:
    """The snapshot as JSON, without what the service sent besides, and without replies: the bot remembers them."""
    return _adapter().dump_json(replace(snapshot, replies=()))


def from_json(text: bytes) -> Snapshot:
    """Read what `to_json` wrote; what another version wrote besides is left out. Raises ValueError."""
    return _adapter().validate_json(text)


UNREACHABLE = "The outreach service can't be reached"
SLOW = "The outreach service is slow to respond"
REJECTED = "The service rejects the API key (401)"
RATE_LIMITED = "The service has rate limited this key (429)"
UNREADABLE = "The service sent an unreadable response"

SHOWN = 3
"""Sources that are named."""


def cause_of(error: OutreachError) -> str:
    """The failure in a few words: `The service rejects the API key (401)`. Only no connection is unreachable."""
    if isinstance(error, Unauthorized):
        return REJECTED
    if isinstance(error, RateLimited):
        return RATE_LIMITED
    # A success that can't be read isn't an outage, though it is as useless.
    if isinstance(error, Unreadable) or (isinstance(error, ServiceBroken) and (error.status or 200) < 300):
        return UNREADABLE
    if isinstance(error, ServiceBroken):
        return f"The service returned an error ({error.status})"
    if isinstance(error, Refused):
        return f"The service rejects the request ({error.status})"
    return SLOW if isinstance(error, NoResponse) else UNREACHABLE


def which_failed(cause: str, sources: Listed[str]) -> str:
    """The cause where other things were read: `No response for inboxes, today`."""
    shown = show_some(sources, SHOWN)
    return f"No response for {shown}" if cause == UNREACHABLE else f"{cause} for {shown}"


def cause_of_attempts(attempts: Iterable[OutreachError], *, rate_limited: bool) -> str:
    """The reason why no answer came in time: the last attempt's failure; else a 429, or slowness."""
    last = list(attempts)[-1:]
    if last:
        return cause_of(last[0])
    return RATE_LIMITED if rate_limited else SLOW


LOOK_BACK = timedelta(days=365)
"""The counts of a young account begin within a period; one that sent before it has them for all of it."""
SATURDAY = 5


async def is_known_from(client: OutreachClient, first: date) -> bool:
    """True if anything was sent by the first working day of a period, or in the year before. Raises `OutreachError`."""
    day = first.weekday()
    # Nothing may be sent at weekends, which says nothing about the age of an account.
    until = first if day < SATURDAY else first + timedelta(days=7 - day)
    return bool(totals(await client.stats(start=first - LOOK_BACK, end=until)).sends)
