"""The lines above and below the panels: workspace and connection, verdict, alarms, keys."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Vertical

from shared.api.pace import BudgetState
from shared.domain.card import Tone
from shared.domain.failures import which_failed
from shared.domain.local_zone import local
from shared.domain.workspace_verdict import InboxCounts, WorkspaceVerdict
from shared.text.formats import show_exact_span
from shared.text.sanitize import visible
from tui.model.input.keys import FootKey
from tui.model.news.alarms import AlarmNotice
from tui.model.pages.page_status import PageStatus
from tui.model.workspace.board import Board, Trouble
from tui.theme import formatting
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import TONE_INK, Glyphs, Ink, Piece
from tui.widgets.panel import LinkLine, TextLine

TRACK = 5
"""Cells of the heartbeat's track."""
GAUGE = 10
LIMITS = 0.9
"""The share of the budget in use from which it limits what is read."""


def heartbeat(beats: int, *, glyphs: Glyphs) -> list[Piece]:
    """A dot that moves one place with each successful read, and stands still otherwise."""
    place = beats % (2 * TRACK - 2) if beats else -1
    place = place if place < TRACK else 2 * TRACK - 2 - place
    return [
        (glyphs.beat if at == place else glyphs.rest, Ink.GOOD if at == place else Ink.FAINT)
        for at in range(TRACK)
    ]


def gauge(budget: BudgetState | None, *, now: datetime, glyphs: Glyphs, long: bool) -> list[Piece]:
    """How far the key's rate limits the dashboard, or until when the service wants silence; nothing where neither does."""
    if budget is None:
        return []
    wait = (budget.resumes_at or 0) - now.timestamp()
    if wait > 0:
        return [(f"{glyphs.warn} 429: paused for {wait:.0f} s", Ink.WARN)]
    used = min(budget.used_last_second, budget.rate)
    if not budget.rate or not (budget.waiting or used >= LIMITS * budget.rate):
        return []
    cells = round(used / budget.rate * GAUGE)
    waiting = f", {budget.waiting} waiting" if budget.waiting else ""
    bar: list[Piece] = [(glyphs.full * cells, Ink.WARN), (glyphs.empty * (GAUGE - cells) + " ", Ink.FAINT)]
    return [
        ("budget ", Ink.MUTED),
        *(bar if long else ()),
        (f"{used:.2g} of {budget.rate:.2g}/s{waiting}", Ink.MUTED),
    ]


class TopLine(LinkLine):
    """Whose account and which page, whether it lives, what limits it, and the time with its zone."""

    def __init__(self, *, glyphs: Glyphs, notice: str = "") -> None:
        super().__init__(id="top")
        self._glyphs = glyphs
        self._notice = visible(notice)

    def show(self, status: PageStatus, *, path: Sequence[str] = ()) -> None:
        """The path goes on from the workspace; a click on a part of it goes there."""
        width, now = self.size.width, status.now
        gap: Piece = ("   ", Ink.FAINT)
        beat = [*heartbeat(status.beats, glyphs=self._glyphs), gap]
        clock: Piece = (local(now).strftime("%H:%M:%S %Z "), Ink.TEXT)
        budget = status.board.budget if status.board else None
        limit = gauge(budget, now=now, glyphs=self._glyphs, long=width >= 120)
        mode: list[Piece] = [(f"  {status.mode}", Ink.WARN)] if status.mode else []
        right = [*beat, *limit, gap, clock] if limit else [*beat, clock]
        links = self._path((status.workspace, *path), width - _width((*mode, *right)) - 1)
        if limit and sum(map(_width, links)) > width - _width((*mode, *right)) - 1:
            right = [*beat, clock]  # which page this is matters more
            links = self._path((status.workspace, *path), width - _width((*mode, *right)) - 1)
        left = [*self.set_links(links), *mode]
        if self._notice and width >= 100:
            left.append((f"   {self._notice}", Ink.MUTED))
        self.set_text(left, right)

    def _path(self, names: Sequence[str], room: int) -> list[list[Piece]]:
        """A link for each name; where they don't fit, those in the middle are left out, the highest first."""
        sign, more = (" > ", "~") if self._glyphs.ascii else (" › ", "…")
        last = len(names) - 1
        links: list[list[Piece]] = [[(" OUTREACH  ", Ink.STRONG), (visible(names[0]), Ink.ACCENT)]]
        links += [[(sign, Ink.MUTED), (visible(name), Ink.ACCENT)] for name in names[1:]]
        for number in range(1, last):
            if sum(map(_width, links)) <= room:
                break
            links[number] = [(f"{sign}{more}", Ink.MUTED)] if number == 1 else []
        return links


