"""All workspaces at once, with keys or as a wall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message

from shared.domain.card import Tone
from tui.feed.workspace_state import WorkspaceState
from tui.model.input.keys import EVERYTHING, bindings, common, foot_of
from tui.model.lists.lines import PageRef, Stamp
from tui.model.pages.page_status import PageStatus
from tui.model.workspace.all_workspaces import (
    EVERYWHERE,
    WORKSPACES,
    EverywhereLine,
    WorkspaceLine,
    headed,
    workspace_line,
    worst,
)
from tui.screens.headed import HeadedScreen
from tui.screens.wall import burn_in_shift
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import Glyphs
from tui.widgets.figures import HealthCounts
from tui.widgets.line_table import LineTable
from tui.widgets.panel import Panel, TextLine
from tui.widgets.status_lines import Foot

UNREAD = Stamp(interval=0)
GROUNDS = {Tone.BAD: "alarm", Tone.WARN: "caution"}
"""A tile is colored whole, so that it is seen from across the room."""
EACH = 10
"""Lines for a workspace in numerals."""


class WorkspaceTile(ErrorBoundary, Vertical):
    """A workspace on a wall: its name, verdict and age over numerals that are read from three meters."""

    DEFAULT_CSS = "WorkspaceTile { height: 9; margin: 1 1 0 1; } WorkspaceTile HealthCounts { margin: 0; }"

    def __init__(self, number: int, *, glyphs: Glyphs) -> None:
        super().__init__()
        self._glyphs = glyphs
        self.head = TextLine()
        self.standing = HealthCounts(glyphs=glyphs, id=f"standing-{number}")

    def compose(self) -> ComposeResult:
        yield self.head
        yield self.standing

    def show(self, line: WorkspaceLine) -> None:
        self.head.set_text(*headed(line, glyphs=self._glyphs))
        self.standing.show(line.verdict.counts, freshness=line.freshness)
        for part in (self.head, self.standing):
            part.tint(GROUNDS.get(line.tone, "panel"))


class AllWorkspacesScreen(HeadedScreen[None]):
    """Each workspace with its verdict, and below them the worst inboxes of all; a wall needs no keys."""

    keys = EVERYTHING
    AUTO_FOCUS: ClassVar[str] = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "other_list", show=False, priority=True),
        *bindings(EVERYTHING, group="everything"),
        *bindings(common(EVERYTHING)),
    ]

    @dataclass
    class Entered(Message):
        """A workspace was opened, or one of its inboxes."""

        state: WorkspaceState
        ref: PageRef | None = None

    def __init__(self, *, glyphs: Glyphs, now: Callable[[], datetime], wall: bool) -> None:
        super().__init__(glyphs=glyphs)
        self._glyphs = glyphs
        self._now = now
        self._began = now()
        self.is_wall = wall
        self.set_class(wall, "-wall")
        self._states: Sequence[WorkspaceState] = ()
        self._frame = Vertical(id="everything")
        self.foot = Foot()
        self.workspaces = Panel(
            "workspaces", title="Workspaces", columns=WORKSPACES, glyphs=glyphs, empty="None."
        )
        self.inboxes = Panel(
            "everywhere",
            title="All inboxes, worst first",
            columns=EVERYWHERE,
            glyphs=glyphs,
            empty="No inboxes are connected.",
        )

    def compose(self) -> ComposeResult:
        with self._frame:
            yield self.head
            yield self.workspaces
            yield self.inboxes
            yield self.foot

    def on_mount(self) -> None:
        for panel in (self.workspaces, self.inboxes):
            panel.grid.can_focus = not self.is_wall
        self.workspaces.grid.roomy = True
        self.foot.display = not self.is_wall
        if not self.is_wall:
            self.workspaces.grid.focus()

    def on_resize(self) -> None:
        self.call_after_refresh(lambda: self.foot.show(foot_of(self.keys_here)))
        self._arrange()

    def _arrange(self) -> None:
        """On a wall numerals for each workspace where half of the screen holds them; else a list."""
        large = self.is_wall and 0 < len(self._states) * EACH <= self.size.height * 3 // 4
        self.workspaces.display = not large
        for one in self.query(WorkspaceTile):
            one.display = large

    def show(self, states: Sequence[WorkspaceState], *, status: PageStatus) -> None:
        now = status.now
        if self.is_wall and not self._states:
            self.mount_all(
                [WorkspaceTile(n, glyphs=self._glyphs) for n in range(len(states))], after=self.head
            )
        self._states = states
        self._arrange()
        self.workspaces.styles.height = min(2 * len(states) + 3, max(4, self.size.height // 2))
        boards = [(state.workspace, state.board) for state in states]
        stamps = [board.stamps["inboxes"] for _, board in boards if board]
        oldest = max(stamps, key=lambda stamp: stamp.freshness(now), default=None)
        self.inboxes.show(worst(boards), stamp=oldest or UNREAD, now=now)
        self.tick(status)

    def tick(self, status: PageStatus) -> None:
        """A second has passed: ages, clock, and on a wall the shift against burning in."""
        super().tick(status)
        now = status.now
        lines = tuple(workspace_line(s.workspace, s.board, now=now) for s in self._states)
        self.workspaces.show(lines, stamp=None, now=now)
        for line, one in zip(lines, self.query(WorkspaceTile), strict=False):  # none where there is a list
            one.show(line)
        if self.is_wall:
            right, down = burn_in_shift(max(0.0, (now - self._began) / timedelta(seconds=1)))
            self._frame.styles.padding = (down, 0, 0, right)

    # -- keys ------------------------------------------------------------------------------------------

    @property
    def grid(self) -> LineTable:
        return (self.inboxes if self.inboxes.grid.has_focus else self.workspaces).grid

    @on(LineTable.Picked)
    def _picked(self, event: LineTable.Picked) -> None:
        event.stop()
        line = event.line
        assert isinstance(line, WorkspaceLine | EverywhereLine)
        state = next(one for one in self._states if one.workspace == line.workspace)
        ref = PageRef(kind="inbox", key=line.line.key) if isinstance(line, EverywhereLine) else None
        self.dismiss(None)
        self.app.post_message(self.Entered(state, ref))

    @on(LineTable.Arranged)
    def _arranged(self) -> None:
        for panel in (self.workspaces, self.inboxes):
            panel.tick(self._now())

    def action_other_list(self) -> None:
        self.set_focus((self.workspaces if self.inboxes.grid.has_focus else self.inboxes).grid)

    def action_sort(self) -> None:
        self.grid.next_order()

    def action_problems(self) -> None:
        self.grid.toggle_problems()

    async def action_wall(self) -> None:
        self.dismiss(None)
        await self.run_action("app.all_workspaces(True)")

    def on_key(self, event: events.Key) -> None:
        """On a wall any key but the one for alarms brings the keys back."""
        if self.is_wall and event.key != "a":
            event.stop()
            event.prevent_default()
            self.dismiss(None)
