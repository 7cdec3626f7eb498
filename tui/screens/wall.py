"""The wall: read from three metres, turning by itself, and holding still where something is wrong.

No cursor and no keys but any, which goes back to hands. The whole picture moves by a cell now and then, so
that no line burns itself into the glass.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import Screen

from shared.domain.card import Tone
from tui.model import layout
from tui.model.alarms import AlarmNotice
from tui.model.board import Board
from tui.model.columns import INTERESTED, LISTS, RECORDED
from tui.model.lines import ChangeLine, DomainLine, Line
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import Glyphs, Ink, Piece
from tui.widgets.figures import HealthCounts, KeyFigures
from tui.widgets.panel import Panel, TextLine
from tui.widgets.status_lines import Banner, TopLine, Verdict

TURN = 12.0
"""Seconds for which a view is shown."""
SHIFT = 600.0
"""Seconds between movements of the whole picture."""
HEIGHTS = [(0, "-short"), (36, "-tall")]
VIEWS = ("domains", "sequences", "interested", "changes")
TITLES = {
    "domains": ("Domains", "No inboxes are connected."),
    "sequences": ("Sequences", "There are no sequences."),
    "interested": ("Interested", "Nobody is interested yet."),
    "changes": ("What changed", "Nothing has changed lately."),
}


def view_at(seconds: float, *, trouble: bool) -> str:
    return VIEWS[0] if trouble else VIEWS[int(seconds // TURN) % len(VIEWS)]


def burn_in_shift(seconds: float) -> tuple[int, int]:
    return ((0, 0), (1, 0), (1, 1), (0, 1))[int(seconds // SHIFT) % 4]


class WallScreen(ErrorBoundary, Screen[None]):
    """The board for people who pass by."""

    AUTO_FOCUS: ClassVar[str] = ""
    HORIZONTAL_BREAKPOINTS = layout.WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    def __init__(self, *, glyphs: Glyphs, workspace: str, notice: str, began: datetime) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._workspace = workspace
        self._began = began
        self._board: Board | None = None
        self._beats = 0
        self._notices: tuple[str, ...] = ()
        self.view = VIEWS[0]
        self._frame = Vertical(id="wall")
        self.top = TopLine(glyphs=glyphs, notice=notice)
        self.banner = Banner(glyphs=glyphs)
        self.verdict = Verdict(glyphs=glyphs)
        self.standing = HealthCounts(glyphs=glyphs)
        self.figures = KeyFigures(glyphs=glyphs)
        self.dots = TextLine(id="dots", ground="ground")
        self.panels = {
            name: Panel(f"wall-{name}", title=title, columns=LISTS[name], glyphs=glyphs, empty=empty)
            for name, (title, empty) in TITLES.items()
        }

    def compose(self) -> ComposeResult:
        with self._frame:
            yield self.top
            yield self.banner
            yield self.verdict
            yield self.standing
            yield self.figures
            yield from self.panels.values()
            yield self.dots

    def on_mount(self) -> None:
        for panel in self.panels.values():
            panel.grid.can_focus = False
            panel.grid.roomy = True
        self._turn()

    def show(
        self,
        board: Board,
        *,
        changes: tuple[ChangeLine, ...],
        beats: int,
        alarms: Sequence[AlarmNotice],
        now: datetime,
    ) -> None:
        self._board, self._beats = board, beats
        shown: dict[str, tuple[Sequence[Line], str]] = {
            "domains": (tuple(map(DomainLine, board.domains)), "inboxes"),
            "sequences": (board.sequences, "sequences"),
            "interested": (board.interested, "interested"),
        }
        self.panels["interested"].grid.exchange(
            RECORDED if any(line.reply for line in board.interested) else INTERESTED
        )
        for name, (lines, source) in shown.items():
            self.panels[name].show(lines, stamp=board.stamps.get(source), now=now)
        self.panels["changes"].show(changes, stamp=board.changes_stamp, now=now)
        self.tick(now, alarms=alarms, notices=self._notices)

    def move_to(self, workspace: str) -> None:
        self._workspace = workspace

    def tick(self, now: datetime, *, alarms: Sequence[AlarmNotice] = (), notices: Sequence[str] = ()) -> None:
        self._notices = tuple(notices)
        seconds = max(0.0, (now - self._began) / timedelta(seconds=1))
        self.top.show(board=self._board, workspace=self._workspace, beats=self._beats, now=now)
        trouble = self._board.trouble if self._board else None
        self.banner.show(trouble, alarms=alarms, notices=notices, now=now)
        if self._board:
            self.verdict.show(self._board, now=now)
            self.standing.show(self._board.counts, freshness=self._board.freshness("inboxes", now))
            self.figures.show(self._board.figures, freshness=self._board.freshness("sequence", now))
        for panel in self.panels.values():
            panel.tick(now)
        in_trouble = trouble is not None and self._board is not None and self._board.verdict.tone is Tone.BAD
        wanted = view_at(seconds, trouble=bool(alarms) or in_trouble)
        if wanted != self.view:
            self.view = wanted
            self._turn()
        right, down = burn_in_shift(seconds)
        self._frame.styles.padding = (down, 0, 0, right)

    def _turn(self) -> None:
        for name, panel in self.panels.items():
            panel.display = name == self.view
        dots: list[Piece] = [(" ", Ink.FAINT)]
        for name in VIEWS:
            here = name == self.view
            dots += [(self._glyphs.beat if here else self._glyphs.rest, Ink.ACCENT if here else Ink.FAINT)]
            dots.append((f" {TITLES[name][0].partition(',')[0]}   " if here else "  ", Ink.MUTED))
        self.dots.set_text(dots, [("any key: back to the board ", Ink.FAINT)])

    async def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if event.key == "a":
            await self.run_action("app.acknowledge")
        else:
            self.app.pop_screen()

    def on_click(self) -> None:
        self.app.pop_screen()
