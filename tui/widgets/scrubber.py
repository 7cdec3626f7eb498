"""The lanes of the domains as a scrubber: where in time the page is that is shown above them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from textual.app import ComposeResult
from textual.containers import Vertical

from tui.model.columns import SIGN, Column, sign_of, text_of
from tui.model.incident import Incident
from tui.model.lanes import axis, lane_lines
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import Ink
from tui.theme.words import Words
from tui.widgets.table import ListTable, Panel
from tui.widgets.text import TextLine

LANES = (
    Column(SIGN, "", 1, sign_of),
    Column("domain", "Domain", 22, text_of(lambda x: x.key, Ink.STRONG), least=14),
    Column("lane", "", 20, lambda x, width: x.bar(min(width, 500)), grow=1),
    Column("now", "Stands", 18, lambda x, _: x.now, rank=1),
)
BAR = "lane"


class LanePanel(Panel):
    """A lane for each domain; `columns` is how many cells its bar has."""

    def __init__(self, name: str, *, title: str) -> None:
        super().__init__(name, title=title, columns=LANES, empty="No history is recorded here.")
        self.axis = TextLine(classes="axis")
        self.incident: Incident | None = None

    def compose(self) -> ComposeResult:
        yield self.head
        yield self.axis
        yield self.table
        yield self.note

    def draw(self, incident: Incident | None, *, cursor: datetime | None, aside: str = "") -> None:
        self.incident = incident
        lines = lane_lines(incident, cursor=cursor) if incident else ()
        self.show(lines, aside=aside)
        before, columns = self.place_of_bar()
        if incident and columns:
            self.axis.set(Words(((" " * before + axis(incident, columns), Ink.MUTED),)))

    def place_of_bar(self) -> tuple[int, int]:
        """The cells before the bars, and those of a bar."""
        return self.table.place_of(BAR)


class Scrubber(ErrorBoundary, Vertical):
    """Shown while the past is; the page above is that of the cursor's moment."""

    DEFAULT_CSS = "Scrubber { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__(id="scrubber")
        self.panel = LanePanel("scrubbed", title="What happened")
        self._incident: Incident | None = None
        self._at: datetime | None = None

    def compose(self) -> ComposeResult:
        yield self.panel

    def on_mount(self) -> None:
        self.panel.table.can_focus = False

    def set_incident(self, incident: Incident | None) -> None:
        self._incident = incident
        self._draw()

    def at(self, moment: datetime) -> None:
        self._at = moment
        self._draw()

    def on_list_table_moved(self, event: ListTable.Moved) -> None:
        """The lanes have their place only now: the axis follows."""
        event.stop()
        self._draw()

    def _draw(self) -> None:
        incident, at = self._incident, self._at
        if incident and at and at < incident.start:
            incident = replace(incident, start=at)
        self.panel.draw(incident, cursor=at)
