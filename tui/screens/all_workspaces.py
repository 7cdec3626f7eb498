"""All workspaces at once, for hands and for a wall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.screen import Screen

from tui.feed.workspace_state import Station
from tui.model.all_workspaces import (
    EVERYWHERE,
    WORKSPACES,
    EverywhereLine,
    WorkspaceLine,
    headed,
    workspace_line,
    worst,
)
from tui.model.board import Spread
from tui.model.page_content import Spot
from tui.screens.wall import shift_at
from tui.theme import formatting
from tui.theme.error_boundary import Sturdy
from tui.theme.palette import Glyphs, Ink, Piece
from tui.widgets.health_counts import Standing
from tui.widgets.line_table import Grid
from tui.widgets.panel import Head, Panel
from tui.widgets.status_lines import Banner, Foot, heartbeat

KEYS = (
    ("enter", "its board"),
    ("tab", "other list"),
    ("s", "sort"),
    ("f", "faults"),
    ("w", "wall"),
    ("esc", "back"),
)
EACH = 10
"""Lines for a workspace in numerals."""


class Towering(Sturdy, Vertical):
    """A workspace on a wall: its name, verdict and age over numerals that are read from three metres."""

    DEFAULT_CSS = "Towering { height: 9; margin: 1 1 0 1; } Towering Standing { margin: 0; }"

    def __init__(self, number: int, *, glyphs: Glyphs) -> None:
        super().__init__()
        self._glyphs = glyphs
        self.head = Head()
        self.standing = Standing(glyphs=glyphs, id=f"standing-{number}")

    def compose(self) -> ComposeResult:
        yield self.head
        yield self.standing

    def say(self, line: WorkspaceLine) -> None:
        self.head.show(*headed(line, glyphs=self._glyphs))
        self.standing.say(line.board.spread if line.board else Spread(), doubtful=line.late)


class EverythingScreen(Sturdy, Screen[None]):
    """Each workspace with its verdict, and under them the worst inboxes over all; on a wall nobody has to press keys."""

    AUTO_FOCUS: ClassVar[str] = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,0", "leave", show=False, id="everything.back"),
        Binding("tab", "other_list", show=False, priority=True),
        Binding("s", "sort", show=False, id="everything.sort"),
        Binding("f", "faults", show=False, id="everything.faults"),
        Binding("w", "wall", show=False, id="everything.wall"),
        Binding("a", "seen", show=False, id="everything.seen"),
    ]

    @dataclass
    class Entered(Message):
        """A workspace was opened, or one of its inboxes."""

        station: Station
        spot: Spot | None = None

    class WallWanted(Message):
        """The same without keys, for a wall."""

    def __init__(self, *, glyphs: Glyphs, began: datetime, wall: bool) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._began = began
        self._wall = wall
        self.set_class(wall, "-wall")
        self._stations: Sequence[Station] = ()
        self.top = Head(id="top", ground="ground")
        self.banner = Banner(glyphs=glyphs)
        self.foot = Foot()
        self.workspaces = Panel(
            "workspaces", title="Workspaces", columns=WORKSPACES, glyphs=glyphs, empty="None.", key=""
        )
        self.inboxes = Panel(
            "everywhere",
            title="Inboxes of all, worst first",
            columns=EVERYWHERE,
            glyphs=glyphs,
            empty="No inboxes are connected.",
            key="",
        )

    def compose(self) -> ComposeResult:
        """Once, for good."""
        with Vertical(id="everything"):
            yield self.top
            yield self.banner
            yield self.workspaces
            yield self.inboxes
            yield self.foot

    def on_mount(self) -> None:
        """A wall takes no cursor."""
        for panel in (self.workspaces, self.inboxes):
            panel.grid.can_focus = not self._wall
        self.workspaces.grid.roomy = True
        self.foot.display = not self._wall
        if not self._wall:
            self.workspaces.grid.focus()

    def on_resize(self) -> None:
        self.call_after_refresh(lambda: self.foot.say(KEYS))
        self._arrange()

    def _arrange(self) -> None:
        """On a wall numerals for each workspace where half of the screen holds them; else a list."""
        large = self._wall and 0 < len(self._stations) * EACH <= self.size.height * 3 // 4
        self.workspaces.display = not large
        for one in self.query(Towering):
            one.display = large

    def show(self, stations: Sequence[Station], *, now: datetime, alarms: Sequence[str]) -> None:
        """All of them as they stand."""
        if self._wall and not self._stations:
            self.mount_all(
                [Towering(n, glyphs=self._glyphs) for n in range(len(stations))], after=self.banner
            )
        self._stations = stations
        self._arrange()
        self.workspaces.styles.height = min(2 * len(stations) + 3, max(4, self.size.height // 2))
        boards = [(station.workspace, station.board) for station in stations]
        self.inboxes.show(worst(boards), stamp=None, now=now)
        self.tick(now, alarms=alarms)

    def tick(self, now: datetime, *, alarms: Sequence[str]) -> None:
        """A second has passed: ages, clock, and on a wall the shift against burning in."""
        lines = tuple(workspace_line(s.workspace, s.board, now=now) for s in self._stations)
        self.workspaces.show(lines, stamp=None, now=now)
        for line, one in zip(lines, self.query(Towering), strict=False):  # none where there is a list
            one.say(line)
        beats = sum(station.last.beats for station in self._stations if station.last)
        left: list[Piece] = [
            (" OUTREACH ", Ink.STRONG),
            (f" {formatting.plural(len(lines), 'workspace')}", Ink.ACCENT),
        ]
        clock: Piece = (now.astimezone().strftime("   %H:%M:%S "), Ink.TEXT)
        self.top.show(left, [*heartbeat(beats, glyphs=self._glyphs), clock])
        self.banner.say(None, now=now, alarms=alarms)
        if self._wall:
            right, down = shift_at(max(0.0, (now - self._began) / timedelta(seconds=1)))
            self.query_one("#everything").styles.padding = (down, 0, 0, right)

    # -- hands -----------------------------------------------------------------------------------------

    @property
    def grid(self) -> Grid:
        return (self.inboxes if self.inboxes.grid.has_focus else self.workspaces).grid

    @on(Grid.Picked)
    def _picked(self, event: Grid.Picked) -> None:
        event.stop()
        line = event.line
        assert isinstance(line, WorkspaceLine | EverywhereLine)
        station = next(one for one in self._stations if one.workspace == line.workspace)
        spot = Spot(kind="inbox", key=line.line.key) if isinstance(line, EverywhereLine) else None
        self.dismiss(None)
        self.app.post_message(self.Entered(station, spot))

    @on(Grid.Arranged)
    def _arranged(self) -> None:
        for panel in (self.workspaces, self.inboxes):
            panel.tick(self.app.now())  # type: ignore[attr-defined] # the app's clock

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_other_list(self) -> None:
        (self.workspaces if self.inboxes.grid.has_focus else self.inboxes).grid.focus()

    def action_sort(self) -> None:
        self.grid.next_order()

    def action_faults(self) -> None:
        self.grid.ask(replace(self.grid.arrangement, faults=not self.grid.arrangement.faults))

    @property
    def is_wall(self) -> bool:
        return self._wall

    def action_wall(self) -> None:
        self.dismiss(None)
        self.app.post_message(self.WallWanted())

    def action_seen(self) -> None:
        self.app.acknowledge()  # type: ignore[attr-defined] # the dashboard's app

    def on_key(self, event: events.Key) -> None:
        """On a wall any key but the one for alarms goes back to hands."""
        if self._wall and event.key != "a":
            event.stop()
            event.prevent_default()
            self.dismiss(None)
