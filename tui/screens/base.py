"""The parts of every page: the frame as its only input, the head, the keys, and the line of keys."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

from tui.model.columns import Arrangement
from tui.model.frame import Frame
from tui.model.incident import Incident
from tui.model.lines import SequenceLine
from tui.theme.error_boundary import SafeScreen
from tui.theme.palette import Ink
from tui.theme.words import Lines, Words
from tui.widgets.head import Head
from tui.widgets.table import Panel
from tui.widgets.text import TextLine

if TYPE_CHECKING:
    from tui.app.dashboard import DashboardApp

FILTER_HINT = "Words to match: acme status:resting !warming. Enter keeps the filter, Esc clears it."
WIDTHS = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]
HEIGHTS = [(0, "-short"), (30, "-medium")]
FIRST_KEYS = {"help", "commands"}


def key(id: str, keys: str, action: str, word: str, about: str, *, show: bool = True) -> Binding:  # noqa: A002 # the framework's word
    """A key under its name in `[dashboard.keys]`.

    Keys have priority: each is carried out before the next one is looked at
    (https://textual.textualize.io/guide/input/#priority-bindings). Another goes its way through the widgets first, and
    is lost if the key behind it opens a page meanwhile.
    """
    return Binding(keys, action, word, id=id, tooltip=about, show=show, priority=True)


class KeyLine(TextLine):
    """The keys of the page as they are now; a click presses one, and what would be refused isn't shown.

    The framework's Footer is a widget for each key: with it the first paint takes a quarter more processor time, and
    each key that was ever shown stays in memory (https://github.com/Textualize/textual/issues/6666).
    """

    DEFAULT_CSS = "KeyLine { dock: bottom; }"

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self._show())
        self._show()

    def _show(self) -> None:
        links: dict[str, Words] = {}
        room = self.app.size.width
        # Where the room is short, what only this page can do comes before what every page can.
        of_all = {binding.id for binding in Page.BINDINGS if isinstance(binding, Binding)} - FIRST_KEYS
        keys = sorted(self.screen.active_bindings.values(), key=lambda active: active.binding.id in of_all)
        for active in keys:
            binding, action = active.binding, active.binding.action
            if binding.show and active.enabled and action not in links:
                key = self.app.get_key_display(binding)
                room -= len(key) + len(binding.description) + 2
                if room < -1:  # a key is shown whole, or not at all
                    break
                click = action if action.startswith("app.") else f"screen.{action}"
                pieces = ((key, Ink.ACCENT), (f" {binding.description} ", Ink.MUTED))
                links[action] = Words(pieces, action=click)
        self.set(Lines(tuple(links.values()), is_row=True))

    on_resize = _show


class Page(SafeScreen[None]):
    """A page shows a frame; what a person wants done it hands to the app, as an action."""

    if TYPE_CHECKING:
        app: DashboardApp  # the only one that shows pages

    BINDINGS: ClassVar[list[BindingType]] = [
        key("help", "question_mark,f1", "app.help", "help", "All keys of this page"),
        key("commands", "colon,ctrl+p", "app.commands", "commands", "Any command or action"),
        key("pause", "p", "pause", "pause", "Pause or resume"),
        key("filter", "slash", "filter", "filter", "Lines with these words"),
        key("board", "1", "app.open('board')", "board", "Board"),
        key("sequences", "2", "app.open('sequences')", "sequences", "Sequences"),
        key("replies", "3", "app.open('replies')", "replies", "Replies to work on"),
        key("incidents", "4", "app.open('incidents')", "incidents", "What happened, and when"),
        key("workspaces", "5", "app.open('workspaces')", "workspaces", "All workspaces"),
        key("wall", "w", "app.open('wall')", "wall", "Wall, read from afar"),
        key("undo", "u", "app.undo", "undo", "Undo the newest change"),
        key("sort", "s", "sort", "sort", "Sort by the next column"),
        key("quit", "q", "app.quit", "quit", "Quit"),
        key("timed-pause", "P", "timed_pause", "pause for", "Pause for a time", show=False),
        key("acknowledge", "a", "acknowledge", "acknowledge", "Acknowledge, or take back", show=False),
        key(
            "earlier",
            "left_square_bracket",
            "app.step(-1)",
            "back in time",
            "The snapshot before",
            show=False,
        ),
        key("later", "right_square_bracket", "app.step(1)", "forward", "The snapshot after", show=False),
        key("seek", "at", "app.seek", "at a time", "Another time: 14:02, 3h", show=False),
        key("back", "escape", "back", "back", "Up, clear filter, to now", show=False),
        Binding("ctrl+c", "app.quit", show=False, priority=True),
    ]
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    AUTO_FOCUS: ClassVar[str] = ""
    name_in_path: str = ""
    can_pause: ClassVar[bool] = False
    """True for a page with sequences that `p` is about."""
    is_always_live: ClassVar[bool] = False
    """True for a page that shows the present even while the past is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.frame: Frame | None = None
        self.head = Head()
        self.incident: Incident | None = None
        self.looked_at: datetime | None = None
        """The time of the last reading of what it shows beside the frame."""

    def compose(self) -> ComposeResult:
        # The framework knows its size only once all its widgets are styled, and would style them once more.
        size = self.app.size
        classes = self._get_breakpoint_classes(size.width, WIDTHS)
        classes |= self._get_breakpoint_classes(size.height, HEIGHTS)
        self.add_class(*classes, update=False)
        yield self.head
        yield from self.parts()
        yield KeyLine()

    @abstractmethod
    def parts(self) -> Iterable[Widget]:
        """Give what stands between the head and the line of keys."""

    @abstractmethod
    def show(self, frame: Frame) -> None:
        """Paint what differs; called with every frame, each second."""

    lane_span: timedelta = timedelta()
    """The time that the lanes of the page go back; zero where it has none."""

    def set_incident(self, incident: Incident | None) -> None:
        """Show the lanes, once they are read."""
        self.incident = incident
        self.again()

    # -- what the app asks -----------------------------------------------------------------------------

    @property
    def panel(self) -> Panel | None:
        """The list that the keys are about: the one with the focus, or the first."""
        panels = list(self.query(Panel))
        return next((panel for panel in panels if panel.table.has_focus), panels[0] if panels else None)

    @property
    def domain(self) -> str:
        """The domain that keys are about, if any."""
        return ""

    @property
    def pausable(self) -> Sequence[SequenceLine]:
        """The sequences that `p` is about."""
        return ()

    def key_of(self, name: str) -> str:
        """The key that has this name now, as people see it; empty where it would be refused."""
        active = self.active_bindings.values()
        named = (binding for _, binding, enabled, _ in active if binding.id == name and enabled)
        return next(map(self.app.get_key_display, named), "")

    # -- frames ----------------------------------------------------------------------------------------

    def paint(self, frame: Frame) -> None:
        if not self.is_mounted:
            return
        self.frame = frame
        if frame.is_past is not self.has_class("-past"):
            self.set_class(frame.is_past, "-past")
            self.refresh_bindings()  # what the past refuses isn't shown
        self.head.show(frame, self.app.path, key=self.key_of("acknowledge"))
        self.show(frame)

    def again(self) -> None:
        """Paint the same frame once more: the size, the focus or the order of a list is another."""
        if self.frame:
            self.paint(self.frame)

    def on_mount(self) -> None:
        if panel := self.panel:
            panel.table.focus()

    def on_screen_resume(self) -> None:
        self.app.hand_frame()

    def on_resize(self) -> None:
        self.call_after_refresh(self.again)

    on_descendant_focus = on_list_table_moved = again

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A key that would be refused isn't shown."""
        if action in {"pause", "timed_pause"}:
            return self.can_pause and self.frame is not None and not self.frame.only_reads
        return True

    # -- keys ------------------------------------------------------------------------------------------

    async def action_filter(self) -> None:
        from tui.screens.prompt import Prompt  # late: no first paint shows one

        panel = self.panel
        if panel is None:
            return
        table = panel.table
        before = table.arrangement

        def changed(text: str | None) -> None:
            table.rearrange(replace(before, find=text or ""))
            self.again()

        prompt = Prompt(sign="filter", hint=FILTER_HINT, value=before.find, changed=changed)
        await self.app.push_screen(prompt, changed)

    def action_sort(self) -> None:
        if panel := self.panel:
            panel.table.rearrange(panel.table.arrangement.next_order(panel.table.list_columns))
            self.again()

    def action_back(self) -> None:
        """Clear the filter and the order, else back to now, else up."""
        tables = [panel.table for panel in self.query(Panel) if panel.table.arrangement != Arrangement()]
        for table in tables:
            table.rearrange(Arrangement())
        if tables:
            self.again()
        elif not self.app.leave_past():
            self.app.action_climb(1)

    def action_acknowledge(self) -> None:
        self.app.acknowledge(self.domain or None)

    def action_pause(self) -> None:
        self.app.acts.pause(self.pausable, domain=self.domain)

    async def action_timed_pause(self) -> None:
        await self.app.acts.ask_time(self.pausable, domain=self.domain)


def panel_of(source: str, frame: Frame) -> dict[str, Any]:
    """The arguments with which a panel tells the age of its source."""
    return {
        "freshness": frame.freshness(source),
        "stamp": frame.board.stamps[source],
        "age": frame.age(source),
        "is_lit": frame.is_past,
    }
