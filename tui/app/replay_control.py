"""Looking at another moment on the board: stepping, seeking, the difference to now, and back to now."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from textual.app import App

from tui.app.presenter import Presenter, run_worker
from tui.feed.replay import Replay
from tui.feed.workspace_state import Workspaces
from tui.model import changes, time_input
from tui.screens.board import BoardScreen
from tui.screens.card_dialog import CardDialog
from tui.screens.prompt import Prompt
from tui.theme.palette import Glyphs

SEEK_HINT = "A time to look at: 14:02, yesterday 9:00, 21 Nov 14:02, or how long ago: 20m, 3h. esc leaves."


class ReplayControl:
    """Moves through the stored snapshots of the current workspace."""

    def __init__(
        self,
        app: App[int],
        *,
        workspaces: Workspaces,
        board: BoardScreen,
        presenter: Presenter,
        glyphs: Glyphs,
        now: Callable[[], datetime],
    ) -> None:
        self._app = app
        self._workspaces = workspaces
        self._board = board
        self._presenter = presenter
        self._glyphs = glyphs
        self._now = now
        self._replay: Replay | None = None

    @property
    def at(self) -> datetime | None:
        """The moment that is shown; None is now."""
        return self._replay.at if self._replay else None

    def step(self, by: int) -> None:
        self._start(lambda replay: replay.step(by))

    def leap(self, by: timedelta) -> None:
        self._start(lambda replay: replay.leap(by))

    def ask_for_time(self) -> None:
        self._app.push_screen(Prompt(sign="at", hint=SEEK_HINT), self._seek)

    def _seek(self, text: str | None) -> None:
        if not text or not text.strip():
            return
        wanted = time_input.moment(text, now=self._now())
        if wanted is None:
            self._app.notify(f"“{text.strip()}” is no time that is past.", severity="warning", markup=False)
        else:
            self._start(lambda replay: replay.seek(wanted))

    def _start(self, move: Callable[[Replay], Replay]) -> None:
        run_worker(self._app, partial(self._go, move), group="replay")

    async def _go(self, move: Callable[[Replay], Replay]) -> None:
        state = self._workspaces.current
        if state.history is None:
            self._app.notify("There is no history here.", severity="warning")
            return
        replay = move(self._replay or await Replay.open(state.history, now=self._now()))
        board = None
        if not replay.live:
            board = await replay.board(state.history, like=state.last, thresholds=state.thresholds)
        if state is not self._workspaces.current:
            return
        if board is None:
            self.leave()
            return
        self._replay = replay
        self._board.replay(replay.at, replay.words(self._now()))
        past = tuple(change for change in state.changes if change.at <= replay.at)
        self._board.show(board, changes=past, beats=0, now=replay.at)

    def show_difference(self) -> None:
        run_worker(self._app, self._difference, group="difference")

    async def _difference(self) -> None:
        state, at = self._workspaces.current, self.at
        if at is None or state.history is None or state.last is None:
            text = "Go to another moment first: [ steps back, @ seeks a time."
            self._app.notify(text, severity="warning", markup=False)
            return
        then = await state.history.snapshot_at(at)
        if then is None:
            return
        now = self._now()
        lines = changes.between(then, state.last.snapshot, at=now)
        card = time_input.difference(lines, since=at, now=now)
        await self._app.push_screen_wait(CardDialog(card, glyphs=self._glyphs))

    def leave(self) -> None:
        if self._replay:
            self._replay = None
            self._board.replay(None, "")
            self._presenter.show()
