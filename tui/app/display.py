"""What is seen: a tick comes in as one message and is shown, on the board, on the wall, or not while the past is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import App
from textual.binding import BindingType
from textual.message import Message
from textual.worker import Worker, WorkerState

from shared.domain.health import DEFAULT, Thresholds
from shared.text.sanitize import visible
from tui.feed.history_access import HistoryAccess
from tui.feed.pending_changes import Confirmation, PendingChanges
from tui.feed.replay import Replay
from tui.feed.tick import Tick
from tui.feed.workspace_state import Feed, WorkspaceState
from tui.model import alarms
from tui.model.all_workspaces import workspace_line
from tui.model.board import unread
from tui.screens.all_workspaces import AllWorkspacesScreen
from tui.screens.board import BoardScreen
from tui.screens.detail_page import DetailScreen
from tui.screens.wall import WallScreen
from tui.system.own_errors import ErrorLog, OwnError
from tui.system.self_restart import CODE as RESTART
from tui.system.self_restart import RestartState, is_due
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, UNICODE, Glyphs, theme

logger = logging.getLogger(__name__)

STAGGER = 1.0
"""Seconds between the beginnings of workspaces, so that they do not begin at once."""
MOST_ALARMS = 20
NIGHT_FROM, NIGHT_UNTIL = 22, 6
"""Hours of the day where the wall hangs."""
THEMES = ("night", "day", "contrast")


def utc_now() -> datetime:
    return datetime.now(UTC)


class ShowingApp(ErrorBoundary, App[int]):
    """What is seen: boards as they come, the wall, alarms, other moments; `feed` and `hands` may be missing."""

    CSS_PATH: ClassVar[Path] = Path(__file__).parents[1] / "theme" / "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    @dataclass
    class Ticked(Message):
        """A new board, and whose; the first workspace's where nothing is said."""

        tick: Tick
        state: WorkspaceState | None = None

    def __init__(
        self,
        *,
        workspace: str,
        feed: Feed | None = None,
        pending_changes: PendingChanges | None = None,
        now: Callable[[], datetime] = utc_now,
        notice: str = "",
        glyphs: Glyphs = UNICODE,
        history: HistoryAccess | None = None,
        wall: bool = False,
        folder: Path | None = None,
        thresholds: Thresholds = DEFAULT,
        others: Sequence[WorkspaceState] = (),
        faults: ErrorLog | None = None,
    ) -> None:
        super().__init__()
        self.now = now
        self.here = WorkspaceState(
            workspace=workspace,
            feed=feed,
            pending_changes=pending_changes,
            history=history,
            thresholds=thresholds,
        )
        self.states = (self.here, *others)
        self._glyphs = glyphs
        self._wall_first = wall
        self._folder = folder
        self._faults = faults
        self._own_fault: OwnError | None = None
        self._seen = ""
        self._replay: Replay | None = None
        self.remapped: Mapping[str, Mapping[str, str]] = {}
        self._alarms: tuple[str, ...] = ()
        self.alarmed: Callable[[Sequence[str]], object] = lambda _: None
        """Told of each alarm as it goes off."""
        self.restart_at: time | None = None
        self.restart_state: RestartState | None = None
        """What the next process is to begin with, once this one ends for its sake."""
        self.continues = False
        """Whether the process before left its picture on the terminal."""
        self._began = now()
        self._day_theme = THEMES[0]
        self.board_screen = BoardScreen(glyphs=glyphs, workspace=workspace, notice=notice)
        self.wall = WallScreen(glyphs=glyphs, workspace=workspace, notice=notice, began=now())
        for name in PALETTES:
            self.register_theme(theme(name))
        self.theme = THEMES[0]

    def on_mount(self) -> None:
        """Show the empty board at once, then let the ticks come."""
        self.push_screen(self.board_screen)
        self.install_screen(self.wall, "wall")
        if self._wall_first:
            self._begin_on_the_wall()
        self.set_interval(1.0, self._second, name="clock")
        for number, state in enumerate(self.states):
            self.set_timer(number * STAGGER, partial(self._start, state)) if number else self._start(state)

    def _start(self, state: WorkspaceState) -> None:
        if state.feed:
            state.feed.start(lambda tick: self.post_message(self.Ticked(tick, state)))

    async def on_unmount(self) -> None:
        for state in self.states:
            if state.feed:
                await state.feed.aclose()

    # -- ticks in --------------------------------------------------------------------------------------

    @on(Ticked)
    def _ticked(self, message: Ticked) -> None:
        tick, state = message.tick, message.state or self.states[0]
        self._raise_alarms(tick, state)
        state.take(tick)
        if state.pending_changes:
            for proof in state.pending_changes.confirm(tick.snapshot):
                self._report(proof, state)
        if state is self.here:
            self._show()
        self._show_workspace_bar()
        self._show_everything()

    def _show_workspace_bar(self) -> None:
        """How the others stand is seen from each board."""
        if len(self.states) > 1 and self.board_screen.is_mounted:
            now = self.now()
            lines = [workspace_line(one.workspace, one.board, now=now) for one in self.states]
            standing = [(line.workspace, line.tone) for line in lines]
            self.board_screen.workspaces.show(standing, here=self.here.workspace)

    def _show_everything(self) -> None:
        """The screen of all workspaces, where it is the one that is seen."""

    def _show(self) -> None:
        """The live board, unless another moment is being looked at."""
        if self._replay or not self.board_screen.is_mounted:
            return
        board = self.here.board or unread(self.here.workspace)
        beats = self.here.last.beats if self.here.last else 0
        changed = tuple(self.here.changes)
        with self.batch_update():
            self.board_screen.show(board, changes=changed, beats=beats, now=self.now())
            if isinstance(self.screen, WallScreen) and self.screen.is_mounted:
                self.screen.show(board, changes=changed, beats=beats, alarms=self._alarms, now=self.now())
            elif isinstance(self.screen, DetailScreen) and self.screen.is_mounted:
                self.screen.show(board, changes=changed, beats=beats, now=self.now())

    def _second(self) -> None:
        """Ages and clocks; only of what can be seen."""
        self._restart_if_due()
        if isinstance(self.screen, WallScreen) and self.screen.is_mounted:
            self.screen.tick(self.now(), alarms=self._alarms, notices=self._notices())
            self._dim()
        elif isinstance(self.screen, AllWorkspacesScreen) and self.screen.is_mounted:
            self.screen.tick(self.now(), alarms=self._alarms)
            if self.screen.is_wall:
                self._dim()
        elif isinstance(self.screen, DetailScreen) and self.screen.is_mounted and not self._replay:
            self.screen.tick(self.now(), beats=self.here.last.beats if self.here.last else 0)
        elif self.board_screen.is_mounted:
            at = self._replay.at if self._replay else self.now()
            self.board_screen.tick(at, alarms=self._alarms, notices=self._notices())
            self._show_workspace_bar()

    def remap(self, keys: Mapping[str, str]) -> None:
        """Other keys, by `undo` (the board's) or `page.hours`; the foot line follows."""
        full = {name if "." in name else f"board.{name}": key for name, key in keys.items()}
        self.set_keymap(full)
        groups: dict[str, dict[str, str]] = {}
        for name, key in full.items():
            group, _, own = name.partition(".")
            groups.setdefault(group, {})[own] = key
        self.remapped = groups
        self.board_screen.remapped = groups.get("board", {})

    def use_theme(self, name: str) -> None:
        if name in PALETTES:
            self.theme = name

    # -- alarms and the wall ---------------------------------------------------------------------------

    def acknowledge(self) -> None:
        """Somebody has seen the alarms, or what is amiss with the dashboard itself."""
        if not self._alarms:
            self._own_fault, self._seen = None, self.here.history.notice if self.here.history else ""
        self._alarms = ()
        self._second()

    def _want_seen(self) -> None:
        self.acknowledge()

    def _raise_alarms(self, tick: Tick, state: WorkspaceState) -> None:
        """On the edge only: once told, it stays until seen, and is not told again."""
        found = alarms.new_alarms(state.last.board if state.last else None, tick.board)
        if len(self.states) > 1:
            found = tuple(f"{state.workspace}: {one}" for one in found)
        if found:
            self._alarms = (*found, *self._alarms)[:MOST_ALARMS]
            self.bell()
            self.alarmed(found)

    def resume(self, state: RestartState) -> None:
        self.continues = True
        self._alarms, self._wall_first = state.alarms, state.wall or self._wall_first
        self.use_theme(state.theme)

    def _restart_if_due(self) -> None:
        """At the quiet hour make way for a new process, unless somebody is being asked something."""
        on_wall = self.screen is self.wall
        if (on_wall or self.screen is self.board_screen) and is_due(
            self.restart_at, began=self._began, now=self.now()
        ):
            theme = self._day_theme if on_wall else self.theme
            self.restart_state = RestartState(wall=on_wall, theme=theme, alarms=self._alarms)
            self.exit(return_code=RESTART)

    def _begin_on_the_wall(self) -> None:
        self._want_wall()

    def _want_wall(self) -> None:
        self._day_theme = self.theme
        self.push_screen(self.wall, lambda _: self.use_theme(self._day_theme))
        self.wall.call_after_refresh(self._show)

    def _dim(self) -> None:
        """At night the wall is dimmed, unless somebody chose the day's colours."""
        hour = self.now().astimezone().hour
        night = hour >= NIGHT_FROM or hour < NIGHT_UNTIL
        wanted = "dimmed" if night and self._day_theme == "night" else self._day_theme
        if self.theme != wanted:
            self.theme = wanted

    def _report(self, proof: Confirmation, state: WorkspaceState) -> None:
        whose = "" if state is self.here else f"{state.workspace}: "
        label = whose + visible(proof.wish.sequence.label)
        if proof.holds:
            self.notify(f"{label} is {proof.status}; u takes it back", timeout=8, markup=False)
            return
        what = proof.status or "gone"
        self.notify(f"{label} is {what}, not {proof.wish.status}", severity="error", timeout=20, markup=False)

    # -- faults of our own -----------------------------------------------------------------------------

    def _notices(self) -> tuple[str, ...]:
        own = self._own_fault.words(self.now()) if self._own_fault else ""
        history = self.here.history.notice if self.here.history else ""
        return tuple(said for said in (own, history if history != self._seen else "") if said)

    def _handle_exception(self, error: Exception) -> None:
        """Once the screen stands, an exception costs one message, not the dashboard; before that it ends it."""
        if self._faults is None or not self.board_screen.is_mounted:
            super()._handle_exception(error)
            return
        self._own_fault = self._faults.note(error, now=self.now())

    @on(Worker.StateChanged)
    def _worker_ended(self, event: Worker.StateChanged) -> None:
        """A worker that failed is told, and the screen lives."""
        if event.state is WorkerState.ERROR and event.worker.error:
            logger.error("a worker failed", exc_info=event.worker.error)
            self.notify("That went wrong inside; the log tells more.", severity="error")
