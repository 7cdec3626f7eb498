"""Going elsewhere: down into a line and back, to another workspace, to another moment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from textual import events, on, work

from tui.app.display import ShowingApp
from tui.feed.replay import Replay
from tui.feed.trend_plots import TrendPlots
from tui.feed.workspace_state import WorkspaceState
from tui.model import changes, time_input
from tui.model.keys import PAGE, foot_of
from tui.model.page_content import Page, PageRef, limit_facts
from tui.screens.all_workspaces import AllWorkspacesScreen
from tui.screens.detail_page import DetailScreen
from tui.screens.prompt import Prompt
from tui.widgets.workspace_bar import WorkspaceBar

AWAY = timedelta(minutes=2)
"""Who presses nothing for so long has looked away."""


class TravellingApp(ShowingApp):
    """Each journey shows what is known at once, and what must be read for it when it has been."""

    _looked_at: datetime | None = None

    async def on_event(self, event: events.Event) -> None:
        """A key or a button pressed is a look; who comes back after a while is told what is new since."""
        if isinstance(event, events.Key | events.MouseDown):
            now = self.now()
            if self._looked_at and now - self._looked_at > AWAY:
                self.board_screen.since = self._looked_at
            self._looked_at = now
        await super().on_event(event)

    @on(ShowingApp.Ticked)
    def _recalled(self, message: ShowingApp.Ticked) -> None:
        """What is remembered from before the start was seen when it was read."""
        if message.tick.beats == 0 and self.board_screen.since is None:
            read = [stamp.read_at for stamp in message.tick.board.stamps.values() if stamp.read_at]
            self.board_screen.since = max(read, default=None)

    # -- down into a line ------------------------------------------------------------------------------

    def travel(self, ref: PageRef) -> None:
        """Open the page of a spot, over the board."""
        board = self.board_screen.board
        if board is None:
            return
        screen = DetailScreen(glyphs=self._glyphs, foot=foot_of(PAGE, remapped=self.remapped.get("page")))
        self.push_screen(screen)
        screen.call_after_refresh(
            lambda: screen.open(
                ref, board=board, changes=self.board_screen.changes, beats=self.board_screen.beats
            )
        )

    def _want_domains(self) -> None:
        self.travel(PageRef(kind="domains"))

    @on(DetailScreen.DataNeeded)
    def _data_needed(self, message: DetailScreen.DataNeeded) -> None:
        if isinstance(self.screen, DetailScreen):
            self._read_plot(self.screen, message.ref)
            if message.ref.kind == "inbox" and self.here.feed and not self._replay:
                self._read_today(self.screen, message.ref)

    @work(exclusive=True, group="plot", exit_on_error=False)
    async def _read_plot(self, screen: DetailScreen, ref: PageRef) -> None:
        metric, shown, history = screen.metric, screen.page, self.here.history
        if metric is None or shown is None:
            return
        if history is None:
            screen.show_plot(ref, None, ahead=())
            return
        plot, ahead = await TrendPlots(history=history, thresholds=self.here.thresholds).plot(
            metric, keys=shown.keys, over=screen.range, points=screen.plot.columns, now=self._moment
        )
        screen.show_plot(ref, plot, ahead=ahead)

    @work(exclusive=True, group="today", exit_on_error=False)
    async def _read_today(self, screen: DetailScreen, ref: PageRef) -> None:
        """One request more, for the inbox that somebody looks at."""
        assert self.here.feed
        sent = (await self.here.feed.sent_today()).get(ref.key)
        shown = screen.page
        if shown and shown.inbox:
            now = self.now()
            since = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
            limit = shown.inbox.inbox.daily_limit
            screen.show_today(ref, limit_facts(sent, limit, since=since, now=now))

    @property
    def shown_page(self) -> Page | None:
        return self.screen.page if isinstance(self.screen, DetailScreen) else None

    @property
    def _moment(self) -> datetime:
        return self._replay.at if self._replay else self.now()

    # -- another workspace -----------------------------------------------------------------------------

    def go_to(self, state: WorkspaceState) -> None:
        """Another workspace's board; what was asked of the lists, and the past, stay behind."""
        if state is self.here:
            return
        self._want_live()
        self.here = state
        self.board_screen.move_to(state.workspace)
        self.wall.move_to(state.workspace)
        self._show()
        self._show_workspace_bar()

    @on(WorkspaceBar.Chosen)
    def _chosen(self, message: WorkspaceBar.Chosen) -> None:
        self.go_to(next(one for one in self.states if one.workspace == message.workspace))

    def _want_next_workspace(self) -> None:
        self._go_by(1)

    def _want_previous_workspace(self) -> None:
        self._go_by(-1)

    def _go_by(self, by: int) -> None:
        at = self.states.index(self.here)
        self.go_to(self.states[(at + by) % len(self.states)])

    def _want_everything(self) -> None:
        self._open_everything(wall=False)

    def _open_everything(self, *, wall: bool) -> None:
        screen = AllWorkspacesScreen(glyphs=self._glyphs, began=self.now(), wall=wall)
        self._day_theme = self.theme
        self.push_screen(screen, lambda _: self.use_theme(self._day_theme))
        screen.call_after_refresh(self._show_everything)

    @on(AllWorkspacesScreen.WallWanted)
    def _all_on_a_wall(self) -> None:
        self._open_everything(wall=True)

    def _begin_on_the_wall(self) -> None:
        """Several workspaces share a wall; `w` on a board is that workspace's own."""
        if len(self.states) > 1:
            self._open_everything(wall=True)
        else:
            self._want_wall()

    def _show_everything(self) -> None:
        if isinstance(self.screen, AllWorkspacesScreen) and self.screen.is_mounted:
            self.screen.show(self.states, now=self.now(), alarms=self._alarms)

    @on(AllWorkspacesScreen.Entered)
    def _entered(self, message: AllWorkspacesScreen.Entered) -> None:
        self.go_to(message.state)
        if message.ref:
            self.call_after_refresh(partial(self.travel, message.ref))

    # -- another moment --------------------------------------------------------------------------------

    def _want_earlier(self) -> None:
        self._look(lambda replay: replay.step(-1))

    def _want_later(self) -> None:
        self._look(lambda replay: replay.step(1))

    def _want_hour_earlier(self) -> None:
        self._look(lambda replay: replay.leap(-timedelta(hours=1)))

    def _want_hour_later(self) -> None:
        self._look(lambda replay: replay.leap(timedelta(hours=1)))

    def _want_seek(self) -> None:
        hint = "A time to look at: 14:02, yesterday 9:00, 21 Nov 14:02, or how long ago: 20m, 3h. esc leaves."
        self.push_screen(Prompt(sign="at", hint=hint), self._sought)

    def _sought(self, text: str | None) -> None:
        if not text or not text.strip():
            return
        wanted = time_input.moment(text, now=self.now())
        if wanted is None:
            self.notify(f"“{text.strip()}” is no time that is past.", severity="warning", markup=False)
            return
        self._look(lambda replay: replay.seek(wanted))

    @work(exclusive=True, group="replay", exit_on_error=False)
    async def _look(self, move: Callable[[Replay], Replay]) -> None:
        state = self.here
        if state.history is None:
            self.notify("There is no history here.", severity="warning")
            return
        replay = move(self._replay or await Replay.open(state.history, now=self.now()))
        board = None
        if not replay.live:
            board = await replay.board(state.history, like=state.last, thresholds=state.thresholds)
        if state is not self.here:
            return
        if board is None:
            self._want_live()
            return
        self._replay = replay
        self.board_screen.replay(replay.words(self.now()))
        past = tuple(change for change in state.changes if change.at <= replay.at)
        self.board_screen.show(board, changes=past, beats=0, now=replay.at)

    @work(exclusive=True, group="difference", exit_on_error=False)
    async def _want_difference(self) -> None:
        from tui.screens.card_dialog import CardDialog

        state, replay = self.here, self._replay
        if replay is None or state.history is None or state.last is None:
            self.notify(
                "Go to another moment first: [ steps back, @ seeks a time.", severity="warning", markup=False
            )
            return
        then = await state.history.snapshot_at(replay.at)
        if then is None:
            return
        lines = changes.between(then, state.last.snapshot, at=self.now())
        await self.push_screen_wait(
            CardDialog(time_input.difference(lines, since=replay.at, now=self.now()), glyphs=self._glyphs)
        )

    def _want_live(self) -> None:
        """Back to now."""
        if self._replay or self.board_screen.replaying:
            self._replay = None
            self.board_screen.replay("")
            self._show()
