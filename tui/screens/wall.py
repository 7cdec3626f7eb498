"""The wall: readable from three meters, rotating automatically, and stopping where something is wrong.

It has no cursor, and any key returns to the board. The whole picture moves by a cell now and then, to prevent
burn-in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical

from shared.domain.card import Tone
from shared.text.sanitize import visible
from tui.model.lists import layout
from tui.model.lists.columns import INTERESTED, LISTS, RECORDED
from tui.model.lists.lines import ChangeLine, Line
from tui.model.pages.page_status import PageStatus
from tui.model.workspace.board import Board
from tui.theme.error_boundary import SafeScreen
from tui.theme.palette import Glyphs, Ink, Piece
from tui.widgets.figures import HealthCounts, KeyFigures
from tui.widgets.panel import Panel, TextLine
from tui.widgets.status_lines import Banner, TopLine, Verdict, names_that_fit
from tui.widgets.trouble_block import TroubleBlock

TURN = 12.0
"""Seconds for which a view is shown."""
SHIFT = 600.0
"""Seconds between movements of the whole picture."""
HEIGHTS = [(0, "-short"), (36, "-tall")]
BESIDE = 28
"""Lines that everything else takes where the figures stand beside what is wrong."""
VIEWS = ("domains", "sequences", "interested", "changes")
TITLES = {
    "domains": ("Domains", "No inboxes are connected."),
    "sequences": ("Sequences", "No sequences yet."),
    "interested": ("Interested", "No interested leads yet."),
    "changes": ("Recent changes", "No recent changes."),
}


def view_at(seconds: float, *, trouble: bool, views: Sequence[str] = VIEWS) -> str:
    """The view of a moment, out of those that have something to show."""
    return VIEWS[0] if trouble or not views else views[int(seconds // TURN) % len(views)]


def trouble_parts(board: Board, *, since: str, now: datetime) -> tuple[str, ...]:
    """What a wall says in big letters: the two worst parts of the verdict, and since when; nothing where nothing can't send or is bad."""
    verdict = board.verdict_at(now)
    if verdict.tone is not Tone.BAD:
        return ()
    parts = [re.sub(r"(\d) of [\d,]+ (?=inbox)", r"\1 ", part) for part in verdict.text.split(" · ")[:2]]
    parts = [re.sub(r"^1 inboxes", "1 inbox", part) for part in parts]
    return (*parts, f"since {since}") if since else tuple(parts)


def troubled_domains(board: Board) -> tuple[str, ...]:
    """Those that the block is about: paused ones, else those with inboxes that can't send or are bad."""
    paused = tuple(one.domain for one in board.domains if one.paused)
    return paused or tuple(one.domain for one in board.domains if one.resting or one.bad)


