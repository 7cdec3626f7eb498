"""Computes the board from a snapshot. Pure, so that it can run in a thread.

Ten thousand inboxes arrive with every poll, and almost all are unchanged: their lines are reused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from math import inf
from typing import Any

from shared.api.models import Inbox, StatsRow
from shared.domain import evidence, health
from shared.domain.card import Tone
from shared.domain.snapshot import SOURCES, ProblemStart, Snapshot
from shared.domain.workspace_verdict import (
    Condition,
    WorkspaceVerdict,
    conditions_of,
    dated,
    judge_domains,
    judge_reading,
)
from shared.frozen import frozen
from shared.records import DomainPast, DomainPause
from tui.model.lines import Freshness, InboxLine, SequenceLine, Stamp, StatsLine
from tui.theme.words import clock

RANK = {tone: rank for rank, tone in enumerate(health.WORST_FIRST)}
LABELS = {"Sends": "sends", "Replies": "replies", "Positive": "positive_replies", "Meetings": "meetings"}


@frozen
class Figure:
    """A number of the account: 30 days, today, its share of the sends, and its change."""

    metric: str
    label: str
    value: int | None
    today: int | None
    sends: int | None
    """The number that the value is a share of; None for the sends themselves."""
    change: str
    """`▲ 12%` of the full days against as many before; empty where chance may be the reason."""

    @property
    def rate(self) -> str:
        """`4.1 % ± 0.6` or `too few`; empty for the sends themselves, and where it is unknown."""
        share = evidence.share(self.value, self.sends)
        return "" if share is None else evidence.show(self.value, self.sends)


@frozen
class DomainFacts:
    """The bot's records of domains in trouble; nothing where its database isn't shared."""

    pasts: Mapping[str, DomainPast] = field(default_factory=dict)
    broken: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The checks of DNS that fail, by domain."""

    @property
    def pauses(self) -> Mapping[str, DomainPause]:
        """The pauses of domains that last, by the service's own words, which come before a poll sees it."""
        newest = {domain: past.pauses[0] for domain, past in self.pasts.items() if past.pauses}
        return {domain: pause for domain, pause in newest.items() if pause.recovered_at is None}

    def known_at(self, at: datetime) -> DomainFacts:
        """The pauses that had begun at a moment, as they stood then; counts and checks are of now, and left out."""
        pasts = {}
        for domain, past in self.pasts.items():
            begun = (pause for pause in past.pauses if pause.at <= at)
            pauses = tuple(
                replace(pause, recovered_at=None) if (pause.recovered_at or at) >= at else pause
                for pause in begun
            )
            reason = past.reason if pauses else ""
            pasts[domain] = DomainPast(reason=reason, pauses=pauses, sequences=past.sequences)
        return DomainFacts(pasts=pasts)


@frozen
class Board:
    """Everything that is known of a workspace at one moment."""

    verdict: WorkspaceVerdict
    conditions: tuple[Condition, ...]
    """The troubles of this moment, the worst first."""
    figures: tuple[Figure, ...]
    sequences: tuple[SequenceLine, ...]
    stamps: Mapping[str, Stamp]
    """By source: inboxes, sequences, interested, today, previous, and each grouping."""
    thresholds: health.Thresholds
    domain_facts: DomainFacts
    snapshot: Snapshot
    """The snapshot that it was composed of."""
    trends: Mapping[str, tuple[float, ...]] | None
    """The health of inboxes over time that it was composed of."""
    lines: Mapping[str, InboxLine]
    """The inboxes by address."""
    inboxes_by_domain: Mapping[str, tuple[InboxLine, ...]]

    @property
    def inboxes(self) -> tuple[InboxLine, ...]:
        """All, the worst first."""
        return tuple(sorted(self.lines.values(), key=rank_of))

    def stats_by(self, group: str) -> tuple[StatsLine, ...]:
        """The counts of one grouping; made when asked for, because few pages show them and inboxes are many.

        Rows are named after their sequences, whose id a row has as its id or its group; where there are many, the busiest
        come first.
        """
        names = {line.key: line.sequence.label for line in self.sequences} if group == "sequence" else {}
        lines = []
        for row in self.snapshot.stats[group].value or ():
            sequence = next((key for key in (row.id, row.group) if key in names), "") or ""
            lines.append(StatsLine(row, names.get(sequence, row.group), sequence))
        if group in {"sequence", "inbox"}:
            lines.sort(key=lambda line: (-(line.stats.sends or 0), line.name))
        return tuple(lines)

    def freshness(self, source: str, now: datetime) -> Freshness:
        return self.stamps[source].freshness(now)

    def verdict_at(self, now: datetime) -> WorkspaceVerdict:
        """The verdict as far as its age allows: what was healthy when it was last read is unknown now."""
        at, text = self.snapshot.inboxes.read_at, self.verdict.text
        if (
            at is None
            or self.verdict.tone is not Tone.GOOD
            or self.freshness("inboxes", now) < Freshness.LATE
        ):
            return self.verdict
        then = text[0].lower() + text[1:].replace(" are ", " were ").replace(" is ", " was ")
        return replace(self.verdict, tone=Tone.UNKNOWN, text=f"Unknown since {clock(at, now=now)}: {then}")


