"""Everything that a dashboard shows, read concurrently, each part with its age and error.

A part that can't be read keeps its last value, and says since when and why.

As JSON it is kept in the history and printed by `--json`; what the service sent besides is left out.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from shared.api.errors import OutreachError
from shared.api.models import NOTHING, Inbox, Lead, Page, Sequence, StatsRow
from shared.api.pace import BudgetState, Priority
from shared.api.pipeline import LARGE_LIST_ROWS, decode_in_thread
from shared.api.words import GROUPINGS, Grouping
from shared.domain.failures import cause_of
from shared.domain.totals import totals
from shared.records.guardrails import Incident
from shared.records.replies import InterestedReply
from shared.records.sequence_changes import PauseEnd

if TYPE_CHECKING:  # a dashboard shows what was kept before it needs a client
    from shared.api import OutreachClient

T = TypeVar("T")
DEFAULT_RANGE = timedelta(days=30)
NEWEST_INTERESTED = 50


SEEN_LATE = 3600.0
"""Seconds by which a poll may see a problem late that it saw begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemStart:
    """When something began to be wrong, and when it became of its present kind, in Unix seconds."""

    key: str
    kind: str
    since: float
    kind_since: float
    is_older: bool = False
    """It held already at the first look: it began at `since` or before."""

    def known_from(self, at: float) -> ProblemStart:
        """The same, begun earlier, as somebody else recorded it; what is long before its start is another one's."""
        if at >= self.kind_since or not (self.is_older or self.kind_since - at <= SEEN_LATE):
            return self
        return replace(self, since=min(self.since, at), kind_since=at, is_older=False)


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
    cause_since: datetime | None = None
    """When it began to fail for this cause: another cause has a start of its own."""
    more: bool = False
    """The service has more than what was read: the value is a page."""

    @property
    def was_tried(self) -> bool:
        return self.read_at is not None or self.failed_since is not None

    def failed(self, error: str, *, cause: str, at: datetime) -> Reading[T]:
        """This reading after another failure: the value stays, and the first failure's time."""
        is_same = self.failed_since is not None and cause == self.cause
        return replace(
            self,
            error=error,
            cause=cause,
            cause_since=self.cause_since if is_same else at,
            failed_at=at,
            failed_since=self.failed_since or at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyCounts:
    """The counts of past days, the oldest first, and what was sent until this hour of the last comparable day."""

    days: tuple[tuple[date, StatsRow], ...] = ()
    compared_at: datetime | None = None
    """The same hour of a week ago, or of yesterday if it wasn't read then."""
    compared: StatsRow | None = None


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
        settle = partial(_settled, value, before.value or ())
        value = await decode_in_thread(settle, is_large=len(value) > LARGE_LIST_ROWS)
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


MODELS: Mapping[str, type] = {"sequences": Sequence, "inboxes": Inbox, "interested": Lead}
"""Every other source keeps rows of counts."""
KEYS: Mapping[type, tuple[str, ...]] = {
    model: tuple(f.name for f in fields(model) if f.name != "raw")
    for model in (Sequence, Inbox, Lead, StatsRow)
}

MODEL_OF: Mapping[tuple[str, ...], type] = {keys: model for model, keys in KEYS.items()}
PIECE = 500
"""Rows."""


def to_json(snapshot: Snapshot) -> dict[str, Any]:
    """The snapshot as plain values; `from_json` reads it back, but for `raw`."""
    return {
        **_head(snapshot),
        "readings": {name: _reading(snapshot.reading(source)) for name, source in SOURCES.items()},
    }


def _head(snapshot: Snapshot, *, since: Snapshot | None = None) -> dict[str, Any]:
    """What is in no reading; with `since`, only what is another object than then."""
    budget = snapshot.budget
    head: dict[str, Any] = {
        "workspace": snapshot.workspace,
        "budget": budget and {f.name: getattr(budget, f.name) for f in fields(budget)},
    }
    then = since or Snapshot(workspace=snapshot.workspace)
    if snapshot.daily is not then.daily:
        head["daily"] = _daily(snapshot.daily)
    if snapshot.firings is not then.firings:
        head["firings"] = [record_to_json(one) for one in snapshot.firings]
    if snapshot.pauses is not then.pauses:
        pauses = snapshot.pauses
        head["pauses"] = None if pauses is None else [record_to_json(one) for one in pauses]
    if snapshot.problems is not then.problems:
        head["problems"] = [record_to_json(one) for one in snapshot.problems]
    parts = ("replies", "interested")
    if any(getattr(snapshot, part) is not getattr(then, part) for part in parts):
        head["replies"] = [record_to_json(one) for one in _of_listed_leads(snapshot)]
    return head


def record_to_json(of: Any) -> dict[str, Any]:
    """The fields of one of the bot's records."""
    values = {f.name: getattr(of, f.name) for f in fields(of)}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()
    }