def burn_in_shift(seconds: float) -> tuple[int, int]:
    return ((0, 0), (1, 0), (1, 1), (0, 1))[int(seconds // SHIFT) % 4]


class WallScreen(SafeScreen[None]):
    """The board for people who pass by."""

    AUTO_FOCUS: ClassVar[str] = ""
    HORIZONTAL_BREAKPOINTS = layout.WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    def __init__(self, *, glyphs: Glyphs, notice: str, began: datetime) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._began = began
        self._board: Board | None = None
        self._now = began
        self._status: PageStatus | None = None
        self._since = ""
        self.view = VIEWS[0]
        self._frame = Vertical(id="wall")
        self.top = TopLine(glyphs=glyphs, notice=notice)
        self.banner = Banner(glyphs=glyphs)
        self.verdict = Verdict(glyphs=glyphs)
        self.standing = HealthCounts(glyphs=glyphs)
        self.figures = KeyFigures(glyphs=glyphs)
        self.trouble_block = TroubleBlock(glyphs=glyphs)
        self.dots = TextLine(id="dots", ground="ground")
        self.panels = {
            name: Panel(f"wall-{name}", title=title, columns=LISTS[name], glyphs=glyphs, empty=empty)
            for name, (title, empty) in TITLES.items()
        }

    def compose(self) -> ComposeResult:
        with self._frame:
            yield self.top
            yield self.banner
            yield self.trouble_block
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

    def on_resize(self) -> None:
        """Much depends on the size, which a screen that was just opened does not know yet."""
        if status := self._status:
            self.call_after_refresh(lambda: self.tick(status))

    def show(
        self,
        board: Board,
        *,
        changes: tuple[ChangeLine, ...],
        status: PageStatus,
        since: str = "",
    ) -> None:
        """Another board; `since` is when the oldest trouble of it began."""
        self._board, self._since, now = board, since, status.now
        shown: dict[str, tuple[Sequence[Line], str]] = {
            "domains": (board.domain_lines, "inboxes"),
            "sequences": (board.sequences, "sequences"),
            "interested": (board.interested, "interested"),
        }
        self.panels["interested"].grid.exchange(
            RECORDED if any(line.reply for line in board.interested) else INTERESTED
        )
        for name, (lines, source) in shown.items():
            self.panels[name].show(lines, stamp=board.stamps.get(source), now=now)
        self.panels["changes"].show(changes, stamp=board.changes_stamp, now=now)
        self.tick(status)

    def tick(self, status: PageStatus) -> None:
        """A second has passed: ages, alarm, clock, and perhaps the next view."""
        self._status, self._now, now = status, status.now, status.now
        seconds = max(0.0, (now - self._began) / timedelta(seconds=1))
        self.top.show(status)
        trouble = self._board.trouble if self._board else None
        self.banner.show(trouble, alarm=status.alarm, notices=status.notices, now=now)
        if self._board:
            self.verdict.show(self._board, now=now)
            self.standing.show(self._board.counts, freshness=self._board.freshness("inboxes", now))
            self.figures.show(self._board.figures, freshness=self._board.freshness("sequence", now), now=now)
            self._show_trouble(self._board, now)
        for panel in self.panels.values():
            panel.tick(now)
        in_trouble = self._board is not None and self._board.verdict.tone is Tone.BAD
        filled = [name for name in VIEWS if self.panels[name].grid.shown]
        is_held = in_trouble or status.alarm is not None
        wanted = view_at(seconds, trouble=is_held, views=filled)
        if wanted != self.view:
            self.view = wanted
            self._turn()
        right, down = burn_in_shift(seconds)
        self._frame.styles.padding = (down, 0, 0, right)

    def _show_trouble(self, board: Board, now: datetime) -> None:
        """Instead of the verdict and the figures of 30 days."""
        parts, size = trouble_parts(board, since=self._since, now=now), self.size
        names = names_that_fit(", ".join(map(visible, troubled_domains(board))), size.width - 8)
        self.trouble_block.show(parts, tone=Tone.BAD, width=size.width, height=size.height // 2, detail=names)
        self.verdict.display = not parts
        block = self.trouble_block.styles.height
        taken = (int(block.value) if block else 0) + len(board.domains) * 2 + BESIDE
        self.figures.display = not parts or size.height >= taken

    def _turn(self) -> None:
        for name, panel in self.panels.items():
            panel.display = name == self.view
        dots: list[Piece] = [(" ", Ink.FAINT)]
        for name in VIEWS:
            if name != self.view and not self.panels[name].grid.shown:
                continue
            here = name == self.view
            dots += [(self._glyphs.beat if here else self._glyphs.rest, Ink.ACCENT if here else Ink.FAINT)]
            dots.append((f" {TITLES[name][0].partition(',')[0]}   " if here else "  ", Ink.MUTED))
        self.dots.set_text(dots, [("press any key to return to the board ", Ink.MUTED)])

    async def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if event.key == "a":
            await self.run_action("app.acknowledge")
        else:
            self.dismiss(None)

    def on_click(self) -> None:
        self.dismiss(None)
