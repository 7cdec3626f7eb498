"""What the dashboard shows, worked out from a snapshot. Pure, so that it can be done beside the event loop.

Ten thousand inboxes arrive with every poll and almost all are as before: their lines are taken over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from shared.api.http.rate_limit import BudgetState
from shared.api.models import Inbox, StatsRow
from shared.domain import health, reports
from shared.domain.card import Tone
from shared.domain.snapshot import SOURCES, Snapshot
from shared.text.formats import show_number
from tui.model.lines import Freshness, InboxLine, LeadLine, SequenceLine, Stamp, StatsLine

RANK = {tone: rank for rank, tone in enumerate(health.WORST_FIRST)}
STEP = 5
"""Health is ranked in steps of so much, so that small movements move no line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How many inboxes stand how."""

    healthy: int = 0
    at_risk: int = 0
    resting: int = 0
    unknown: int = 0

    @property
    def all(self) -> int:
        return self.healthy + self.at_risk + self.resting + self.unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The verdict in one line, and which domains it is about."""

    tone: Tone
    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A big number: 30 days, today, a share of the sends, and the change against the 30 days before."""

    label: str
    value: int | None
    today: int | None = None
    share: float | None = None
    change: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """The service does not answer: since when, why, and from when the oldest figures on the screen are."""

    since: datetime
    reason: str
    sources: tuple[str, ...]
    oldest: datetime | None
    everything: bool
    """Nothing at all was read since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """Everything on the screen, of one moment."""

    workspace: str
    headline: Headline
    spread: Spread = Spread()
    domains: tuple[health.DomainHealth, ...] = ()
    figures: tuple[Figure, ...] = ()
    inboxes: tuple[InboxLine, ...] = ()
    sequences: tuple[SequenceLine, ...] = ()
    stats: Mapping[str, tuple[StatsLine, ...]] = field(default_factory=dict)
    interested: tuple[LeadLine, ...] = ()
    stamps: Mapping[str, Stamp] = field(default_factory=dict)
    """By source: inboxes, sequences, interested, today, previous, and each grouping."""
    trouble: Trouble | None = None
    budget: BudgetState | None = None

    def is_stale(self, source: str, now: datetime) -> bool:
        stamp = self.stamps.get(source)
        return stamp is not None and stamp.freshness(now) >= Freshness.LATE