def compose(
    snapshot: Snapshot,
    *,
    intervals: Mapping[str, float],
    before: Board | None = None,
    trends: Mapping[str, tuple[float, ...]] | None = None,
    thresholds: health.Thresholds = health.DEFAULT,
    domain_facts: DomainFacts = DomainFacts(),  # frozen
) -> Board:
    """The board of a snapshot; `intervals` in seconds by source.

    Of `before`, composed with the same thresholds, everything is kept that was made of the same values.
    """
    # A source that was read again and says the same has the value of before, as the same object.
    same = {name for name in SOURCES if before and _is_same(before.snapshot, snapshot, name)}
    if before and same.issuperset({"inboxes", "stats_inbox"}) and before.trends is trends:
        lines, by_domain, verdict = before.lines, before.inboxes_by_domain, before.verdict
    else:
        lines = _inbox_lines(
            snapshot.inboxes.value or (),
            stats=snapshot.stats["inbox"].value or (),
            trends=trends or {},
            thresholds=thresholds,
            known=before.lines if before else {},
        )
        by_domain, verdict = _by_domain(lines, thresholds=thresholds, before=before)
    if snapshot.inboxes.value is None:
        verdict = judge_reading(snapshot.inboxes, thresholds=thresholds)
    return Board(
        verdict=verdict,
        conditions=conditions_of(snapshot, verdict),
        figures=_figures(snapshot),
        lines=lines,
        inboxes_by_domain=by_domain,
        sequences=_sequence_lines(snapshot),
        stamps=_stamps(snapshot, intervals=intervals),
        thresholds=thresholds,
        domain_facts=domain_facts,
        snapshot=snapshot,
        trends=trends,
    )


def _is_same(before: Snapshot, after: Snapshot, name: str) -> bool:
    source = SOURCES[name]
    return before.reading(source).value is after.reading(source).value


def unread(workspace: str) -> Board:
    return compose(Snapshot(workspace=workspace), intervals={})


def with_starts(board: Board, starts: Sequence[ProblemStart]) -> Board:
    """The board with since when what is wrong has been so."""
    return replace(
        board,
        conditions=dated(board.conditions, starts),
        snapshot=replace(board.snapshot, problems=tuple(starts)),
    )


def _inbox_lines(
    inboxes: Sequence[Inbox],
    *,
    stats: Sequence[StatsRow],
    trends: Mapping[str, tuple[float, ...]],
    thresholds: health.Thresholds,
    known: Mapping[str, InboxLine],
) -> Mapping[str, InboxLine]:
    """Give the inboxes by address; lines that say the same as before are the same objects."""
    rows = {key: row for row in stats for key in (row.group, row.id) if key}

    def line_of(inbox: Inbox) -> InboxLine:
        row = (rows.get(inbox.id) if inbox.id else None) or rows.get(inbox.email)
        trend, old = trends.get(inbox.email, ()), known.get(inbox.email)
        # Nearly all are the same objects.
        if old is None or (old.inbox is not inbox and old.inbox != inbox):
            return InboxLine(inbox, health.verdict(inbox, thresholds=thresholds), row, trend, thresholds)
        same = (old.stats is row or old.stats == row) and old.trend == trend
        return old if same else InboxLine(inbox, old.verdict, row, trend, thresholds)

    return {inbox.email: line_of(inbox) for inbox in inboxes}


