"""The Textual application: connects screens and collaborators, and dispatches keys and messages."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.app import App
from textual.binding import Binding
from textual.driver import Driver
from textual.message import Message
from textual.worker import Worker, WorkerState

from shared.commands import invocation
from shared.commands.guardrails import Guard
from shared.domain.themes import THEMES
from shared.text.sanitize import visible
from tui.app.commands import Commands
from tui.app.navigation import Navigation
from tui.app.own_errors import ErrorLog
from tui.app.presenter import Presenter, Ui
from tui.app.replay_control import ReplayControl
from tui.feed.poller import Tick
from tui.feed.workspace_state import Workspaces, WorkspaceState
from tui.model.input.keys import (
    ALARMS,
    INCIDENT,
    REPLIES,
    keys_by_group,
    page_card,
    page_help,
    panel_help,
    unknown_key_warnings,
)
from tui.model.pages.page_content import card_of, page, page_ref_of
from tui.screens import text_report
from tui.screens.alarms import AlarmsScreen, alarm_card
from tui.screens.all_workspaces import AllWorkspacesScreen
from tui.screens.board import BoardScreen
from tui.screens.detail_page import DetailScreen
from tui.screens.dialogs import CardDialog, ChoiceDialog, ConfirmDialog, HoursDialog
from tui.screens.headed import HeadedScreen
from tui.screens.prompt import Prompt
from tui.screens.replies import RepliesScreen
from tui.screens.wall import WallScreen
from tui.system.notifications import OFF, TerminalNotifier
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, UNICODE, Glyphs, theme
from tui.widgets.line_table import LineTable
from tui.widgets.panel import LinkLine

logger = logging.getLogger(__name__)

STAGGER = 1.0
"""Seconds between the starts of workspaces, so that they do not all read at once."""
AWAY = timedelta(minutes=2)
"""Without a key for so long, the next one asks what is new."""
FILTER_HINT = (
    "Words to match: acme status:resting !warming domain:meet. Enter keeps the filter, Esc clears it."
)
KEYED = (BoardScreen, DetailScreen, AllWorkspacesScreen, LineTable, CardDialog, ChoiceDialog, ConfirmDialog, HoursDialog,
         Prompt)  # fmt: skip
KEY_TABLES = {"alarms": ALARMS, "incident": INCIDENT, "replies": REPLIES}
"""Keys of pages that are loaded when they are opened."""
KEY_NAMES = {
    *(one.id or "" for where in KEYED for one in where.BINDINGS if isinstance(one, Binding)),
    *(f"{group}.{key.id}" for group, keys in KEY_TABLES.items() for key in keys if key.action),
}


def utc_now() -> datetime:
    return datetime.now(UTC)


class DashboardApp(ErrorBoundary, App[int]):
    """The dashboard of one or more workspaces; a workspace may lack a feed, a history and commands."""

    CSS_PATH: ClassVar[Path] = Path(__file__).parents[1] / "theme" / "app.tcss"
    ENABLE_COMMAND_PALETTE = False

    @dataclass
    class Ticked(Message):
        """A new board and its workspace; default: the first."""

        tick: Tick
        state: WorkspaceState | None = None

    def __init__(
        self,
        workspaces: Sequence[WorkspaceState],
        *,
        now: Callable[[], datetime] = utc_now,
        notice: str = "",
        glyphs: Glyphs = UNICODE,
        theme_name: str = "",
        only_theme: str = "",
        keys: Mapping[str, str] | None = None,
        wall: bool = False,
        folder: Path | None = None,
        error_log: ErrorLog | None = None,
        on_alarm: Callable[[Iterable[str]], object] = lambda _: None,
        notifier: TerminalNotifier | None = None,
        driver_class: type[Driver] | None = None,
    ) -> None:
        super().__init__(driver_class)
        self.now = now
        self.workspaces = Workspaces(workspaces)
        self.failure: Exception | None = None
        self._glyphs = glyphs
        self.set_class(glyphs.ascii, "-ascii")
        self._start_on_wall = wall
        self._folder = folder
        self._error_log = error_log
        self._last_input: datetime | None = None
        for name in PALETTES:
            self.register_theme(theme(name))
        self._themes = (only_theme,) if only_theme else THEMES
        self.theme = theme_name if theme_name in self._themes else self._themes[0]
        self._key_warnings = unknown_key_warnings(keys or {}, known=KEY_NAMES)
        self._keymap_by_group = keys_by_group(keys or {})
        self.set_keymap(
            {
                f"{group}.{name}": key
                for group, own in self._keymap_by_group.items()
                for name, key in own.items()
            }
        )
        current = self.workspaces.current.workspace
        board_keys, page_keys = self._remapped("board"), self._remapped("page")
        self.board_screen = BoardScreen(
            glyphs=glyphs, workspace=current, notice=notice, now=now, remapped=board_keys
        )
        self.wall = WallScreen(glyphs=glyphs, notice=notice, began=now())
        ui = Ui(
            app=self,
            workspaces=self.workspaces,
            board=self.board_screen,
            wall=self.wall,
            glyphs=glyphs,
            now=now,
        )
        self._notifier = notifier or TerminalNotifier(choice=OFF, environ={})
        self.presenter = Presenter(ui, on_alarm=on_alarm, notify=self._notifier.tell)
        self.replay = ReplayControl(ui, self.presenter)
        self.navigation = Navigation(
            ui=ui,
            presenter=self.presenter,
            replay=self.replay,
            page_keys=page_keys,
            incident_keys=self._remapped("incident"),
        )
        self.commands = Commands(ui=ui, presenter=self.presenter, replay=self.replay)
        # Keys that one collaborator carries out as they are; the other actions are methods below.
        self.action_pause_or_resume = self.commands.toggle_chosen
        self.action_pause_or_resume_shown = self.commands.toggle_shown
        self.action_timed_pause = self.commands.pause_chosen_for_a_time
        self.action_undo = self.commands.undo
        self.action_commands = self.commands.prompt
        self.action_step = self.replay.step
        self.action_seek = self.replay.ask_for_time
        self.action_difference = self.replay.show_difference
        self.action_live = self.replay.leave
        self.action_workspace = self.navigation.step_workspace
        self.action_wall = self.presenter.open_wall
        self.action_acknowledge = self.presenter.acknowledge

    def _remapped(self, group: str) -> Mapping[str, str]:
        return self._keymap_by_group.get(group, {})

    def on_mount(self) -> None:
        """Show the empty board at once, then let the ticks come."""
        self.push_screen(self.board_screen)
        self.install_screen(self.wall, "wall")
        if self._start_on_wall and len(self.workspaces.all) > 1:
            self.presenter.open_all_workspaces(wall=True)
        elif self._start_on_wall:
            self.presenter.open_wall()
        for warning in self._key_warnings:
            self.notify(warning, severity="warning", timeout=30, markup=False)
        self.set_interval(1.0, self.second_passed, name="clock")
        self.call_after_refresh(self.presenter.show)
        first, *others = self.workspaces.all
        self._start(first)
        for number, state in enumerate(others, start=1):
            self.set_timer(number * STAGGER, partial(self._start, state))

    def _write(self, sequence: str) -> None:
        if self._driver and sequence:
            self._driver.write(sequence)

    def _start(self, state: WorkspaceState) -> None:
        if state.feed:
            state.feed.start(lambda tick: self.post_message(self.Ticked(tick, state)), self._fail)

    def _fail(self, error: Exception) -> None:
        self.failure = error
        self.exit()

    async def on_unmount(self) -> None:
        for state in self.workspaces.all:
            if state.feed:
                await state.feed.aclose()

    # -- messages --------------------------------------------------------------------------------------

    @on(Ticked)
    def _ticked(self, message: Ticked) -> None:
        tick = message.tick
        self.presenter.take(tick, message.state or self.workspaces.all[0])
        if tick.beats == 0 and self.board_screen.since is None:  # what is recalled was seen when it was read
            read = [stamp.read_at for stamp in tick.board.stamps.values() if stamp.read_at]
            self.board_screen.since = max(read, default=None)

    @on(BoardScreen.LineOpened)
    def _line_opened(self) -> None:
        line, board = self.board_screen.grid.line, self.board_screen.board
        if line is None or board is None:
            return
        ref = page_ref_of(line)
        if ref and page(ref, board=board, changes=()):
            self.navigation.open_page(ref)
            return
        self.push_screen(CardDialog(card_of(line), glyphs=self._glyphs), self.commands.run_pressed)

    @on(DetailScreen.DataNeeded)
    def _data_needed(self, message: DetailScreen.DataNeeded) -> None:
        if isinstance(self.screen, DetailScreen):
            self.navigation.read_for_page(self.screen, message.ref)

    @on(LinkLine.Clicked, "#workspace-bar")
    def _workspace_clicked(self, message: LinkLine.Clicked) -> None:
        self.navigation.go_to(self.workspaces.all[message.number])

    def action_alarms(self) -> None:
        self.push_screen(AlarmsScreen(self.workspaces.all, glyphs=self._glyphs, now=self.now))

    @on(HeadedScreen.StatusNeeded)
    def _status_needed(self) -> None:
        self.presenter.second_passed()

    def action_replies(self) -> None:
        """The queue is that of now, also while another moment is shown."""
        state = self.workspaces.current
        self.push_screen(
            RepliesScreen(
                open_queue=state.open_replies,
                only_reads=state.only_reads,
                is_browser=self.is_web or state.pending_changes is None,
                glyphs=self._glyphs,
                now=self.now,
                remapped=self._remapped("replies"),
            )
        )

    # Handlers of a page that is loaded when it is opened: the framework finds them by their names.

    def on_alarms_screen_opened(self, message: AlarmsScreen.Opened) -> None:
        if message.ref is None:
            self.push_screen(CardDialog(alarm_card(message.alarm, now=self.now()), glyphs=self._glyphs))
        else:
            self.navigation.go_to(message.state, message.ref)

    def on_alarms_screen_pause_asked(self, message: AlarmsScreen.PauseAsked) -> None:
        self.commands.pause(message.sequences, message.state)

    def on_alarms_screen_guardrails_asked(self, message: AlarmsScreen.GuardrailsAsked) -> None:
        self.navigation.go_to(message.state)
        self.commands.run_pressed(invocation(Guard()))

    def on_alarms_screen_incident_wanted(self, message: AlarmsScreen.IncidentWanted) -> None:
        self.replay.leave()
        self.navigation.go_to(message.state)
        alarm = message.alarm
        show = partial(self.navigation.open_incident, since=alarm.since, domain=alarm.where)
        self.call_after_refresh(show)

    @on(AllWorkspacesScreen.Entered)
    def _workspace_entered(self, message: AllWorkspacesScreen.Entered) -> None:
        self.navigation.go_to(message.state, message.ref)

    async def on_event(self, event: events.Event) -> None:
        """After a while without keys, show the changes since."""
        if isinstance(event, events.Key | events.MouseDown):
            now = self.now()
            if self._last_input and now - self._last_input > AWAY:
                self.board_screen.since = self._last_input
            self._last_input = now
        await super().on_event(event)

    def second_passed(self) -> None:
        """Update ages and clocks; while the app closes, its timer still runs without a screen."""
        if not self.screen_stack:
            return
        self.presenter.second_passed()
        self._write(self._notifier.due(self.now()))

    # -- keys ------------------------------------------------------------------------------------------

    def action_leap(self, hours: int) -> None:
        self.replay.leap(timedelta(hours=hours))

    def action_incident(self) -> None:
        self.navigation.open_incident()

    @on(HeadedScreen.PageWanted)
    def _page_wanted(self, message: HeadedScreen.PageWanted) -> None:
        self.navigation.open_page(message.ref)

    def action_all_workspaces(self, wall: bool = False) -> None:  # noqa: FBT001, FBT002 # an action's argument
        self.presenter.open_all_workspaces(wall=wall)

    def action_refresh(self) -> None:
        if feed := self.workspaces.current.feed:
            feed.read_now()

    def action_theme(self) -> None:
        at = self._themes.index(self.theme) if self.theme in self._themes else -1
        self.theme = self._themes[(at + 1) % len(self._themes)]

    async def action_filter(self) -> None:
        grid = self.board_screen.grid
        before = grid.arrangement

        def changed(text: str | None) -> None:
            grid.set_arrangement(before if text is None else replace(before, find=text))

        prompt = Prompt(sign="filter", hint=FILTER_HINT, value=before.find, changed=changed)
        await self.push_screen(prompt, changed)

    def action_panel_help(self) -> None:
        card = panel_help(self.board_screen.active, remapped=self._remapped("board"))
        self.push_screen(CardDialog(card, glyphs=self._glyphs))

    def action_help_of(self, name: str) -> None:
        self.push_screen(CardDialog(page_card(name, remapped=self._remapped(name)), glyphs=self._glyphs))

    def action_page_help(self) -> None:
        self.push_screen(CardDialog(page_help(remapped=self._remapped("page")), glyphs=self._glyphs))

    def action_copy_line(self) -> None:
        if line := self.board_screen.grid.line:
            self.copy_to_clipboard(visible(line.key))
            self.notify(f"Copied: {visible(line.key)}", timeout=3, markup=False)

    def action_export(self) -> None:
        """Write the list as CSV, the board as text and the screen as a picture into the folder, or to the browser."""
        board, now = self.board_screen.board, self.now()
        if board is None or (self._folder is None and not self.is_web):
            self.notify("Nothing to export, or no folder to export to.", severity="warning")
            return
        made = text_report.files(
            board=board,
            name=self.board_screen.active,
            shown=self.board_screen.grid.shown,
            columns=self.board_screen.grid.columns,
            picture=self.export_screenshot(),
            now=now,
            glyphs=self._glyphs,
        )
        if self._folder is None or self.is_web:
            self.deliver_binary(text_report.packed(made), save_filename=f"{text_report.stem(now)}.zip")
            return
        try:
            text_report.write(self._folder, made)
        except OSError as error:
            self.notify(f"Export failed: {error.strerror}", severity="error", markup=False)
        else:
            self.notify(f"Exported {', '.join(made)} to {self._folder}", timeout=12, markup=False)

    # -- errors of our own -----------------------------------------------------------------------------

    def _handle_exception(self, error: Exception) -> None:
        """Once the screen stands, an exception costs one message, not the dashboard; before that it ends it."""
        if self._error_log is None or not self.board_screen.is_mounted:
            super()._handle_exception(error)
        else:
            self.presenter.own_error = self._error_log.note(error, now=self.now())

    @on(Worker.StateChanged)
    def _worker_ended(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR and event.worker.error:
            logger.error("a worker failed", exc_info=event.worker.error)
            self.notify("Internal error. Details are in the log.", severity="error")