def compose(
    snapshot: Snapshot,
    *,
    intervals: Mapping[str, float],
    before: Board | None = None,
    trends: Mapping[str, tuple[float, ...]] | None = None,
    thresholds: health.Thresholds = health.DEFAULT,
) -> Board:
    """The board of a snapshot; `intervals` in seconds by source, `before` saves work for what did not change."""
    stats = {group: reading.value or () for group, reading in snapshot.stats.items()}
    inboxes = _inbox_lines(
        snapshot.inboxes.value or (),
        stats=stats.get("inbox", ()),
        trends=trends or {},
        thresholds=thresholds,
        before=before,
    )
    domains = health.roll_up(snapshot.inboxes.value or (), thresholds=thresholds)
    spread = _spread(inboxes)
    stamps = _stamps(snapshot, intervals=intervals)
    return Board(
        workspace=snapshot.workspace,
        headline=headline(snapshot, spread=spread, domains=domains),
        spread=spread,
        domains=domains,
        figures=_figures(snapshot),
        inboxes=inboxes,
        sequences=_sequence_lines(snapshot, stats=stats),
        stats={group: _stats_lines(rows, group=group, snapshot=snapshot) for group, rows in stats.items()},
        interested=tuple(LeadLine(lead) for lead in snapshot.interested.value or ()),
        stamps=stamps,
        trouble=_trouble(stamps),
        budget=snapshot.budget,
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
    rows = {row.group: row for row in stats}
    lines = {line.key: line for line in before.inboxes} if before else {}

    def line_of(inbox: Inbox) -> InboxLine:
        row, trend, old = rows.get(inbox.email), trends.get(inbox.email, ()), lines.get(inbox.email)
        if old is None or old.inbox != inbox:
            return InboxLine(inbox, health.verdict(inbox, thresholds=thresholds), row, trend)
        same = old.stats == row and old.trend == trend
        return old if same else InboxLine(inbox, old.verdict, row, trend)

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
    """With the counts by id, or by a name that only one sequence has: whose a shared one is, nobody can tell."""
    found = stats.get("sequence", ())
    sequences = snapshot.sequences.value or ()
    given = (Counter(row.group for row in found), Counter(s.label for s in sequences))
    shared = {name for counted in given for name, times in counted.items() if times > 1}
    rows = {row.group: row for row in found}
    return tuple(
        SequenceLine(s, rows.get(s.id) or (None if s.label in shared else rows.get(s.label)))
        for s in sequences
    )


def _stats_lines(rows: Sequence[StatsRow], *, group: str, snapshot: Snapshot) -> tuple[StatsLine, ...]:
    names = {s.id: s.label for s in snapshot.sequences.value or ()} if group == "sequence" else {}
    lines = (StatsLine(row, names.get(row.group, row.group)) for row in rows)
    if group in {"sequence", "inbox"}:
        return tuple(sorted(lines, key=lambda line: (-(line.stats.sends or 0), line.name)))
    return tuple(lines)


def _spread(lines: Iterable[InboxLine]) -> Spread:
    return Spread(**Counter(map(standing, lines)))


def standing(line: InboxLine) -> str:
    """The bucket of the spread that an inbox is counted in."""
    if line.verdict.word == "resting":
        return "resting"
    if line.verdict.tone is Tone.UNKNOWN:
        return "unknown"
    return "at_risk" if line.verdict.tone in {Tone.WARN, Tone.BAD} else "healthy"


def headline(snapshot: Snapshot, *, spread: Spread, domains: Sequence[health.DomainHealth]) -> Headline:
    if snapshot.inboxes.value is None:
        failed = snapshot.inboxes.error
        return Headline(
            tone=Tone.UNKNOWN,
            text="Nothing is known of the inboxes yet" if failed else "Reading the account…",
            detail="The service has not answered." if failed else "",
        )
    if not spread.all:
        return Headline(tone=Tone.INFO, text="No inboxes are connected to this workspace")
    return _judged(spread, domains=domains)


def _judged(spread: Spread, *, domains: Sequence[health.DomainHealth]) -> Headline:
    worst = [domain for domain in domains if domain.tone in {Tone.WARN, Tone.BAD}]
    worst.sort(key=lambda d: (RANK[d.tone], d.lowest if d.lowest is not None else -1, d.domain))
    named = ", ".join(domain.domain for domain in worst[:4])
    more = f" and {len(worst) - 4} more" if len(worst) > 4 else ""
    if spread.at_risk:
        are = "is" if spread.at_risk == 1 else "are"
        text = f"{spread.at_risk:,} of {show_number(spread.all, 'inbox')} {are} at risk"
        bad = any(domain.tone is Tone.BAD for domain in worst)
        return Headline(tone=Tone.BAD if bad else Tone.WARN, text=text, detail=named + more)
    if spread.unknown:
        unknown = show_number(spread.unknown, "inbox")
        return Headline(tone=Tone.UNKNOWN, text=f"{unknown} of unknown health", detail=named + more)
    if spread.resting:
        return Headline(
            tone=Tone.GOOD, text="All sending inboxes are healthy", detail=f"{spread.resting:,} resting"
        )
    return Headline(tone=Tone.GOOD, text=f"All {spread.all:,} inboxes are healthy", detail=named + more)


def _figures(snapshot: Snapshot) -> tuple[Figure, ...]:
    by_sequence = snapshot.stats.get("sequence")
    rows = by_sequence.value if by_sequence else None
    now = reports.totals(rows) if rows is not None else StatsRow(group="")
    today = snapshot.today.value or StatsRow(group="")
    before = snapshot.previous.value or StatsRow(group="")

    labels = {"Sends": "sends", "Replies": "replies", "Positive": "positive_replies", "Meetings": "meetings"}
    return tuple(
        Figure(
            label=label,
            value=getattr(now, name),
            today=getattr(today, name),
            share=None if name == "sends" else reports.rate(getattr(now, name), now.sends),
            change=reports.change(getattr(now, name), getattr(before, name)),
        )
        for label, name in labels.items()
    )


def _stamps(snapshot: Snapshot, *, intervals: Mapping[str, float]) -> dict[str, Stamp]:
    longest = max(intervals.values(), default=60.0)
    known = (s for s in SOURCES.values() if not s.grouping or s.grouping in snapshot.stats)
    names = {source.grouping or source.name: snapshot.reading(source) for source in known}
    return {name: Stamp.of(reading, interval=intervals.get(name, longest)) for name, reading in names.items()}


def _trouble(stamps: Mapping[str, Stamp]) -> Trouble | None:
    failing = {name: stamp for name, stamp in stamps.items() if stamp.failed_since}
    if not failing:
        return None
    first = min(failing.values(), key=lambda stamp: (stamp.failed_since is None, stamp.failed_since))
    assert first.failed_since
    read = [stamp.read_at for stamp in failing.values() if stamp.read_at]
    return Trouble(
        since=first.failed_since,
        reason=first.error or "no answer",
        sources=tuple(failing),
        oldest=min(read, default=None),
        everything=not any(stamp.read_at and stamp.read_at > first.failed_since for stamp in stamps.values()),
    )
