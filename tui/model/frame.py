"""The frame: everything that a page may know, of one moment. Pure.

Order, start, cause and age of a trouble are worked out here and nowhere else, so that one trouble has one order, one
start and one cause on every page, on the wall and in `--once`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

from shared.domain.card import Tone
from shared.domain.health import DEFAULT, DomainHealth, Thresholds
from shared.domain.local_zone import local
from shared.domain.snapshot import Snapshot
from shared.domain.workspace_verdict import PAUSED, SERVICE, Condition
from shared.records.domains import DomainPast
from shared.text.formats import show_count, show_exact_span, show_number
from shared.text.sanitize import visible
from tui.model.alarms import Alarm, since_words
from tui.model.board import Board, Figure, unread
from tui.model.columns import SIGN, Column, known, score_bar, sign_of, text_of
from tui.model.lines import ChangeLine, Freshness, InboxLine, SequenceLine, Stamp
from tui.theme.palette import SEEN, SIGNS, STOPPED, TONE_INK, Ink
from tui.theme.words import Piece, Words, clock, width_of

NAMED_CAUSES = 2
COUNTS = 5
"""From here on parts of the verdict need the one before: `21 of 60 inboxes not sending`, then `3 bad`."""
TIMELESS = frozenset({"troubles", "conditions", "alarm_of", "ordered_alarms", "domain_lines"})
"""What a frame works out once, and which is the same all day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainLine:
    """A domain as every page shows it: how it stands, why, and since when."""

    domain: DomainHealth
    state: str
    cause: str
    since: str
    is_new: bool = False
    """Its alarm isn't acknowledged."""
    is_acknowledged: bool = False
    thresholds: Thresholds = DEFAULT

    @property
    def key(self) -> str:
        return self.domain.domain

    @property
    def tone(self) -> Tone:
        return self.domain.tone

    @property
    def words(self) -> str:
        return f"{self.key} {self.state} {self.cause}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The verdict in one line: parts in the order in which they stand, each with how much it matters (0: most)."""

    tone: Tone
    parts: tuple[tuple[str, int], ...]
    is_stale: bool = False

    @property
    def text(self) -> str:
        return " · ".join(text for text, _ in self.parts)

    def fitted(self, room: int) -> str:
        """The parts that matter most, as many as fit whole; the first one always."""
        kept = {0} if self.parts else set()
        for number in sorted(range(len(self.parts)), key=lambda n: self.parts[n][1]):
            if len(self._joined(kept | {number})) <= room:
                kept.add(number)
            elif self.parts[number][1] >= COUNTS:
                break
        return self._joined(kept)

    def _joined(self, kept: set[int]) -> str:
        return " · ".join(text for number, (text, _) in enumerate(self.parts) if number in kept)


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A workspace at a moment: now, or in the past."""

    board: Board
    now: datetime
    """The time of what is shown: no page asks another clock."""
    changes: tuple[ChangeLine, ...] = ()
    alarms: tuple[Alarm, ...] = ()
    is_past: bool = False
    notices: tuple[str, ...] = ()
    """Problems of the dashboard itself."""
    mode: str = ""
    """`read-only`, a command that runs, or which moment is shown."""
    beats: int = 0
    """Successful reads so far."""
    only_reads: bool = False
    used_at: datetime | None = None
    """When the dashboard was last used before a pause."""

    @classmethod
    def empty(cls, workspace: str, *, now: datetime) -> Frame:
        return cls(board=unread(workspace), now=now)

    def after(self, before: Frame | None) -> Frame:
        """With what was worked out for the frame of a second ago, where nothing but the time has moved on."""
        is_same = before and before.board is self.board and before.alarms is self.alarms
        if before and is_same and local(before.now).date() == local(self.now).date():
            kept = {name: value for name, value in vars(before).items() if name in TIMELESS}
            vars(self).update(kept)
        return self

    @property
    def workspace(self) -> str:
        return self.board.workspace

    @property
    def snapshot(self) -> Snapshot:
        return self.board.snapshot

    # -- what is wrong -------------------------------------------------------------------------------

    @cached_property
    def troubles(self) -> tuple[Condition, ...]:
        """What is wrong, the worst first; dated by its alarm where no history is recorded."""
        return tuple(self._dated(one) for one in self.board.conditions)

    def _dated(self, condition: Condition) -> Condition:
        alarm = self.alarm_of.get(condition.where)
        if condition.since or alarm is None or alarm.key != condition.key:
            return condition
        return replace(condition, since=alarm.text_since, began=alarm.since, is_older=alarm.since_or_earlier)

    @cached_property
    def conditions(self) -> Mapping[str, Condition]:
        """What is wrong by domain; the service's own trouble under an empty name."""
        found: dict[str, Condition] = {}
        for one in self.troubles:
            if one.is_of_domain or one.key == SERVICE:
                found.setdefault(one.where, one)
        return found

    @property
    def service(self) -> Condition | None:
        """Why the service can't be read."""
        return self.conditions.get("")

    @cached_property
    def alarm_of(self) -> Mapping[str, Alarm]:
        """Alarms that are on, by what they are about."""
        return {one.where: one for one in self.alarms if one.is_on}

    @cached_property
    def ordered_alarms(self) -> tuple[Alarm, ...]:
        """What is on in the order of the board, then what has recovered, the newest first."""
        places = {one.key: number for number, one in enumerate(self.board.conditions)}
        on = sorted(
            (one for one in self.alarms if one.is_on), key=lambda one: places.get(one.key, len(places))
        )
        return (*on, *(one for one in self.alarms if not one.is_on))

    @property
    def new_alarms(self) -> tuple[Alarm, ...]:
        return tuple(one for one in self.ordered_alarms if one.is_on and one.is_new)

    def since_of(self, condition: Condition | None) -> str:
        """`14:18`, `before 14:16`, or nothing where the start is unknown."""
        if condition is None:
            return ""
        is_older = condition.is_older and condition.since == condition.began
        return since_words(condition.since, is_older=is_older, now=self.now)

    def lasting(self, condition: Condition) -> str:
        """`since 14:18 (20 min)`; without the length where it began before the first look."""
        since = self.since_of(condition)
        if not since or condition.since is None:
            return ""
        length = show_exact_span(max(self.now - condition.since, timedelta()))
        return f"since {since}" + ("" if since.startswith("before") else f" ({length})")

    def cause_of(self, domain: DomainHealth) -> str:
        """Why a domain stands as it does: by the service's word, its DNS, a guardrail, or its inboxes."""
        facts = self.board.domain_facts
        if domain.paused and (past := facts.pasts.get(domain.domain)) and past.reason:
            return past.reason
        if checks := facts.broken.get(domain.domain):
            return f"DNS: {', '.join(checks)}"
        firing = next((one for one in self.snapshot.firings if one.label == domain.domain), None)
        if firing:
            return f"guardrail {firing.rule}"
        if domain.paused:
            return "reason unknown"
        return "; ".join(domain.reasons).removeprefix(_state_of(domain)).lstrip(",; ")

    # -- domains -------------------------------------------------------------------------------------

    @cached_property
    def domain_lines(self) -> tuple[DomainLine, ...]:
        """The worst first, in the one order that every page has."""
        return tuple(self._line_of(one) for one in self.board.domains)

    def _line_of(self, domain: DomainHealth) -> DomainLine:
        alarm = self.alarm_of.get(domain.domain)
        return DomainLine(
            domain=domain,
            state=_state_of(domain),
            cause=self.cause_of(domain) if domain.tone is not Tone.GOOD else "",
            since=self.since_of(self.conditions.get(domain.domain)),
            is_new=alarm is not None and alarm.is_new,
            is_acknowledged=alarm is not None and not alarm.is_new,
            thresholds=self.board.thresholds,
        )

    def domain(self, name: str) -> DomainLine | None:
        return next((line for line in self.domain_lines if line.key == name), None)

    def inboxes_of(self, domain: str) -> tuple[InboxLine, ...]:
        """The worst first."""
        return self.board.inboxes_by_domain.get(domain, ())

    def inbox(self, email: str) -> InboxLine | None:
        return next((line for line in self.inboxes_of(email.rpartition("@")[2]) if line.key == email), None)

    def sequence(self, key: str) -> SequenceLine | None:
        return next((line for line in self.board.sequences if line.key == key), None)

    def past_of(self, domain: str) -> DomainPast | None:
        return self.board.domain_facts.pasts.get(domain)

    def sequences_named(self, names: Iterable[str]) -> tuple[SequenceLine, ...]:
        """The sequences of the account with these names or ids, in that order; one name may be that of several."""
        wanted = {name.casefold(): number for number, name in enumerate(names)}
        found = [
            (place, line)
            for line in self.board.sequences
            for name in (line.sequence.label.casefold(), line.key.casefold())
            if (place := wanted.get(name)) is not None
        ]
        found.sort(key=lambda pair: pair[0])
        return tuple(dict.fromkeys(line for _, line in found))

    # -- age and verdict -----------------------------------------------------------------------------

    def stamp(self, source: str) -> Stamp | None:
        return self.board.stamps.get(source)

    def freshness(self, source: str) -> Freshness:
        return self.board.freshness(source, self.now)

    def age(self, source: str) -> str:
        """`12 s ago`, `late: 4 min ago`, `no response yet`."""
        stamp = self.stamp(source)
        return stamp.words(self.now) if stamp else "reading…"

    @cached_property
    def headline(self) -> Headline:
        """`3 of 9 domains paused · 21 of 60 inboxes not sending · since 14:18 · bounces`."""
        verdict = self.board.verdict_at(self.now)
        is_stale = self.freshness("inboxes") >= Freshness.LATE
        parts: list[tuple[str, int]] = []
        if service := self.service:
            parts.append((f"{visible(service.text)} {self.lasting(service)}".strip(), 0))
            stamp = self.stamp("inboxes")
            shown = f"data from {clock(stamp.read_at, now=self.now)}" if stamp and stamp.read_at else ""
            parts.append((shown or "no data yet", 1))
        first, *others = verdict.text.split(" · ")
        parts.append((first, 2))
        parts += [(text, COUNTS + number) for number, text in enumerate(others)]
        if is_stale and not service and verdict.tone is not Tone.UNKNOWN:
            parts.append(("as of the last read", 3))
        if worst := self._worst_condition():
            parts += [(f"since {since}", 3)] if (since := self.since_of(worst)) else []
            parts += [(cause, 4)] if (cause := self._causes(worst.kind)) else []
        elif verdict.tone is Tone.UNKNOWN and verdict.detail and not service:
            parts.append((visible(verdict.detail), 4))
        tone = Tone.BAD if service and verdict.tone is not Tone.UNKNOWN else verdict.tone
        return Headline(tone=tone, parts=tuple(parts), is_stale=is_stale)

    def _worst_condition(self) -> Condition | None:
        """The first to begin of the worst kind of trouble that any domain has."""
        of_domains = [one for one in self.troubles if one.is_of_domain]
        worst = [one for one in of_domains if one.kind == of_domains[0].kind]
        return min(worst, key=lambda one: (one.since is None, one.since), default=None)

    def _causes(self, kind: str) -> str:
        """Why, in a few words: the causes of the domains that stand worst."""
        found = [
            line.cause.partition(" (")[0]
            for line in self.domain_lines
            if (one := self.conditions.get(line.key)) and one.kind == kind
        ]
        causes = [cause for cause in dict.fromkeys(found) if cause]
        more = f" and {len(causes) - NAMED_CAUSES} more" if len(causes) > NAMED_CAUSES else ""
        return "" if kind != PAUSED else visible(", ".join(causes[:NAMED_CAUSES]) + more)

    @property
    def news(self) -> str:
        """`3 changes since 13:40`: what came while nobody used the dashboard."""
        since = self.used_at
        found = [line for line in self.changes if since and line.at > since]
        if not found or since is None:
            return ""
        return f"{show_number(len(found), 'change')} since {clock(since, now=self.now)}"

    def figures(self, room: int) -> Words:
        """`Sends 35,441 ▲2% (full days) · today 1,208`, then the others; in a short form where the room is small."""
        forms = [
            (True, len(self.board.figures)),
            *((False, n) for n in range(len(self.board.figures), 0, -1)),
        ]
        for is_long, number in forms:
            found = [_figure(figure, is_long=is_long) for figure in self.board.figures[:number]]
            pieces = [piece for figure in found for piece in (*figure, ("   ", Ink.TEXT))][:-1]
            if width_of(pieces) <= room:
                return Words(tuple(pieces))
        return Words()


