"""Updates the active screen: boards, ages, alarms, the wall."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from textual.app import App
from textual.screen import ModalScreen, Screen
from textual.worker import Worker

from shared.domain.card import Tone
from shared.domain.local_zone import local
from shared.text.formats import show_number
from shared.text.sanitize import visible
from tui.app.own_errors import OwnError
from tui.feed.pending_changes import Confirmation
from tui.feed.poller import Tick
from tui.feed.workspace_state import Workspaces, WorkspaceState
from tui.model.news.alarms import Alarm, AlarmNotice, notice_then, trouble_since
from tui.model.news.reply_news import ReplyNews
from tui.model.pages.page_status import PageStatus
from tui.model.workspace.all_workspaces import workspace_line
from tui.model.workspace.board import unread
from tui.model.workspace.changes import news
from tui.screens.all_workspaces import AllWorkspacesScreen
from tui.screens.board import BoardScreen
from tui.screens.detail_page import DetailScreen
from tui.screens.headed import HeadedScreen
from tui.screens.wall import WallScreen
from tui.theme import formatting
from tui.theme.palette import Glyphs

NIGHT_FROM, NIGHT_UNTIL = 22, 6
"""Hours of the day where the wall hangs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ui:
    """What every part of the app works with."""

    app: App[int]
    workspaces: Workspaces
    board: BoardScreen
    wall: WallScreen
    glyphs: Glyphs
    now: Callable[[], datetime]

    def run_worker(
        self, work: Callable[[], Coroutine[Any, Any, None]], *, group: str, exclusive: bool = True
    ) -> None:
        """Run work in the background; a failure shows a notice and ends nothing."""
        _: Worker[None] = self.app.run_worker(work, group=group, exclusive=exclusive, exit_on_error=False)