def _daily(daily: DailyCounts) -> dict[str, Any]:
    return {
        "days": [[day.isoformat(), _plain(row)] for day, row in daily.days],
        "compared_at": daily.compared_at and daily.compared_at.isoformat(),
        "compared": _plain(daily.compared),
    }


def _of_listed_leads(snapshot: Snapshot) -> Iterator[InterestedReply]:
    """The replies of leads that are listed: the bot remembers thousands of others."""
    listed = {lead.email.lower() for lead in snapshot.interested.value or () if lead.email}
    return (reply for reply in snapshot.replies if reply.email.lower() in listed)


def to_text(snapshot: Snapshot) -> Iterator[str]:
    """The same as text, piece by piece: in one, ten thousand inboxes would be ten megabytes on the way."""
    yield f'{_dumped(_head(snapshot))[:-1]},"readings":{{'
    for number, (name, source) in enumerate(SOURCES.items()):
        yield f"{',' if number else ''}{_dumped(name)}:"
        yield from _reading_text(snapshot.reading(source))
    yield "}}"


def _reading_text(reading: Reading[Any]) -> Iterator[str]:
    if not isinstance(reading.value, tuple):
        yield _dumped(_reading(reading))
        return
    yield f'{_dumped(_about(reading))[:-1]},"value":['
    yield from _rows_text(reading.value)
    yield "]}"


def _rows_text(rows: tuple[Any, ...]) -> Iterator[str]:
    for start in range(0, len(rows), PIECE):
        text = _dumped(_plain(rows[start : start + PIECE]))[1:-1]
        yield f",{text}" if start else text


def delta_text(before: Snapshot, after: Snapshot) -> Iterator[str]:
    """What is different after, piece by piece; `with_delta` puts it onto what was before. Rows that are the same object are as before."""
    yield f'{_dumped(_head(after, since=before))[:-1]},"readings":{{'
    comma = ""
    for name, source in SOURCES.items():
        old, new = before.reading(source), after.reading(source)
        if old is not new:
            yield f"{comma}{_dumped(name)}:"
            yield from _changed_rows(old.value, new)
            comma = ","
    yield "}}"


def _changed_rows(before: Any, reading: Reading[Any]) -> Iterator[str]:
    after = reading.value
    if not (isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after)):
        yield from _reading_text(reading)
        return
    places = [
        at for at, (old, new) in enumerate(zip(before, after, strict=True)) if old is not new and old != new
    ]
    yield f'{_dumped(_about(reading))[:-1]},"places":{_dumped(places)},"rows":['
    yield from _rows_text(tuple(after[at] for at in places))
    yield "]}"


def with_delta(before: Snapshot, text: bytes) -> Snapshot:
    """The snapshot that `delta_text` was made of."""
    document = json.loads(text, object_hook=_thawed)
    for name, kept in document["readings"].items():
        if "places" in kept and name in SOURCES:
            rows = list(before.reading(SOURCES[name]).value or ())
            for at, row in zip(kept["places"], kept["rows"], strict=True):
                rows[at] = row
            kept["value"] = rows
    return from_json(document, onto=before)


def _dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def from_json(document: Mapping[str, Any], *, onto: Snapshot | None = None) -> Snapshot:
    """The snapshot that `to_json` wrote; what an older or newer version wrote otherwise is left out.

    `onto` is the snapshot since which it was written.
    """
    before = onto or Snapshot(workspace=document["workspace"])
    snapshot = replace(before, budget=_budget(document.get("budget")), **_beside(document))
    for name, source in SOURCES.items():
        kept = document["readings"].get(name)
        if kept is not None:
            snapshot = snapshot.with_reading(source, _read(kept, model=MODELS.get(name, StatsRow)))
    return snapshot


