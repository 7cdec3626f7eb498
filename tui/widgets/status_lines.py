"""The lines above and below the panels: workspace and connection, verdict, alarms, keys."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Vertical

from shared.api.http.rate_limit import BudgetState
from shared.domain.card import Tone
from shared.domain.failures import which_failed
from shared.domain.local_zone import local
from shared.domain.workspace_verdict import InboxCounts
from shared.text.formats import show_exact_span
from shared.text.sanitize import visible
from tui.model.alarms import AlarmNotice
from tui.model.board import Board, Trouble
from tui.theme import formatting
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import TONE_INK, Glyphs, Ink, Piece
from tui.widgets.panel import LinkLine, TextLine

TRACK = 5
"""Cells of the heartbeat's track."""
GAUGE = 10


def heartbeat(beats: int, *, glyphs: Glyphs) -> list[Piece]:
    """A dot that moves one place with each successful read, and stands still otherwise."""
    place = beats % (2 * TRACK - 2) if beats else -1
    place = place if place < TRACK else 2 * TRACK - 2 - place
    return [
        (glyphs.beat if at == place else glyphs.rest, Ink.GOOD if at == place else Ink.FAINT)
        for at in range(TRACK)
    ]


def gauge(budget: BudgetState | None, *, now: datetime, glyphs: Glyphs, long: bool) -> list[Piece]:
    """How much of the key's rate was used in the last second, or until when the service wants silence."""
    if budget is None:
        return []
    wait = (budget.resumes_at or 0) - now.timestamp()
    if wait > 0:
        return [(f"{glyphs.warn} 429: paused for {wait:.0f} s", Ink.WARN)]
    used = min(GAUGE, round(budget.used_last_second / budget.rate * GAUGE)) if budget.rate else 0
    ink = Ink.WARN if used >= GAUGE - 1 else Ink.GOOD
    bar: list[Piece] = [(glyphs.full * used, ink), (glyphs.empty * (GAUGE - used), Ink.FAINT)]
    figure = f" {budget.used_last_second} of {budget.rate:g}/s"
    waiting = f", {budget.waiting} waiting" if budget.waiting else ""
    gauged: list[Piece] = bar if long else []
    return [
        ("budget", Ink.MUTED),
        (" ", Ink.MUTED),
        *gauged,
        ((figure + waiting).lstrip(" " if not long else ""), Ink.MUTED),
    ]


class TopLine(TextLine):
    """Whose account, whether it lives, what it may ask, and the time."""

    def __init__(self, *, glyphs: Glyphs, notice: str) -> None:
        super().__init__(id="top", ground="ground")
        self._glyphs = glyphs
        self._notice = visible(notice)

    def show(self, *, board: Board | None, workspace: str, beats: int, now: datetime, mode: str = "") -> None:
        width = self.size.width
        left: list[Piece] = [(" OUTREACH ", Ink.STRONG), (f" {visible(workspace)}", Ink.ACCENT)]
        if mode:
            left.append((f"  {mode}", Ink.WARN))
        if self._notice and width >= 100:
            left.append((f"   {self._notice}", Ink.MUTED))
        right: list[Piece] = [*heartbeat(beats, glyphs=self._glyphs), ("   ", Ink.FAINT)]
        if board and width >= 80:
            right += [
                *gauge(board.budget, now=now, glyphs=self._glyphs, long=width >= 120),
                ("   ", Ink.FAINT),
            ]
        zone = " %Z " if width >= 100 else " "
        right.append((local(now).strftime(f"%H:%M:%S{zone}"), Ink.TEXT))
        self.set_text(left, right)


class Verdict(ErrorBoundary, Vertical):
    """The first thing to read, in one line, and the spread of the inboxes under it."""

    DEFAULT_CSS = "Verdict { height: auto; padding: 0 1; background: $o-panel; }"

    def __init__(self, *, glyphs: Glyphs) -> None:
        super().__init__(id="verdict")
        self._glyphs = glyphs
        self.words = TextLine(id="verdict-words")
        self.spread = TextLine(id="verdict-spread")

    def compose(self) -> ComposeResult:
        yield self.words
        yield self.spread

    def show(self, board: Board, *, now: datetime, news: str = "") -> None:
        """The verdict, and what is new since the last look; a doubtful verdict is not painted as a good one."""
        verdict = board.verdict_at(now)
        stale = board.is_stale("inboxes", now)
        ink = Ink.MUTED if stale else TONE_INK[verdict.tone]
        left: list[Piece] = [
            (f"{self._glyphs.of(verdict.tone)} ", ink),
            (verdict.text, ink if stale else Ink.STRONG),
        ]
        if stale and verdict.tone is not Tone.UNKNOWN:
            left.append(("  as of the last read", Ink.WARN))
        right: list[Piece] = [(f"  {news} ", Ink.ACCENT)] if news and self.size.width >= 80 else []
        room = self.size.width - 5 - sum(cell_len(text) for text, _ in (*left, *right))
        if verdict.detail and (named := names_that_fit(visible(verdict.detail), room)):
            left.append((f"   {named}", Ink.MUTED))
        self.words.set_text(left, right)
        self.spread.set_text(spread(board.counts, glyphs=self._glyphs, room=self.size.width, stale=stale))


