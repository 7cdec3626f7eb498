"""Navigation: opens lines and goes back, and switches workspaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial

from shared.api.models import StatsRow
from shared.domain.workspace_verdict import DOMAIN_KINDS
from tui.app.presenter import Presenter, Ui
from tui.app.replay_control import ReplayControl
from tui.feed.workspace_state import Feed, WorkspaceState
from tui.model.lists.lines import LeadLine, PageRef
from tui.model.pages.day_plots import plot_of_days
from tui.model.pages.page_content import Metric, limit_facts, reply_parts
from tui.model.plots.incident import with_marks
from tui.model.plots.marks import concerns, together
from tui.screens.detail_page import DetailScreen
from tui.screens.incident import IncidentScreen
from tui.theme.marks import Mark
from tui.theme.plotting import RANGES, Plot

BY_DAY = "The service counts these by day: press 2 for 14 days, 3 for 12 weeks."


@dataclass(frozen=True, slots=True, kw_only=True)
class Navigation:
    """Opens pages and boards at once with the data at hand, and reads whatever else they need."""

    ui: Ui
    presenter: Presenter
    replay: ReplayControl
    page_keys: Mapping[str, str]
    """The keys of pages that are others than usual."""
    incident_keys: Mapping[str, str]

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
        if ref.kind == "domain" and feed and not self.replay.at:
            self.ui.run_worker(partial(self._read_dns, screen, ref, feed), group="today")
        lead = screen.page.lead if screen.page else None
        if lead and feed and feed.shares_replies:
            self.ui.run_worker(partial(self._read_reply, screen, ref, lead, feed), group="today")

    async def _read_plot(self, screen: DetailScreen, ref: PageRef) -> None:
        metric, shown, state = screen.metric, screen.page, self.ui.workspaces.current
        if metric is None or shown is None or state.history is None:
            screen.show_plot(ref, None)
            return
        over = screen.range
        is_hours = over is RANGES[0]
        if metric.is_daily and not is_hours:
            plot = await self._plot_of_days(metric, ref, shown.keys, days=over.days, state=state)
        elif not metric.is_daily:
            plot = await state.history.plot(
                metric,
                keys=shown.keys,
                over=over,
                points=screen.plot.points,
                now=self._time,
                thresholds=state.thresholds,
            )
        else:
            screen.show_plot(ref, None, empty=BY_DAY)
            return
        if plot:
            until = min(plot.end, self._time)
            found = await self._marks(ref, shown.keys, start=plot.start, end=until, state=state)
            last = "then" if self.replay.at and plot.last == "now" else plot.last
            plot = replace(plot, marks=found, last=last)
        screen.show_plot(ref, plot)

    def open_incident(self, *, since: datetime | None = None, domain: str = "") -> None:
        """Every domain over time; without `since`, from the beginning of the oldest alarm that is on."""
        alarms = [one for one in self.ui.workspaces.current.alarms if one.is_on and one.kind in DOMAIN_KINDS]
        began = since or min((one.since for one in alarms), default=None)
        screen = IncidentScreen(
            glyphs=self.ui.glyphs,
            read=self.read_incident,
            now=lambda: self._time,
            remapped=self.incident_keys,
            since=began,
            domain=domain,
        )
        self.ui.app.push_screen(screen)

    def read_incident(self, screen: IncidentScreen) -> None:
        self.ui.run_worker(partial(self._read_incident, screen), group="incident")

    async def _read_incident(self, screen: IncidentScreen) -> None:
        state, end = self.ui.workspaces.current, self._time
        board = self.ui.board.board
        inboxes = board.snapshot.inboxes.value if board and board.snapshot else None
        if state.history is None or board is None or inboxes is None:
            why = "No history is recorded here." if state.history is None else "Inboxes aren't loaded yet."
            screen.show(None, empty=why)
            return
        start = end - screen.range.span
        fresh = self.replay.at is not None or not board.is_stale("inboxes", end)
        incident = await state.history.incident(
            inboxes, start=start, end=end, fresh=fresh, thresholds=state.thresholds
        )
        noticed = await state.history.marks(PageRef(kind="incident"), start=start, end=end)
        recorded = await state.feed.recorded_marks(start=start, end=end) if state.feed else ()
        screen.show(with_marks(incident, together(recorded, noticed)))

    @property
    def _time(self) -> datetime:
        """Now, or the moment that is replayed."""
        return self.replay.at or self.ui.now()

    async def _plot_of_days(
        self, metric: Metric, ref: PageRef, keys: Sequence[str], *, days: int, state: WorkspaceState
    ) -> Plot | None:
        """The counts of whole days, and of today; in the past only what the history has."""
        today, feed, history = self._time.astimezone(UTC).date(), state.feed, state.history
        if history is None:
            return None
        is_past = self.replay.at is not None
        counts: Mapping[date, StatsRow] = {}
        start = today - timedelta(days=days)
        if ref.kind == "sequence":
            counts = await history.days_of_sequence(keys, start=start)
            if feed and not is_past:
                counts = {**counts, **await feed.recent_counts("sequence", keys, days=1)}
        elif feed and not is_past:
            counts = await feed.recent_counts("inbox", keys, days=days)
        if is_past:
            counts = {day: row for day, row in counts.items() if day < today}
        return plot_of_days(
            metric, counts, days=days, today=today, last=f"{today:%d %b}" if is_past else "today"
        )

    async def _marks(
        self, ref: PageRef, keys: Sequence[str], *, start: datetime, end: datetime, state: WorkspaceState
    ) -> tuple[Mark, ...]:
        """What happened to the subject of a page, as polls noticed and as the bot recorded it."""
        if state.history is None:
            return ()
        noticed = await state.history.marks(ref, start=start, end=end)
        recorded = await state.feed.recorded_marks(start=start, end=end) if state.feed else ()
        return together((mark for mark in recorded if concerns(mark, ref, names=keys)), noticed)

    async def _read_today(self, screen: DetailScreen, ref: PageRef, feed: Feed) -> None:
        sent = (await feed.sent_today()).get(ref.key)
        if screen.page and screen.page.inbox:
            screen.show_more(ref, limit_facts(sent, screen.page.inbox.inbox.daily_limit))

    async def _read_dns(self, screen: DetailScreen, ref: PageRef, feed: Feed) -> None:
        facts, advice = await feed.domain_dns(ref.key)
        screen.show_more(ref, facts, text=tuple(f"Next: {one}" for one in advice))

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