class Verdict(ErrorBoundary, Vertical):
    """The first thing to read, in one line, and the spread of the inboxes under it."""

    DEFAULT_CSS = "Verdict { height: auto; padding: 0 1; background: $o-panel; }"

    def __init__(self, *, glyphs: Glyphs, has_spread: bool = True) -> None:
        super().__init__(id="verdict")
        self._glyphs = glyphs
        self._has_spread = has_spread
        self.words = TextLine(id="verdict-words")
        self.spread = TextLine(id="verdict-spread")

    def compose(self) -> ComposeResult:
        yield self.words
        if self._has_spread:
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
        if verdict.detail and (named := _detail_that_fits(verdict, room)):
            left.append((f"   {named}", Ink.MUTED))
        self.words.set_text(left, right)
        self.spread.set_text(spread(board.counts, glyphs=self._glyphs, room=self.size.width, stale=stale))


def _detail_that_fits(verdict: WorkspaceVerdict, room: int) -> str:
    """The names of domains, or why nothing is known."""
    detail = visible(verdict.detail)
    if verdict.tone is Tone.UNKNOWN:
        return detail if cell_len(detail) <= room else ""
    return names_that_fit(detail, room)


def names_that_fit(names: str, room: int) -> str:
    """Whole names separated by commas, as many as fit, and how many more there are; none is cut in two."""
    parts = names.split(", ")
    for count in range(len(parts), 0, -1):
        more = f" and {len(parts) - count} more" if count < len(parts) else ""
        if cell_len(text := ", ".join(parts[:count]) + more) <= room:
            return text
    return ""


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
            numbers += [(f" {number:,} ", Ink.MUTED if stale else Ink.TEXT), (word, Ink.MUTED)]
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


KEYS = 4
"""Cells of the short form of the banner's keys."""


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
        is_urgent = trouble is not None or (alarm is not None and alarm.is_on)
        self.tint("alarm" if is_urgent else "panel" if alarm else "caution")
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
            self.set_text(self._trouble(trouble, now, room=self.app.size.width))
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
            return [(f" {self._glyphs.good} ", Ink.GOOD), (f"{first.text}{more}", Ink.TEXT)]
        if trouble and first.is_service:
            mark: Piece = (f" {self._glyphs.bad} ALARM", Ink.STRONG)
            room = self.app.size.width - _width([mark]) - len(more) - KEYS
            return [mark, *self._trouble(trouble, now, room=room), (more, Ink.STRONG)]
        return [(f" {self._glyphs.bad} {'' if brief else 'ALARM  '}{first.text}{more}", Ink.STRONG)]

    def _trouble(self, trouble: Trouble, now: datetime, *, room: int) -> list[Piece]:
        """What and since when; what is shown instead and the reason where they fit whole."""
        lasting = show_exact_span(now - trouble.since)
        what = trouble.cause if trouble.everything else which_failed(trouble.cause, trouble.sources)
        shown = (
            f"showing data from {formatting.moment(trouble.oldest, now=now)}"
            if trouble.oldest
            else "no data yet"
        )
        since = f"since {formatting.moment(trouble.since, now=now)} ({lasting})"
        pieces: list[Piece] = [(f" {self._glyphs.warn} {what} {since}", Ink.STRONG)]
        more: tuple[Piece, ...] = ((f"; {shown}.", Ink.STRONG), (f"  {visible(trouble.reason)}", Ink.TEXT))
        for one in more:
            if _width([*pieces, one]) > room:
                break
            pieces.append(one)
        return pieces