def names_that_fit(names: str, room: int) -> str:
    """Whole names separated by commas, as many as fit; none is cut in two."""
    parts = names.split(", ")
    while parts and cell_len(", ".join(parts)) > room:
        parts.pop()
    return ", ".join(parts)


BAR = 36
LEAST_BAR = 10


def spread(of: InboxCounts, *, glyphs: Glyphs, room: int, stale: bool = False) -> list[Piece]:
    """A bar of the inboxes by health, each part with its own pattern, and the numbers; the bar shrinks first."""
    parts = (
        (of.resting, "resting", "z" if glyphs.ascii else "░", Ink.STOPPED),
        (of.bad, "bad", "X" if glyphs.ascii else "▚", Ink.BAD),
        (of.at_risk, "at risk", "!" if glyphs.ascii else "▓", Ink.WARN),
        (of.unknown, "unknown", "?", Ink.UNKNOWN),
        (of.healthy, "healthy", "#" if glyphs.ascii else "█", Ink.GOOD),
    )
    if not of.all:
        return []
    numbers: list[Piece] = []
    for number, word, sign, ink in parts:
        if number:
            numbers += [("   ", Ink.FAINT), (sign, Ink.MUTED if stale else ink)]
            numbers += [(f" {number:,} ", Ink.TEXT), (word, Ink.MUTED)]
    width = min(BAR, room - 5 - sum(cell_len(text) for text, _ in numbers))
    bar: list[Piece] = []
    if width >= LEAST_BAR:
        cells = _cells(parts, of.all, width)
        bar = [(sign * cell, Ink.MUTED if stale else ink) for cell, (_, _, sign, ink) in cells]
    return [("  ", Ink.TEXT), *bar, *numbers]


_Part = tuple[int, str, str, Ink]


def _cells(parts: Sequence[_Part], whole: int, width: int) -> list[tuple[int, _Part]]:
    """Cells by share; what is there at all gets one, taken from the largest."""
    cells = [max(1, round(part[0] / whole * width)) if part[0] else 0 for part in parts]
    largest = cells.index(max(cells))
    cells[largest] += width - sum(cells)
    return list(zip(cells, parts, strict=True))


class Banner(TextLine):
    """What is wrong, since when, and from when the figures are; away when nothing is."""

    DEFAULT_CSS = "Banner { display: none; } Banner.-on { display: block; }"

    def __init__(self, *, glyphs: Glyphs) -> None:
        super().__init__(id="banner", ground="alarm")
        self._glyphs = glyphs

    def show(
        self,
        trouble: Trouble | None,
        *,
        now: datetime,
        alarm: AlarmNotice | None = None,
        notices: Sequence[str] = (),
    ) -> None:
        """Show unacknowledged alarms, else the service's trouble, else the dashboard's own problems."""
        self.set_class(trouble is not None or alarm is not None or bool(notices), "-on")
        if alarm:
            keys = "" if alarm.is_past else "  A: all  a: acknowledge "
            pieces = self._alarm(alarm, trouble, now)
            room = self.app.size.width  # its own is unknown while it is not shown
            if _width(pieces) + len(keys) > room:
                keys = "  A " if keys else ""
            if _width(pieces) + len(keys) > room:
                pieces = self._alarm(alarm, trouble, now, brief=True)
            self.set_text(pieces, [(keys, Ink.TEXT)])
        elif trouble:
            self.set_text(self._trouble(trouble, now))
        elif notices:
            self.set_text(
                [(f" {self._glyphs.warn} {_first(notices)}", Ink.STRONG)], [("a: dismiss ", Ink.TEXT)]
            )

    def _alarm(
        self, first: AlarmNotice, trouble: Trouble | None, now: datetime, *, brief: bool = False
    ) -> list[Piece]:
        more = f"  (and {first.others} more)" if first.others else ""
        if brief:
            more = f" +{first.others}" if first.others else ""
        if first.is_past:
            return [(f" {self._glyphs.bad} THEN  {first.text}{more}", Ink.STRONG)]
        if not first.is_on:
            return [(f" {self._glyphs.good} {first.text}{more}", Ink.STRONG)]
        if trouble and first.is_service:
            return [
                (f" {self._glyphs.bad} ALARM", Ink.STRONG),
                *self._trouble(trouble, now),
                (more, Ink.STRONG),
            ]
        return [(f" {self._glyphs.bad} {'' if brief else 'ALARM  '}{first.text}{more}", Ink.STRONG)]

    def _trouble(self, trouble: Trouble, now: datetime) -> list[Piece]:
        lasting = show_exact_span(now - trouble.since)
        what = trouble.cause if trouble.everything else which_failed(trouble.cause, trouble.sources)
        shown = (
            f"showing data from {formatting.moment(trouble.oldest, now=now)}"
            if trouble.oldest
            else "no data yet"
        )
        since = f"since {formatting.moment(trouble.since, now=now)} ({lasting})"
        return [
            (f" {self._glyphs.warn} {what} {since}; {shown}.  ", Ink.STRONG),
            (visible(trouble.reason), Ink.TEXT),
        ]


