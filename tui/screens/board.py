"""The board: verdict, figures and lists, all mounted once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from tui.model.input.keys import BOARD, REPLAY, Key, bindings, foot_of, keys_of
from tui.model.lists import layout
from tui.model.lists.columns import LISTS
from tui.model.lists.filter_sort import Arrangement
from tui.model.lists.lines import ChangeLine
from tui.model.pages.page_status import PageStatus
from tui.model.workspace.board import Board
from tui.theme.error_boundary import SafeScreen
from tui.theme.palette import Glyphs
from tui.widgets.figures import KeyFigures
from tui.widgets.line_table import LineTable
from tui.widgets.panel import LinkLine, Panel, PanelArea
from tui.widgets.status_lines import Banner, Foot, Tabs, TopLine, Verdict, WorkspaceBar

TITLES = {
    "inboxes": ("Inboxes", "No inboxes are connected."),
    "sequences": ("Sequences", "No sequences yet."),
    "changes": ("Changes", "No recent changes."),
    "domains": ("Domains", "No inboxes are connected."),
}
TAB_TITLES = {**{name: title for name, (title, _) in TITLES.items()}, layout.REPLIES: "Replies"}


class BoardScreen(SafeScreen[None]):
    """All of a workspace on one screen; it asks the app for acts, by messages, and knows no service."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(BOARD),
        *(
            Binding(str(layout.NUMBERS[name]), f"panel('{name}')", show=False, priority=True)
            for name in layout.PANELS
        ),
        Binding("tab", "next_panel(1)", show=False, priority=True),
        Binding("shift+tab", "next_panel(-1)", show=False, priority=True),
        Binding("l,right", "next_panel(1)", show=False, priority=True),
        Binding("h,left", "next_panel(-1)", show=False, priority=True),
    ]

    AUTO_FOCUS: ClassVar[str] = ""
    HORIZONTAL_BREAKPOINTS = layout.WIDTHS
    VERTICAL_BREAKPOINTS = layout.HEIGHTS

    class LineOpened(Message):
        """The chosen line was opened."""

    def __init__(
        self,
        *,
        glyphs: Glyphs,
        workspace: str,
        notice: str,
        now: Callable[[], datetime],
        remapped: Mapping[str, str],
    ) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._workspace = workspace
        self._now = now
        self._remapped = remapped
        self.board: Board | None = None
        self.active = "inboxes"
        self.changes: tuple[ChangeLine, ...] = ()
        self.only_reads = False
        self.running = ""
        """The command line that is being carried out."""
        self._heights: dict[str, int] = {}
        self.since: datetime | None = None
        """When the screen was last used before the pause."""
        self.mode = ""
        """Which moment is replayed, in words."""
        self.replayed_at: datetime | None = None
        """The moment of the past that is shown."""
        self._status: PageStatus | None = None
        self.top = TopLine(glyphs=glyphs, notice=notice)
        self.workspace_bar = WorkspaceBar(glyphs=glyphs)
        self.banner = Banner(glyphs=glyphs)
        self.verdict = Verdict(glyphs=glyphs)
        self.figures = KeyFigures(glyphs=glyphs)
        self.tabs = Tabs()
        self.foot = Foot()
        self.panels = {
            name: Panel(
                name,
                title=TITLES[name][0],
                columns=LISTS[name],
                glyphs=glyphs,
                empty=TITLES[name][1],
                key=str(layout.NUMBERS[name]),
            )
            for name in layout.PANELS
        }

    def compose(self) -> ComposeResult:
        yield self.top
        yield self.workspace_bar
        yield self.banner
        yield self.verdict
        yield self.figures
        yield self.tabs
        with PanelArea(id="panels"):
            with Vertical(id="left"):
                yield self.panels["domains"]
                yield self.panels["inboxes"]
            with Vertical(id="right"):
                with Vertical(id="middle"):
                    yield self.panels["sequences"]
                with Vertical(id="last"):
                    yield self.panels["changes"]
        yield self.foot
        yield Static("", id="too-small")

    def on_mount(self) -> None:
        self.panels[self.active].grid.focus()

    # -- what is shown ---------------------------------------------------------------------------------

    def show(
        self,
        board: Board,
        *,
        changes: tuple[ChangeLine, ...],
        status: PageStatus,
    ) -> None:
        """Another board; each widget paints what differs."""
        self.board, self.changes = board, changes
        self._show_panels(status.now)
        self.tick(status)

    def tick(self, status: PageStatus) -> None:
        """A second has passed: ages, banner, clock."""
        self._status, now = status, status.now
        self.top.show(status)
        self._show_foot()
        trouble = self.board.trouble if self.board else None
        self.banner.show(trouble, now=now, alarm=status.alarm, notices=status.notices)
        if self.board is None:
            return
        self.verdict.show(self.board, now=now, news=status.news)
        self.figures.show(self.board.figures, freshness=self.board.freshness("sequence", now), now=now)
        for panel in self.panels.values():
            panel.tick(now)

    def _show_panels(self, now: datetime) -> None:
        board = self.board
        assert board
        self.panels["inboxes"].show(board.inboxes, stamp=board.stamps.get("inboxes"), now=now)
        self.panels["sequences"].show(
            board.sequences,
            stamp=board.stamps.get("sequences"),
            now=now,
            aside=" · ".join(filter(None, ("30 days", board.paused))),
        )
        self.panels["changes"].show(self.changes, stamp=board.changes_stamp, now=now)
        self.panels["domains"].show(board.domain_lines, stamp=board.stamps.get("inboxes"), now=now)
        self._fit(self.size.width, self.size.height)

    def move_to(self, workspace: str) -> None:
        self._workspace = workspace
        for panel in self.panels.values():
            panel.grid.reset()

    @property
    def grid(self) -> LineTable:
        return self.panels[self.active].grid

    def replay(self, at: datetime | None, mode: str) -> None:
        """Show that this is another moment; None is now."""
        self.replayed_at, self.mode = at, mode
        self.set_class(bool(mode), "-replay")
        self._show_keys()

    # -- the size --------------------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size.width, event.size.height)
        self.call_after_refresh(self._show_keys)

    def _show_keys(self) -> None:
        self._show_foot()
        if self._status:
            self.tick(self._status)

    def _show_foot(self) -> None:
        keys = REPLAY if self.mode else self.keys_here
        self.foot.show(foot_of(keys, remapped=self._remapped))

    @property
    def keys_here(self) -> Sequence[Key]:
        """The keys of the panel where the cursor is; none that would be refused."""
        return keys_of(self.active, only_reads=self.only_reads)

    @on(LinkLine.Clicked, "#tabs")
    async def _tab_clicked(self, event: LinkLine.Clicked) -> None:
        name = tuple(layout.NUMBERS)[event.number]
        if name in layout.PANELS:
            self.action_panel(name)
        else:
            await self.run_action(f"app.{name}")

    def _fit(self, width: int, height: int) -> None:
        refusal = layout.too_small(width, height)
        self.set_class(bool(refusal), "-too-small")
        if refusal:
            self.query_one("#too-small", Static).update(refusal)
            self.tabs.display = False
        else:
            self._share_room()

    @on(PanelArea.Resized)
    def _share_room(self) -> None:
        """Give each panel the lines that it gets; a change of the lists' lengths may move the borders."""
        # A resize may be heard of after the page's widgets are gone, while the dashboard ends.
        room = next((area.size.height for area in self.query("#panels")), 0)
        if room <= 0:
            return
        lines = {name: len(panel.grid.shown) for name, panel in self.panels.items()}
        heights = layout.heights(self.size.width, room, active=self.active, lines=lines)
        shown = set(heights)
        self.tabs.display = not shown.issuperset(layout.PANELS)
        tabs = [(key, name, TAB_TITLES[name]) for name, key in layout.NUMBERS.items()]
        self.tabs.show(tabs, active=self.active)
        if heights == self._heights:
            return
        self._heights = heights
        for name, panel in self.panels.items():
            panel.display = name in heights
            panel.styles.height = heights.get(name, 1)
        for part, names in (("#left", layout.LEFT), ("#middle", layout.MIDDLE), ("#last", layout.LAST)):
            self.query_one(part).display = bool(shown & set(names))
            below = [name for name in names if name in heights][1:]
            for name in names:
                self.panels[name].styles.margin = (layout.GAP if name in below else 0, 0, 0, 0)
        self.query_one("#right").display = bool(shown & {*layout.MIDDLE, *layout.LAST})
        self.set_class(bool(shown & set(layout.MIDDLE)), "-with-middle")
        self.set_class(bool(shown & set(layout.LEFT)), "-with-left")

    # -- keys on the lists -----------------------------------------------------------------------------

    def action_panel(self, name: str) -> None:
        self.active = name
        self._fit(self.size.width, self.size.height)
        self.set_focus(self.grid)  # at once: the next keys may be waiting
        self._show_foot()

    def action_next_panel(self, by: int) -> None:
        at = layout.PANELS.index(self.active)
        self.action_panel(layout.PANELS[(at + by) % len(layout.PANELS)])

    def action_sort(self) -> None:
        self.grid.next_order()

    def action_reverse(self) -> None:
        self.grid.reverse()

    def action_problems(self) -> None:
        self.grid.toggle_problems()

    async def action_back(self) -> None:
        """Back to now, else as the list comes."""
        if self.mode:
            await self.run_action("app.live")
            return
        self.grid.unmark()
        self.grid.set_arrangement(Arrangement())

    @on(LineTable.Arranged)
    def _arranged(self, event: LineTable.Arranged) -> None:
        if event.grid.has_focus and event.grid.id in self.panels:
            self.active = event.grid.id
        for panel in self.panels.values():
            panel.tick(self._now())

    @on(LineTable.Picked)
    def _picked(self) -> None:
        self.post_message(self.LineOpened())