def _by_domain(
    lines: Mapping[str, InboxLine], *, thresholds: health.Thresholds, before: Board | None
) -> tuple[Mapping[str, tuple[InboxLine, ...]], WorkspaceVerdict]:
    """The inboxes of each domain, the worst first, and the verdict; only what has changed is counted again."""
    before_lines = before.lines if before else {}
    by_domain = dict(before.inboxes_by_domain) if before else {}
    moved: dict[str, dict[str, InboxLine]] = {}
    for key in (
        *before_lines.keys() - lines.keys(),
        *(key for key, line in lines.items() if before_lines.get(key) is not line),
    ):
        domain = (lines.get(key) or before_lines[key]).inbox.domain
        # Only this domain is built anew; the tuples of all others stay the same objects.
        if domain not in moved:
            moved[domain] = {line.key: line for line in by_domain.pop(domain, ())}
        moved[domain].pop(key, None)
        if key in lines:
            moved[domain][key] = lines[key]
    for domain, own in moved.items():
        if own:
            by_domain[domain] = tuple(sorted(own.values(), key=rank_of))
    others = [domain for domain in (before.verdict.domains if before else ()) if domain.domain not in moved]
    changed = [line.inbox for own in moved.values() for line in own.values()]
    return by_domain, judge_domains(health.roll_up(changed, thresholds=thresholds, others=others))


def rank_of(line: InboxLine) -> tuple[int, float, str]:
    """The worst first, an unknown score before every known one of its tone."""
    score = line.inbox.health_score
    return RANK[line.verdict.tone], -inf if score is None else score, line.inbox.email


def _sequence_lines(snapshot: Snapshot) -> tuple[SequenceLine, ...]:
    """Match counts to sequences by id; where the service gives none, by a name that only one sequence has."""
    counted = snapshot.stats["sequence"].value or ()
    sequences = snapshot.sequences.value or ()
    given = (Counter(row.group for row in counted), Counter(s.label for s in sequences))
    # A name that two rows or two sequences have can't say which is which.
    shared = {name for counted in given for name, times in counted.items() if times > 1}
    rows = {row.id or row.group: row for row in counted}
    named = {row.group: row for row in counted if row.group not in shared}
    ends = {pause.sequence: pause for pause in snapshot.pauses or ()}
    return tuple(
        SequenceLine(
            s,
            rows.get(s.id) or named.get(s.label),
            pause=ends.get(s.id) if s.status == "paused" else None,
            is_namesake=given[1][s.label] > 1,
        )
        for s in sequences
    )


def _figures(snapshot: Snapshot) -> tuple[Figure, ...]:
    rows = snapshot.stats["sequence"].value
    now = evidence.totals(rows) if rows is not None else StatsRow(group="")
    today = snapshot.today.value or StatsRow(group="")
    before = snapshot.previous.value or StatsRow(group="")
    # Today isn't over: with it, every morning would look like a loss.
    full: dict[str, Any] = {}
    for name in LABELS.values():
        whole, part = getattr(now, name), getattr(today, name)
        full[name] = None if whole is None or part is None else whole - part
    return tuple(
        Figure(
            metric=name,
            label=label,
            value=getattr(now, name),
            today=getattr(today, name),
            sends=None if name == "sends" else now.sends,
            change=evidence.clear_change(StatsRow(group="", **full), before, name),
        )
        for label, name in LABELS.items()
    )


def _stamps(snapshot: Snapshot, *, intervals: Mapping[str, float]) -> dict[str, Stamp]:
    """The ages of all sources; one that is read at no interval, as in the past of a first minute, is never late."""
    names = {source.grouping or source.name: source for source in SOURCES.values()}
    return {
        name: Stamp(snapshot.reading(source), interval=intervals.get(name, inf))
        for name, source in names.items()
    }
