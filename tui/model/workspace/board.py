"""Computes the board from a snapshot. Pure, so that it can run in a thread.

Ten thousand inboxes arrive with every poll, and almost all are unchanged: their lines are reused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from shared.api.models import Inbox, StatsRow
from shared.api.pace import BudgetState
from shared.domain import evidence, health, totals
from shared.domain.card import Tone
from shared.domain.failures import UNREACHABLE
from shared.domain.snapshot import SOURCES, ProblemStart, Snapshot
from shared.domain.wall_clock import moment
from shared.domain.workspace_verdict import (
    SERVICE,
    Condition,
    InboxCounts,
    WorkspaceVerdict,
    conditions_of,
    dated,
    judge_reading,
)
from tui.model.lists.lines import DomainLine, Freshness, InboxLine, LeadLine, SequenceLine, Stamp, StatsLine
from tui.theme import formatting

RANK = {tone: rank for rank, tone in enumerate(health.WORST_FIRST)}
STEP = 5
"""Health is ranked in steps of so much, so that small movements move no line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A big number: 30 days, today, a share of the sends, and the 30 days before."""

    label: str
    metric: str = ""
    """What of the statistics it counts."""
    value: int | None
    today: int | None = None
    sends: int | None = None
    """What the value is a share of; None for the sends themselves."""
    before: int | None = None
    """The value of the 30 days before."""
    days: tuple[int | None, ...] = ()
    """The last fortnight by day, today last."""
    capacity: int | None = None
    """Of the sends: the daily limits of all inboxes that may send."""
    compared: int | None = None
    """What it was at the same hour of the last comparable day, `compared_at`."""
    compared_at: datetime | None = None

    @property
    def rate(self) -> str:
        """`4.1 % ± 0.6` or `too few`; empty for the sends themselves, and where it is unknown."""
        return "" if self.share is None else evidence.show(self.value, self.sends)

    @property
    def share(self) -> float | None:
        return totals.rate(self.value, self.sends)

    @property
    def change(self) -> str:
        """`▲ 12 %` against the 30 days before, or that chance may be the reason."""
        return evidence.show_count_change(self.value, self.before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Something can't be read: since when, why by the latest failure, and from when the oldest figures are."""

    since: datetime
    cause: str
    reason: str
    sources: tuple[str, ...]
    oldest: datetime | None
    everything: bool
    """Nothing at all was read since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """Everything on the screen, of one moment."""

    workspace: str
    verdict: WorkspaceVerdict
    conditions: tuple[Condition, ...] = ()
    """What is wrong at this moment and worth an alarm."""
    figures: tuple[Figure, ...] = ()
    inboxes: tuple[InboxLine, ...] = ()
    sequences: tuple[SequenceLine, ...] = ()
    stats: Mapping[str, tuple[StatsLine, ...]] = field(default_factory=dict)
    interested: tuple[LeadLine, ...] = ()
    stamps: Mapping[str, Stamp] = field(default_factory=dict)
    """By source: inboxes, sequences, interested, today, previous, and each grouping."""
    trouble: Trouble | None = None
    budget: BudgetState | None = None
    thresholds: health.Thresholds = health.DEFAULT
    snapshot: Snapshot | None = field(default=None, repr=False, compare=False)
    """What it was composed of."""
    trends: Mapping[str, tuple[float, ...]] | None = field(default=None, repr=False, compare=False)
    """Likewise: the health of inboxes over time."""

    @property
    def paused(self) -> str:
        """How many sequences are paused, in words; empty where none is."""
        count = sum(line.sequence.status == "paused" for line in self.sequences)
        return f"{count} paused" if count else ""

    @property
    def counts(self) -> InboxCounts:
        return self.verdict.counts

    @property
    def domains(self) -> tuple[health.DomainHealth, ...]:
        return self.verdict.domains

    @property
    def domain_lines(self) -> tuple[DomainLine, ...]:
        return tuple(DomainLine(domain, self.thresholds) for domain in self.domains)

    def freshness(self, source: str, now: datetime) -> Freshness:
        stamp = self.stamps.get(source)
        return stamp.freshness(now) if stamp else Freshness.NEVER

    def is_stale(self, source: str, now: datetime) -> bool:
        return self.freshness(source, now) >= Freshness.LATE

    @property
    def changes_stamp(self) -> Stamp | None:
        """The age of the list of changes: they are seen in what was read longest ago."""
        stamps = [self.stamps[name] for name in ("inboxes", "sequences") if name in self.stamps]
        return min(stamps, key=lambda one: (one.read_at is not None, one.read_at), default=None)

    def verdict_at(self, now: datetime) -> WorkspaceVerdict:
        """The verdict as far as its age allows: what was healthy when it was last read is unknown now."""
        stamp = self.stamps.get("inboxes")
        if self.verdict.tone is not Tone.GOOD or stamp is None or not self.is_stale("inboxes", now):
            return self.verdict
        read = f"Unknown since {formatting.moment(stamp.read_at, now=now)}" if stamp.read_at else "Unknown"
        then = self.verdict.text[0].lower() + self.verdict.text[1:].replace(" are healthy", " were healthy")
        return replace(
            self.verdict, tone=Tone.UNKNOWN, text=f"{read}: {then.replace(' is healthy', ' was healthy')}"
        )


def compose(
    snapshot: Snapshot,
    *,
    intervals: Mapping[str, float],
    before: Board | None = None,
    trends: Mapping[str, tuple[float, ...]] | None = None,
    thresholds: health.Thresholds = health.DEFAULT,
) -> Board:
    """The board of a snapshot; `intervals` in seconds by source.

    Of `before`, composed with the same thresholds, everything is kept that was made of the same values.
    """
    stats = {group: reading.value or () for group, reading in snapshot.stats.items()}
    was = before.snapshot if before else None
    same = {name for name in SOURCES if was and _value(was, name) is _value(snapshot, name) is not None}
    if before and "inboxes" in same:
        verdict, capacity = before.verdict, before.figures[0].capacity
    else:
        verdict = judge_reading(snapshot.inboxes, thresholds=thresholds)
        capacity = _capacity(snapshot.inboxes.value)
    if before and same.issuperset({"inboxes", "stats_inbox"}) and before.trends is trends:
        inboxes = before.inboxes
    else:
        inboxes = _inbox_lines(
            snapshot.inboxes.value or (),
            stats=stats.get("inbox", ()),
            trends=trends or {},
            thresholds=thresholds,
            before=before,
        )
    stamps = _stamps(snapshot, intervals=intervals)
    return Board(
        workspace=snapshot.workspace,
        verdict=verdict,
        conditions=conditions_of(snapshot, verdict),
        figures=_figures(snapshot, capacity),
        inboxes=inboxes,
        sequences=_sequence_lines(snapshot, stats=stats),
        stats={
            group: before.stats[group]
            if before and same.issuperset({"sequences", f"stats_{group}"})
            else _stats_lines(rows, group=group, snapshot=snapshot)
            for group, rows in stats.items()
        },
        interested=_interested_lines(snapshot),
        stamps=stamps,
        trouble=_trouble(stamps, starts=snapshot.problems),
        budget=snapshot.budget,
        thresholds=thresholds,
        snapshot=snapshot,
        trends=trends,
    )


def _value(snapshot: Snapshot, name: str) -> object:
    source = SOURCES[name]
    return (
        None if source.grouping and source.grouping not in snapshot.stats else snapshot.reading(source).value
    )


def unread(workspace: str) -> Board:
    return compose(Snapshot(workspace=workspace), intervals={})


def _inbox_lines(
    inboxes: Sequence[Inbox],
    *,
    stats: Sequence[StatsRow],
    trends: Mapping[str, tuple[float, ...]],
    thresholds: health.Thresholds,
    before: Board | None,
) -> tuple[InboxLine, ...]:
    """Worst first; lines that say the same as before are the same objects."""
    rows = {key: row for row in stats for key in (row.group, row.id) if key}
    lines = {line.key: line for line in before.inboxes} if before else {}

    def line_of(inbox: Inbox) -> InboxLine:
        row = (rows.get(inbox.id) if inbox.id else None) or rows.get(inbox.email)
        trend, old = trends.get(inbox.email, ()), lines.get(inbox.email)
        if old is None or (old.inbox is not inbox and old.inbox != inbox):  # nearly all are the same objects
            return InboxLine(inbox, health.verdict(inbox, thresholds=thresholds), row, trend, thresholds)
        same = (old.stats is row or old.stats == row) and (old.trend is trend or old.trend == trend)
        return old if same else InboxLine(inbox, old.verdict, row, trend, thresholds)

    made = {inbox.email: line_of(inbox) for inbox in inboxes}
    if len(made) != len(inboxes):
        return tuple(sorted(map(line_of, inboxes), key=_rank))
    # What stood in order before is put so again first: sorting that costs a tenth, in one piece of time.
    known = [made.pop(key) for key in lines if key in made]
    return tuple(sorted((*known, *made.values()), key=_rank))


def _rank(line: InboxLine) -> tuple[int, float, str]:
    score = line.inbox.health_score
    return RANK[line.verdict.tone], -1 if score is None else score // STEP, line.inbox.email


def _sequence_lines(
    snapshot: Snapshot, *, stats: Mapping[str, Sequence[StatsRow]]
) -> tuple[SequenceLine, ...]:
    """With the counts by id; where the service names none, by a name that only one sequence has."""
    found = stats.get("sequence", ())
    sequences = snapshot.sequences.value or ()
    given = (Counter(row.group for row in found), Counter(s.label for s in sequences))
    shared = {name for counted in given for name, times in counted.items() if times > 1}
    rows = {row.id or row.group: row for row in found}
    named = {row.group: row for row in found if row.group not in shared}
    ends = {one.sequence: one for one in snapshot.pauses or ()}
    return tuple(
        SequenceLine(
            s,
            rows.get(s.id) or named.get(s.label),
            pause=ends.get(s.id) if s.status == "paused" else None,
        )
        for s in sequences
    )


def _interested_lines(snapshot: Snapshot) -> tuple[LeadLine, ...]:
    """Those whose reply the bot has recorded first, the newest first; then the others as the service lists them."""
    recorded = {reply.email.lower(): reply for reply in reversed(snapshot.replies)}
    leads = snapshot.interested.value or ()
    lines = [LeadLine(lead, recorded.get((lead.email or "").lower())) for lead in leads]
    lines.sort(key=lambda line: -line.reply.received_at.timestamp() if line.reply else 0.0)
    return tuple(lines)


def _stats_lines(rows: Sequence[StatsRow], *, group: str, snapshot: Snapshot) -> tuple[StatsLine, ...]:
    names = {s.id: s.label for s in snapshot.sequences.value or ()} if group == "sequence" else {}
    lines = (_stats_line(row, names) for row in rows)
    if group in {"sequence", "inbox"}:
        return tuple(sorted(lines, key=lambda line: (-(line.stats.sends or 0), line.name)))
    return tuple(lines)


def _stats_line(row: StatsRow, names: Mapping[str, str]) -> StatsLine:
    """`names` by the id of a sequence, which a row has as its id, or as its group."""
    known = next((key for key in (row.id, row.group) if key in names), None)
    return StatsLine(row, row.group) if known is None else StatsLine(row, names[known], known)


def _figures(snapshot: Snapshot, capacity: int | None) -> tuple[Figure, ...]:
    by_sequence = snapshot.stats.get("sequence")
    rows = by_sequence.value if by_sequence else None
    now = totals.totals(rows) if rows is not None else StatsRow(group="")
    today = snapshot.today.value or StatsRow(group="")
    before = snapshot.previous.value or StatsRow(group="")

    labels = {"Sends": "sends", "Replies": "replies", "Positive": "positive_replies", "Meetings": "meetings"}
    return tuple(
        Figure(
            label=label,
            metric=name,
            value=getattr(now, name),
            today=getattr(today, name),
            sends=None if name == "sends" else now.sends,
            before=getattr(before, name),
            days=_days(snapshot, name),
            capacity=capacity if name == "sends" else None,
            compared=getattr(snapshot.daily.compared, name, None),
            compared_at=snapshot.daily.compared_at,
        )
        for label, name in labels.items()
    )


def _days(snapshot: Snapshot, name: str) -> tuple[int | None, ...]:
    """None for a day that is not known; nothing before any is."""
    if not (known := dict(snapshot.daily.days)):
        return ()
    first, last = min(known), max(known)
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    return (*(getattr(known.get(day), name, None) for day in days), getattr(snapshot.today.value, name, None))


def _capacity(inboxes: Sequence[Inbox] | None) -> int | None:
    """Of the inboxes that may send; unknown where one limit is."""
    if inboxes is None:
        return None
    return totals.total([inbox.daily_limit for inbox in inboxes if inbox.status != "resting"])


def _stamps(snapshot: Snapshot, *, intervals: Mapping[str, float]) -> dict[str, Stamp]:
    longest = max(intervals.values(), default=60.0)
    known = (s for s in SOURCES.values() if not s.grouping or s.grouping in snapshot.stats)
    names = {source.grouping or source.name: snapshot.reading(source) for source in known}
    return {name: Stamp.of(reading, interval=intervals.get(name, longest)) for name, reading in names.items()}


def with_starts(board: Board, starts: Sequence[ProblemStart]) -> Board:
    """The board with since when what is wrong has been so."""
    return replace(
        board,
        conditions=dated(board.conditions, starts),
        trouble=_trouble(board.stamps, starts=starts),
        snapshot=board.snapshot and replace(board.snapshot, problems=tuple(starts)),
    )


def _trouble(stamps: Mapping[str, Stamp], *, starts: Sequence[ProblemStart] = ()) -> Trouble | None:
    failing = {name: stamp for name, stamp in stamps.items() if stamp.failed_since}
    if not failing:
        return None
    since = min(stamp.failed_since for stamp in failing.values() if stamp.failed_since)
    latest = max(failing.values(), key=lambda stamp: stamp.failed_at or since)
    read = [stamp.read_at for stamp in failing.values() if stamp.read_at]
    answered = any(s.read_at and s.read_at > since and not s.failed_since for s in stamps.values())
    began = next((moment(one.since) for one in starts if one.key == SERVICE), since)
    return Trouble(
        since=min(began, since),
        cause=latest.cause or UNREACHABLE,
        reason=latest.error or "no answer",
        sources=tuple(failing),
        oldest=min(read, default=None),
        everything=not answered,
    )
