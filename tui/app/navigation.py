"""Navigation: opens lines and goes back, and switches workspaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from tui.app.presenter import Presenter, Ui
from tui.app.replay_control import ReplayControl
from tui.feed.workspace_state import Feed, WorkspaceState
from tui.model.lines import LeadLine, PageRef
from tui.model.page_content import limit_facts, reply_parts
from tui.screens.detail_page import DetailScreen


@dataclass(frozen=True, slots=True, kw_only=True)
class Navigation:
    """Opens pages and boards at once with the data at hand, and reads whatever else they need."""

    ui: Ui
    presenter: Presenter
    replay: ReplayControl
    page_keys: Mapping[str, str]
    """The keys of pages that are others than usual."""

    def open_page(self, ref: PageRef) -> None:
        board = self.ui.board.board
        if board is None:
            return
        screen = DetailScreen(
            glyphs=self.ui.glyphs,
            remapped=self.page_keys,
            only_reads=self.ui.workspaces.current.only_reads,
            now=self.ui.now,
        )
        self.ui.app.push_screen(screen)
        show = partial(
            screen.open, ref, board=board, changes=self.ui.board.changes, status=self.presenter.status()
        )
        screen.call_after_refresh(show)

    def read_for_page(self, screen: DetailScreen, ref: PageRef) -> None:
        """Read the plot of a page, and for an inbox what it has sent today."""
        self.ui.run_worker(partial(self._read_plot, screen, ref), group="plot")
        feed = self.ui.workspaces.current.feed
        if ref.kind == "inbox" and feed and not self.replay.at:
            self.ui.run_worker(partial(self._read_today, screen, ref, feed), group="today")
        lead = screen.page.lead if screen.page else None
        if lead and feed and feed.shares_replies:
            self.ui.run_worker(partial(self._read_reply, screen, ref, lead, feed), group="today")

    async def _read_plot(self, screen: DetailScreen, ref: PageRef) -> None:
        metric, shown, current = screen.metric, screen.page, self.ui.workspaces.current
        if metric is None or shown is None:
            return
        if current.history is None:
            screen.show_plot(ref, None, ahead=())
            return
        plot, ahead = await current.history.plot(
            metric,
            keys=shown.keys,
            over=screen.range,
            points=screen.plot.columns,
            now=self.replay.at or self.ui.now(),
            thresholds=current.thresholds,
        )
        screen.show_plot(ref, plot, ahead=ahead)

    async def _read_today(self, screen: DetailScreen, ref: PageRef, feed: Feed) -> None:
        sends = (await feed.inbox_sends()).get(ref.key, ())
        if screen.page and screen.page.inbox:
            screen.show_more(ref, limit_facts(sends, screen.page.inbox.inbox.daily_limit))

    async def _read_reply(self, screen: DetailScreen, ref: PageRef, lead: LeadLine, feed: Feed) -> None:
        reply = await feed.last_reply(lead.lead.email or "")
        text, facts = reply_parts(reply)
        screen.show_more(ref, facts, text=text)

    def go_to(self, state: WorkspaceState, ref: PageRef | None = None) -> None:
        """Show another workspace's board, and one of its pages; filters and the past stay behind."""
        if state is not self.ui.workspaces.current:
            self.replay.leave()
            self.ui.workspaces.current = state
            self.ui.board.move_to(state.workspace)
            self.presenter.show()
            self.presenter.show_workspace_bar()
        if ref:
            self.ui.app.call_after_refresh(partial(self.open_page, ref))

    def step_workspace(self, by: int) -> None:
        states = self.ui.workspaces.all
        at = states.index(self.ui.workspaces.current)
        self.go_to(states[(at + by) % len(states)])