def _width(pieces: Sequence[Piece]) -> int:
    return sum(cell_len(text) for text, _ in pieces)


def _first(notices: Sequence[str]) -> str:
    return visible(notices[0]) + (f"  (and {len(notices) - 1} more)" if len(notices) > 1 else "")


class Tabs(LinkLine):
    """The panels by number where only some of them fit; a click goes to one."""

    DEFAULT_CSS = "Tabs { display: none; }"

    def __init__(self) -> None:
        super().__init__(id="tabs")

    def show(self, tabs: Sequence[tuple[str, str]], *, active: str) -> None:
        links: list[Sequence[Piece]] = []
        for number, (name, title) in enumerate(tabs, start=1):
            margin: list[Piece] = [(" ", Ink.MUTED)] if number == 1 else []
            ink = Ink.STRONG if name == active else Ink.MUTED
            links.append([*margin, (f"{number} ", Ink.ACCENT), (f"{title}  ", ink)])
        self.set_text(self.set_links(links))


class Foot(TextLine):
    """The keys that matter where the cursor is."""

    def __init__(self) -> None:
        super().__init__(id="foot", ground="ground")

    def show(self, keys: Sequence[tuple[str, str]]) -> None:
        pieces: list[Piece] = []
        room = self.size.width
        for key, word in keys:
            gap = "   " if pieces else " "
            room -= len(gap) + cell_len(key) + 1 + len(word)
            if room < 0:
                break
            pieces += [(gap, Ink.MUTED), (key, Ink.ACCENT), (f" {word}", Ink.MUTED)]
        self.set_text(pieces)


HINT = ((", .", " turn  "), ("0", " all "))
"""Keys and what they do, where there is room to say it."""


class WorkspaceBar(LinkLine):
    """A click goes to one; the one that is seen stands out."""

    DEFAULT_CSS = "WorkspaceBar { display: none; } WorkspaceBar.-on { display: block; }"

    def __init__(self, *, glyphs: Glyphs) -> None:
        super().__init__(id="workspace-bar")
        self._glyphs = glyphs

    def show(self, tones: Sequence[tuple[str, Tone]], *, here: str) -> None:
        """Each workspace with its tone; where not all names fit, only that of the one that is seen."""
        self.set_class(len(tones) > 1, "-on")
        names = {name: visible(name) for name, _ in tones}
        if sum(cell_len(name) + 5 for name in names.values()) >= self.size.width:
            names = {name: shown if name == here else "" for name, shown in names.items()}
        links: list[Sequence[Piece]] = []
        for name, tone in tones:
            edge = self._glyphs.focus if name == here else " "
            ink = Ink.STRONG if name == here else Ink.MUTED
            label = f" {names[name]}  " if names[name] else " "
            links.append([(edge, Ink.ACCENT), (self._glyphs.of(tone), TONE_INK[tone]), (label, ink)])
        pieces = self.set_links(links)
        self.set_text(pieces, self._hint(sum(cell_len(text) for text, _ in pieces)))

    def _hint(self, taken: int) -> Sequence[Piece]:
        hint = [piece for key, word in HINT for piece in ((key, Ink.ACCENT), (word, Ink.MUTED))]
        return hint if taken + sum(len(text) for text, _ in hint) < self.size.width else ()