class Presenter:
    """Paints only the screen that can be seen; a board that arrives while the past is shown waits."""

    def __init__(
        self,
        ui: Ui,
        *,
        on_alarm: Callable[[Iterable[str]], object],
        notify: Callable[[str], object],
    ) -> None:
        self._ui = ui
        self._on_alarm = on_alarm
        self._notify = notify
        self._news = {state.workspace: ReplyNews(since=ui.now()) for state in ui.workspaces.all}
        self.own_error: OwnError | None = None
        self.day_theme = ui.app.theme
        """What to return to from a dimmed wall."""
        self._seen_notice = ""

    def take(self, tick: Tick, state: WorkspaceState) -> None:
        self._raise(state.take(tick, now=self._ui.now()), state)
        for text in self._news[state.workspace].of(tick.snapshot):
            self._notify(f"{prefix}: {text}" if (prefix := self._prefix(state)) else text)
        if state.pending_changes:
            self._report(state.pending_changes.confirm(tick.snapshot), state)
        if state is self._ui.workspaces.current:
            self.show()
        self.show_workspace_bar()
        self.show_all_workspaces()

    def show(self) -> None:
        """Show the live board, unless another moment is shown."""
        if self._ui.board.replayed_at or not self._ui.board.is_mounted:
            return
        current, now = self._ui.workspaces.current, self._ui.now()
        board, changes = current.board or unread(current.workspace), tuple(current.changes)
        with self._ui.app.batch_update():
            self._ui.board.only_reads = current.only_reads
            status = self.status()
            self._ui.board.show(board, changes=changes, status=status)
            page = self._stacked()[0]
            if isinstance(page, WallScreen) and page.is_mounted:
                since = trouble_since(current.alarms, now=now)
                page.show(board, changes=changes, status=status, since=since)
            elif isinstance(page, DetailScreen) and page.is_mounted:
                page.show(board, changes=changes, status=status)

    def show_workspace_bar(self) -> None:
        if len(self._ui.workspaces.all) > 1 and self._ui.board.is_mounted:
            now = self._ui.now()
            lines = [workspace_line(one.workspace, one.board, now=now) for one in self._ui.workspaces.all]
            tones = [(line.workspace, line.tone) for line in lines]
            self._ui.board.workspace_bar.show(tones, here=self._ui.workspaces.current.workspace)

    def show_all_workspaces(self) -> None:
        screen = self._stacked()[0]
        if isinstance(screen, AllWorkspacesScreen) and screen.is_mounted:
            screen.show(self._ui.workspaces.all, status=self._status_of_all())

    def second_passed(self) -> None:
        """Update ages, clocks and the top lines of the page, and of what is open over it."""
        page, *dialogs = self._stacked()
        past_or_now, live = self.status(), self.live_status()
        status = live if isinstance(page, HeadedScreen) and page.is_always_live else past_or_now
        if isinstance(page, AllWorkspacesScreen):
            status = self._status_of_all()
        if page.is_mounted and isinstance(page, BoardScreen | HeadedScreen | WallScreen):
            page.tick(status)
        if isinstance(page, WallScreen) or (isinstance(page, AllWorkspacesScreen) and page.is_wall):
            self._dim_at_night()
        elif page is self._ui.board:
            self.show_workspace_bar()
        path = page.path if isinstance(page, HeadedScreen) else ()
        for dialog in dialogs:
            if isinstance(dialog, HeadedScreen) and dialog.is_mounted:
                dialog.show_head(status, path=path)

    def _stacked(self) -> list[Screen[Any]]:
        """The page that is seen, and the dialogs over it."""
        stack = self._ui.app.screen_stack
        last = max(number for number, one in enumerate(stack) if not isinstance(one, ModalScreen))
        return stack[last:]

    def status(self) -> PageStatus:
        """What the top lines say: of now, or of the moment that is replayed."""
        shown = self._ui.board
        if shown.replayed_at is None or shown.board is None:
            return self.live_status()
        return PageStatus(
            workspace=self._ui.workspaces.current.workspace,
            now=shown.replayed_at,
            board=shown.board,
            mode=shown.mode,
            is_past=True,
            alarm=notice_then(shown.board.conditions),
            news=f"now: {show_number(active, 'alarm')}" if (active := self._active_count()) else "",
        )

    def live_status(self) -> PageStatus:
        current, shown, now = self._ui.workspaces.current, self._ui.board, self._ui.now()
        running = f"{shown.running}…" if shown.running else ""
        return PageStatus(
            workspace=current.workspace,
            now=now,
            board=current.board or unread(current.workspace),
            beats=current.beats,
            mode=running or ("read-only" if current.only_reads else ""),
            alarm=self.alarm,
            notices=self._notices(),
            news=news(tuple(current.changes), since=shown.since, now=now),
        )

    def _status_of_all(self) -> PageStatus:
        states = self._ui.workspaces.all
        return PageStatus(
            workspace=show_number(len(states), "workspace"),
            now=self._ui.now(),
            beats=sum(state.beats for state in states),
            alarm=self.alarm,
            notices=self._notices(),
        )

    def _active_count(self) -> int:
        return sum(alarm.is_on for state in self._ui.workspaces.all for alarm in state.alarms)

    @property
    def alarm(self) -> AlarmNotice | None:
        """The first unacknowledged alarm, with how many others there are."""
        if not (unseen := self._unseen()):
            return None
        state, alarm = unseen[0]
        notice = alarm.notice(self._ui.now(), workspace=self._prefix(state))
        return notice._replace(others=sum(other.is_on for _, other in unseen[1:]))

    def _unseen(self) -> list[tuple[WorkspaceState, Alarm]]:
        """Unacknowledged alarms: active before recovered, newest first."""
        found = [(state, one) for state in self._ui.workspaces.all for one in state.alarms if one.is_new]
        return sorted(found, key=lambda pair: pair[1].rank)

    def _prefix(self, state: WorkspaceState) -> str:
        return state.workspace if len(self._ui.workspaces.all) > 1 else ""

    def acknowledge(self) -> None:
        """Acknowledge the alarm that the banner shows; where there is none, the notices about the dashboard itself."""
        if unseen := self._unseen():
            state, alarm = unseen[0]
            state.acknowledge(alarm.key, now=self._ui.now())
        else:
            history = self._ui.workspaces.current.history
            self.own_error, self._seen_notice = None, history.notice if history else ""
        self.second_passed()

    def open_wall(self) -> None:
        self._remember_theme()
        self._ui.app.push_screen(self._ui.wall, self._back_from_wall)
        self._ui.wall.call_after_refresh(self.show)

    def open_all_workspaces(self, *, wall: bool) -> None:
        screen = AllWorkspacesScreen(glyphs=self._ui.glyphs, now=self._ui.now, wall=wall)
        self._remember_theme()
        self._ui.app.push_screen(screen, self._back_from_wall)
        screen.call_after_refresh(self.show_all_workspaces)

    def _remember_theme(self) -> None:
        if self._ui.app.theme != "dimmed":  # as where one wall gives way to another
            self.day_theme = self._ui.app.theme

    def _back_from_wall(self, _: object) -> None:
        self._ui.app.theme = self.day_theme

    def _raise(self, raised: Sequence[Alarm], state: WorkspaceState) -> None:
        if raised:
            now, prefix = self._ui.now(), self._prefix(state)
            self._ui.app.bell()
            texts = [alarm.notice(now, workspace=prefix).text for alarm in raised]
            self._on_alarm(texts)
            for text in texts:
                self._notify(text)

    def _dim_at_night(self) -> None:
        """Dim a wall at night, unless another theme was chosen or something is wrong."""
        hour = local(self._ui.now()).hour
        night = (hour >= NIGHT_FROM or hour < NIGHT_UNTIL) and not self._is_in_trouble()
        self._ui.app.theme = "dimmed" if night and self.day_theme == "night" else self.day_theme

    def _is_in_trouble(self) -> bool:
        """Whether something on the wall can't send: then it is not dimmed."""
        boards = [state.board for state in self._ui.workspaces.all]
        return any(board.verdict.tone is Tone.BAD for board in boards if board)

    def _report(self, confirmations: Sequence[Confirmation], state: WorkspaceState) -> None:
        """One toast for one act, however many sequences it was about, and one for what did not become so."""
        whose = "" if state is self._ui.workspaces.current else f"{state.workspace}: "
        done = [one for one in confirmations if one.status == one.change.status]
        failed = [one for one in confirmations if one.status != one.change.status]
        if done:
            names = visible(done[0].change.label)
            what = f"{names} is" if len(done) == 1 else f"{len(done)} sequences are"
            change, until = done[0].change, ""
            if change.until:
                until = f" until {formatting.moment(change.until, now=self._ui.now())}, by you"
            words = f"{whose}{what} {done[0].status}{until}. Press u to undo."
            self._ui.app.notify(words, timeout=8, markup=False)
        if failed:
            lines = (
                f"{whose}{visible(one.change.label)} is {one.status or 'gone'}, not {one.change.status}"
                for one in failed
            )
            self._ui.app.notify("\n".join(lines), severity="error", timeout=20, markup=False)

    def _notices(self) -> tuple[str, ...]:
        own = self.own_error.words(self._ui.now()) if self.own_error else ""
        history = self._ui.workspaces.current.history
        notice = history.notice if history else ""
        return tuple(text for text in (own, notice if notice != self._seen_notice else "") if text)