def _figure(figure: Figure, *, is_long: bool) -> list[Piece]:
    pieces: list[Piece] = [(f"{figure.label} ", Ink.MUTED), (show_count(figure.value), Ink.STRONG)]
    if figure.rate:
        pieces.append((f" {figure.rate}", Ink.TEXT))
    if not is_long:
        return pieces
    if figure.change:
        is_up = figure.change.startswith("▲")
        tone = Ink.GOOD if is_up else Ink.WARN if figure.change.startswith("▼") else Ink.MUTED
        pieces.append((f" {figure.change}", tone))
        pieces += [(" (full days)", Ink.MUTED)] if figure.sends is None else []
    if figure.today is not None:
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
    if line.domain.paused:
        return ((STOPPED, Ink.STOPPED),)
    return sign_of(line)


def _cause(line: DomainLine, _: int) -> Sequence[Piece]:
    seen: Piece = (f"{SEEN} ", Ink.MUTED) if line.is_acknowledged else ("", Ink.MUTED)
    return (seen, (visible(line.cause), Ink.TEXT))


def _since(line: DomainLine, width: int) -> Sequence[Piece]:
    """`before 14:16`, or `<14:16` where that doesn't fit."""
    since = line.since if len(line.since) <= width else line.since.replace("before ", "<")
    return ((since, Ink.MUTED),)


DOMAINS = (
    Column(SIGN, "", 1, _sign),
    Column(
        "domain", "Domain", 20, text_of(lambda x: x.key, Ink.STRONG), least=14, sort=lambda x: x.key, grow=1
    ),
    Column(
        "state", "State", 10, lambda x, _: ((x.state, TONE_INK[x.tone]),), least=9, sort=lambda x: x.state
    ),
    Column("cause", "Cause", 22, _cause, least=10, sort=lambda x: x.cause, grow=3),
    Column("since", "Since", 12, _since, least=6, sort=lambda x: x.since),
    Column(
        "lowest",
        "Lowest",
        11,
        lambda x, width: score_bar(x.domain.lowest, width, x.thresholds),
        sort=lambda x: known(x.domain.lowest),
        right=True,
        rank=1,
    ),
    Column(
        "inboxes",
        "Inboxes",
        7,
        lambda x, _: ((f"{x.domain.inboxes:,}", Ink.MUTED),),
        sort=lambda x: x.domain.inboxes,
        right=True,
        rank=2,
    ),
)


def sign_words(tone: Tone) -> Piece:
    """The sign of a tone, before a text."""
    return (f"{SIGNS[tone]} ", TONE_INK[tone])
