"""The frame: everything that a page may know, of one moment. Pure.

Order, start, cause and age of a trouble are worked out here and nowhere else, so that one trouble has one order, one
start and one cause on every page, on the wall and in `--once`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from shared.domain.card import Tone
from shared.domain.health import DomainHealth, Thresholds
from shared.domain.local_zone import local
from shared.domain.snapshot import Snapshot
from shared.domain.workspace_verdict import Condition
from shared.frozen import frozen
from shared.text.formats import show_count, show_some, show_span
from shared.text.sanitize import visible
from tui.model.alarms import Alarm, since_words
from tui.model.board import Board, Figure, unread
from tui.model.columns import SIGN, Column, below_all, number, score_bar, sign_of, text_column
from tui.model.happened import Mark
from tui.model.lines import Freshness, InboxLine, SequenceLine
from tui.theme.palette import SEEN, STOPPED, TONE_INK, Ink
from tui.theme.words import Piece, Words, clock, width_of

NAMED_CAUSES = 2
TIMELESS = frozenset({"troubles", "conditions", "alarms_on", "domain_lines"})
"""Properties that a frame works out once, and that are the same all day."""


@frozen
class DomainLine:
    """A domain as every page shows it: how it stands, why, and since when."""

    domain: DomainHealth
    state: str
    cause: str
    since: str
    started_at: datetime | None
    is_acknowledged: bool
    thresholds: Thresholds

    @property
    def key(self) -> str:
        return self.domain.domain

    @property
    def tone(self) -> Tone:
        return self.domain.tone

    @property
    def words(self) -> str:
        return f"{self.key} {self.state} {self.cause}"


@frozen
class Headline:
    """The verdict in one line: parts in the order in which they stand."""

    tone: Tone
    parts: tuple[str, ...]
    counts: Collection[str]
    """Parts that matter less than the others, and need the one before: `21 of 60 inboxes not sending`, then `3 bad`."""
    is_stale: bool

    @property
    def text(self) -> str:
        return " · ".join(self.parts)

    @property
    def weight(self) -> int:
        """The number of parts that aren't mere counts: what is wrong, since when and why."""
        return sum(part not in self.counts for part in self.parts)

    def fitted(self, room: int) -> Headline:
        """The parts that matter most, as many as fit whole; the first one always."""
        kept = self.parts[:1]
        for part in sorted(self.parts[1:], key=lambda part: part in self.counts):
            more = tuple(other for other in self.parts if other in {*kept, part})
            if len(replace(self, parts=more).text) <= room:
                kept = more
            # A count says nothing without the one before it: the first that has no room ends them.
            elif part in self.counts:
                break
        return replace(self, parts=kept)


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A workspace at a moment: now, or in the past."""

    board: Board
    now: datetime
    """The time of what is shown: no page asks another clock."""
    changes: tuple[Mark, ...] = ()
    alarms: tuple[Alarm, ...] = ()
    is_past: bool = False
    notices: tuple[str, ...] = ()
    """Problems of the dashboard itself."""
    mode: str = ""
    """`read-only`, a command that runs, or which moment is shown."""
    only_reads: bool = False

    @classmethod
    def empty(cls, workspace: str, *, now: datetime) -> Frame:
        return cls(board=unread(workspace), now=now)

    def after(self, before: Frame | None) -> Frame:
        """Take over what was worked out for the frame of a second ago, where nothing but the time has moved on."""
        if before is None or before.board is not self.board or before.alarms is not self.alarms:
            return self
        if local(before.now).date() == local(self.now).date():
            vars(self).update({name: value for name, value in vars(before).items() if name in TIMELESS})
        return self

    @property
    def workspace(self) -> str:
        return self.snapshot.workspace

    @property
    def snapshot(self) -> Snapshot:
        return self.board.snapshot

    # -- what is wrong -----------------------------------------------------------------------------------

    @cached_property
    def troubles(self) -> tuple[Condition, ...]:
        """All troubles, the worst first; dated by their alarms where no history is recorded."""
        return tuple(self._dated(condition) for condition in self.board.conditions)

    def _dated(self, condition: Condition) -> Condition:
        alarm = self.alarms_on.get(condition.key)
        if condition.since or alarm is None or alarm.condition.kind != condition.kind:
            return condition
        return alarm.condition

    @cached_property
    def conditions(self) -> Mapping[str, Condition]:
        """Troubles by domain; the service's own trouble under an empty name."""
        return {condition.where: condition for condition in self.troubles if not condition.rule}

    @property
    def service(self) -> Condition | None:
        """The trouble of the service itself, where it can't be read."""
        return self.conditions.get("")

    @cached_property
    def alarms_on(self) -> Mapping[str, Alarm]:
        """Alarms by their key: a domain may have one of its own and those of guardrails."""
        return {alarm.key: alarm for alarm in self.alarms}

    @property
    def new_alarms(self) -> int:
        return sum(alarm.is_new for alarm in self.alarms)

    def since_of(self, condition: Condition | None) -> str:
        """`14:18`, `before 14:16`, or nothing where the start is unknown."""
        return since_words(condition, now=self.now) if condition else ""

    def lasting(self, condition: Condition) -> str:
        """`since 14:18 (20 min)`; without the length where it began before the first look."""
        if condition.since is None:
            return ""
        since = f"since {self.since_of(condition)}"
        if condition.is_start_unseen:
            return since
        return f"{since} ({show_span(self.now - condition.since)})"

    # -- domains -----------------------------------------------------------------------------------------

    @cached_property
    def domain_lines(self) -> tuple[DomainLine, ...]:
        """The worst first, in the one order that every page has."""
        return tuple(self._line_of(domain) for domain in self.board.verdict.domains)

    def _line_of(self, domain: DomainHealth) -> DomainLine:
        alarms = [alarm for alarm in self.alarms_on.values() if alarm.where == domain.domain]
        state, trouble = _state_of(domain), self.conditions.get(domain.domain)
        return DomainLine(
            domain=domain,
            state=state,
            cause=self._cause_of(domain, state) if domain.tone is not Tone.GOOD else "",
            since=self.since_of(trouble),
            started_at=trouble.since if trouble else None,
            is_acknowledged=bool(alarms) and not any(alarm.is_new for alarm in alarms),
            thresholds=self.board.thresholds,
        )

    def _cause_of(self, domain: DomainHealth, state: str) -> str:
        """Name the cause of a domain's state: by the service's word, its DNS, a guardrail, or its inboxes."""
        name, facts = domain.domain, self.board.domain_facts
        # Who knows best comes first: the service, then DNS, then our own rules, then the scores.
        if domain.paused and (pause := facts.pauses.get(name)) and pause.reason:
            return pause.reason
        if checks := facts.broken.get(name):
            return f"DNS: {', '.join(checks)}"
        for firing in self.snapshot.firings:
            if firing.domain == name.casefold():
                return f"guardrail {firing.rule}"
        if domain.paused:
            return "reason unknown"
        return "; ".join(domain.reasons).removeprefix(state).lstrip(",; ")

    def domain(self, name: str) -> DomainLine | None:
        return next((line for line in self.domain_lines if line.key == name), None)

    def inboxes_of(self, domain: str) -> tuple[InboxLine, ...]:
        """The worst first."""
        return self.board.inboxes_by_domain.get(domain, ())

    def sequence(self, key: str) -> SequenceLine | None:
        return next((line for line in self.board.sequences if line.key == key), None)

    def sequences_named(self, names: Iterable[str]) -> tuple[SequenceLine, ...]:
        """The sequences of the account with these names or ids, in that order; one name may be that of several."""
        lines: dict[SequenceLine, None] = {}
        for name in map(str.casefold, names):
            for line in self.board.sequences:
                if name in {line.sequence.label.casefold(), line.key.casefold()}:
                    lines[line] = None
        return tuple(lines)

    # -- age and verdict ---------------------------------------------------------------------------------

    def freshness(self, source: str) -> Freshness:
        return self.board.freshness(source, self.now)

    def age(self, source: str) -> str:
        """`12 s ago`, `late: 4 min ago`, `no response yet`."""
        return self.board.stamps[source].words(self.now)

    @cached_property
    def headline(self) -> Headline:
        """`3 of 9 domains paused · 21 of 60 inboxes not sending · since 14:18 · bounces`."""
        verdict = self.board.verdict_at(self.now)
        is_stale = self.freshness("inboxes") >= Freshness.LATE
        parts: list[str] = []
        if service := self.service:
            parts.append(f"{visible(service.text)} {self.lasting(service)}".strip())
            read_at = self.snapshot.inboxes.read_at
            parts.append(f"data from {clock(read_at, now=self.now)}" if read_at else "no data yet")
        first, *counts = verdict.text.split(" · ")
        parts += [first, *counts]
        if is_stale and not service and verdict.tone is not Tone.UNKNOWN:
            parts.append("as of the last read")
        of_domains = [condition for condition in self.troubles if condition.is_of_domain]
        if of_domains:
            # Of the worst kind of trouble, the first to begin.
            worst = [condition for condition in of_domains if condition.kind == of_domains[0].kind]
            since = self.since_of(
                min(worst, key=lambda condition: (condition.since is None, condition.since))
            )
            parts += filter(None, (since and f"since {since}", self._causes()))
        elif verdict.tone is Tone.UNKNOWN and verdict.detail and not service:
            parts.append(visible(verdict.detail))
        tone = Tone.BAD if service and verdict.tone is not Tone.UNKNOWN else verdict.tone
        return Headline(tone=tone, parts=tuple(parts), counts=counts, is_stale=is_stale)

    def _causes(self) -> str:
        """Name the causes of paused domains in a few words."""
        causes = {line.cause.partition(" (")[0]: None for line in self.domain_lines if line.domain.paused}
        return visible(show_some([*causes], NAMED_CAUSES))

    def figures(self, room: int) -> Words:
        """`Sends 35,441 ▲2% (full days) · today 1,208`, then the others; in a short form where the room is small."""
        figures = self.board.figures
        # The changes and today's numbers leave before any figure does.
        for is_long, count in ((True, len(figures)), *((False, n) for n in range(len(figures), 0, -1))):
            pieces: list[Piece] = []
            for figure in figures[:count]:
                pieces += [("   ", Ink.TEXT)] if pieces else []
                pieces += _figure(figure, is_long=is_long)
            if width_of(pieces) <= room:
                return Words(tuple(pieces))
        return Words()