def _beside(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the head tells besides the budget."""
    found: dict[str, Any] = {}
    if "daily" in document:
        kept = document["daily"]
        found["daily"] = DailyCounts(
            days=tuple((date.fromisoformat(day), _model(row, StatsRow)) for day, row in kept["days"]),
            compared_at=_time(kept["compared_at"]),
            compared=kept["compared"] and _model(kept["compared"], StatsRow),
        )
    if "firings" in document:
        found["firings"] = tuple(record_from_json(one, Incident) for one in document["firings"])
    if "pauses" in document:
        kept = document["pauses"]
        found["pauses"] = None if kept is None else tuple(record_from_json(one, PauseEnd) for one in kept)
    if "problems" in document:
        found["problems"] = tuple(record_from_json(one, ProblemStart) for one in document["problems"])
    if "replies" in document:
        found["replies"] = tuple(record_from_json(one, InterestedReply) for one in document["replies"])
    return found


def record_from_json(kept: Mapping[str, Any], kind: type[T]) -> T:
    names = {f.name for f in fields(kind)}  # type: ignore[arg-type] # a dataclass
    found: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in kept.items()
        if name in names
    }
    if "received_at" in found:
        found["received_at"] = _time(found["received_at"])
    return kind(**found)


def from_text(text: bytes) -> Snapshot:
    """What `to_text` wrote; rows become models as they are read, so that their objects are never all there at once."""
    return from_json(json.loads(text, object_hook=_thawed))


def _thawed(found: dict[str, Any]) -> Any:
    model = MODEL_OF.get(tuple(found))
    return model(**found) if model else found


def _reading(reading: Reading[Any]) -> dict[str, Any]:
    return {"value": _plain(reading.value), **_about(reading)}


def _about(reading: Reading[Any]) -> dict[str, Any]:
    return {
        "read_at": reading.read_at and reading.read_at.isoformat(),
        "error": reading.error,
        "failed_since": reading.failed_since and reading.failed_since.isoformat(),
        "failed_at": reading.failed_at and reading.failed_at.isoformat(),
        "cause": reading.cause,
        "cause_since": reading.cause_since and reading.cause_since.isoformat(),
        "more": reading.more,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value and {key: getattr(value, key) for key in KEYS[type(value)]}


def _read(kept: Mapping[str, Any], *, model: type) -> Reading[Any]:
    value = kept["value"]
    return Reading(
        value=tuple(_model(one, model) for one in value)
        if isinstance(value, list)
        else value and _model(value, model),
        read_at=_time(kept["read_at"]),
        error=kept["error"],
        failed_since=_time(kept["failed_since"]),
        failed_at=_time(kept.get("failed_at")),
        cause=str(kept.get("cause", "")),
        cause_since=_time(kept.get("cause_since")),
        more=kept.get("more") is True,
    )


def _model(kept: Any, model: type) -> Any:
    if isinstance(kept, model):
        return kept
    return model(**{key: kept[key] for key in KEYS[model] if key in kept})


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _budget(kept: Mapping[str, Any] | None) -> BudgetState | None:
    known = {f.name for f in fields(BudgetState)}
    return BudgetState(**{key: value for key, value in kept.items() if key in known}) if kept else None


LOOK_BACK = timedelta(days=365)
"""The counts of a young account begin within a period; one that sent before it has them for all of it."""
SATURDAY = 5


async def is_known_from(client: OutreachClient, first: date, *, priority: Priority = Priority.NORMAL) -> bool:
    """Whether anything was sent by the first working day of a period, or in the year before. Raises `OutreachError`."""
    rows = await client.stats(start=first - LOOK_BACK, end=first_working_day(first), priority=priority)
    return bool(totals(rows).sends)


def first_working_day(day: date) -> date:
    """The day, or the Monday after it: nothing may be sent at weekends, which says nothing about the age of an account."""
    return day if day.weekday() < SATURDAY else day + timedelta(days=7 - day.weekday())