def _width(pieces: Sequence[Piece]) -> int:
    return sum(cell_len(text) for text, _ in pieces)


def _first(notices: Sequence[str]) -> str:
    return visible(notices[0]) + (f"  (and {len(notices) - 1} more)" if len(notices) > 1 else "")


class Tabs(LinkLine):
    """The panels by number where only some of them fit; a click goes to one."""

    DEFAULT_CSS = "Tabs { display: none; }"

    def __init__(self) -> None:
        super().__init__(id="tabs")

    def show(self, tabs: Sequence[tuple[int, str, str]], *, active: str) -> None:
        """Show each tab: its key, the name of what it opens, and its title."""
        links: list[Sequence[Piece]] = []
        narrow = sum(len(title) + 4 for _, _, title in tabs) - 1 > self.size.width
        for key, name, title in tabs:
            margin: list[Piece] = [(" ", Ink.MUTED)] if not links else []
            ink = Ink.STRONG if name == active else Ink.MUTED
            gap = "" if len(links) == len(tabs) - 1 else " " if narrow else "  "
            links.append([*margin, (f"{key} ", Ink.ACCENT), (f"{title}{gap}", ink)])
        self.set_text(self.set_links(links))


class Foot(LinkLine):
    """The keys that matter where the cursor is; a click presses one. Those that are always there stand last."""

    def __init__(self) -> None:
        super().__init__(id="foot")
        self._keys: list[FootKey] = []

    def show(self, keys: Sequence[FootKey]) -> None:
        always = [key for key in keys if key.always]
        room = self.size.width - sum(_width(_foot_pieces(key)) for key in always)
        shown = []
        for key in keys:
            if key.always:
                continue
            room -= _width(_foot_pieces(key))
            if room < 0:
                break
            shown.append(key)
        self._keys = [*shown, *always]
        pieces = [_foot_pieces(key, first=number == 0) for number, key in enumerate(self._keys)]
        self.set_text(self.set_links(pieces))

    def on_link_line_clicked(self, event: LinkLine.Clicked) -> None:
        event.stop()
        self.app.simulate_key(self._keys[event.number].key)


def _foot_pieces(key: FootKey, *, first: bool = False) -> list[Piece]:
    return [(" " if first else "   ", Ink.MUTED), (key.label, Ink.ACCENT), (f" {key.word}", Ink.MUTED)]


class StatusHead(ErrorBoundary, Vertical):
    """The first lines of every page: path and clock, the alarm or what can't be read, the verdict."""

    DEFAULT_CSS = "StatusHead { height: auto; }"

    def __init__(self, *, glyphs: Glyphs, notice: str = "") -> None:
        super().__init__()
        self.top = TopLine(glyphs=glyphs, notice=notice)
        self.banner = Banner(glyphs=glyphs)
        self.verdict = Verdict(glyphs=glyphs, has_spread=False)
        self._shown: tuple[PageStatus, tuple[str, ...]] | None = None

    def compose(self) -> ComposeResult:
        yield self.top
        yield self.banner
        yield self.verdict

    def show(self, status: PageStatus, *, path: tuple[str, ...] = ()) -> None:
        self._shown = status, path
        self.top.show(status, path=path)
        trouble = status.board.trouble if status.board else None
        self.banner.show(trouble, now=status.now, alarm=status.alarm, notices=status.notices)
        self.verdict.display = status.board is not None
        if status.board:
            self.verdict.show(status.board, now=status.now, news=status.news)

    def on_resize(self) -> None:
        if self._shown:
            status, path = self._shown
            self.call_after_refresh(lambda: self.show(status, path=path))


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