def _figure(figure: Figure, *, is_long: bool) -> list[Piece]:
    pieces: list[Piece] = [(f"{figure.label} ", Ink.MUTED), (show_count(figure.value), Ink.STRONG)]
    if figure.rate:
        pieces.append((f" {figure.rate}", Ink.TEXT))
    if is_long and figure.change:
        ink = {"▲": Ink.GOOD, "▼": Ink.WARN}.get(figure.change[0], Ink.MUTED)
        days = " (full days)" if figure.sends is None else ""
        pieces += [(f" {figure.change}", ink), (days, Ink.MUTED)]
    if is_long and figure.today is not None:
        pieces += [(" · today ", Ink.MUTED), (show_count(figure.today), Ink.TEXT)]
    return pieces


def _state_of(domain: DomainHealth) -> str:
    if domain.paused:
        return "paused"
    for count, word in ((domain.resting, "resting"), (domain.bad, "bad"), (domain.at_risk, "at risk")):
        if count:
            return f"{count:,} {word}"
    return "unknown" if domain.unknown else "healthy"


def _sign(line: DomainLine, _: int) -> Sequence[Piece]:
    return ((STOPPED, Ink.STOPPED),) if line.domain.paused else sign_of(line)


def _cause(line: DomainLine, _: int) -> Sequence[Piece]:
    return ((f"{SEEN} " if line.is_acknowledged else "", Ink.MUTED), (visible(line.cause), Ink.TEXT))


def _since(line: DomainLine, width: int) -> Sequence[Piece]:
    """`before 14:16`, or `<14:16` where that doesn't fit."""
    since = line.since if len(line.since) <= width else line.since.replace("before ", "<")
    return ((since, Ink.MUTED),)


def _start(line: DomainLine) -> float:
    return line.started_at.timestamp() if line.started_at else float("inf")


DOMAINS = (
    Column(SIGN, "", 1, _sign),
    text_column("domain", "Domain", 20, lambda x: x.key, Ink.STRONG, least=14, grow=1),
    Column(
        "state", "State", 10, lambda x, _: ((x.state, TONE_INK[x.tone]),), least=9, sort=lambda x: x.state
    ),
    Column("cause", "Cause", 22, _cause, least=10, sort=lambda x: x.cause, grow=3),
    Column("since", "Since", 12, _since, least=6, sort=_start),
    Column(
        "lowest",
        "Lowest",
        11,
        lambda x, width: score_bar(x.domain.lowest, width, x.thresholds),
        sort=lambda x: below_all(x.domain.lowest),
        right=True,
        rank=1,
    ),
    number("inboxes", "Inboxes", lambda x: x.domain.inboxes, width=7, rank=2, ink=Ink.MUTED),
)
