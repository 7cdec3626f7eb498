"""The page of incidents: a lane for each domain, the chosen one in words, and its alarms."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.widget import Widget

from shared.domain.card import Tone
from shared.text.formats import show_span
from tui.model.frame import Frame
from tui.model.incident import WORKSPACE, LaneLine, legend
from tui.model.lines import PageRef
from tui.screens.base import Page, key
from tui.theme.palette import SEEN, Ink
from tui.theme.words import Lines, Words, clock, sign_words
from tui.widgets.lanes import LanePanel
from tui.widgets.table import ListTable
from tui.widgets.text import TextLine

RANGES = (timedelta(hours=6), timedelta(hours=24), timedelta(days=7))
BEFORE = 1.15
"""The range reaches so much further back than the beginning of an incident, so that it is seen how it began."""


def range_for(since: datetime | None, *, now: datetime) -> timedelta:
    """The shortest one that shows how it began; a day where nothing is wrong."""
    wanted = (now - since) * BEFORE if since else RANGES[1]
    return next((span for span in RANGES if wanted <= span), RANGES[-1])


class IncidentsPage(Page):
    """Follows the present, or ends at the moment that is shown; the left and right keys read the chosen lane."""

    name_in_path = "Incidents"
    BINDINGS: ClassVar[list[BindingType]] = [
        key("range", "r", "range", "6 h, 24 h, 7 days", "How far the lanes go back"),
        key("read-left", "left", "read(-1)", "read", "Read the lane at an earlier time", show=False),
        key("read-right", "right", "read(1)", "read", "Read the lane at a later time", show=False),
    ]

    def __init__(self, *, span: timedelta) -> None:
        super().__init__()
        self.lane_span = span
        self._cursor: datetime | None = None

    def parts(self) -> Iterable[Widget]:
        self.lanes = LanePanel("lanes", title="Incidents")
        self.summary = TextLine(id="summary")
        self.read = TextLine(id="reading")
        self.events = TextLine(id="events")
        self.legend = TextLine(id="legend")
        return (self.summary, self.lanes, self.read, self.events, self.legend)

    @property
    def domain(self) -> str:
        line = self.lanes.table.line
        return line.key if line and line.key != WORKSPACE else ""

    def show(self, frame: Frame) -> None:
        if self.looked_at is None:
            self.app.read_for(self)
        self.lanes.draw(self.incident, cursor=self._cursor, aside=show_span(self.lane_span))
        text = self.incident.summary if self.incident else ""
        self.summary.set(Words.of(f" {text}"))
        line = self.lanes.table.line
        if isinstance(line, LaneLine):
            self.read.set(line.reading)
            self.events.set(Lines((*self._alarms(frame, line.key), *line.happened)))
        self.legend.set(Lines(legend()))

    def _alarms(self, frame: Frame, domain: str) -> list[Words]:
        """The alarm of the chosen domain: since when, and whether it is acknowledged."""
        lines = []
        for alarm in frame.alarms:
            if alarm.where == domain:
                at = alarm.acknowledged_at
                seen = f"{SEEN} acknowledged {clock(at, now=frame.now)}" if at else "not acknowledged"
                text = alarm.told(frame.now).removeprefix(f"{domain} ")
                lines.append(Words((sign_words(Tone.BAD), (text, Ink.TEXT), (f"  {seen}", Ink.MUTED))))
        return lines

    @on(ListTable.Picked)
    def _picked(self) -> None:
        if self.domain:
            self.app.go(PageRef(kind="domain", key=self.domain))

    def action_read(self, by: int) -> None:
        """Move the cursor; it starts at the right end."""
        _, columns = self.lanes.table.place_of("lane")
        if self.incident is None or not columns:
            return
        at, span = self._cursor or self.incident.end, self.incident.end - self.incident.start
        column = max(0, min(int((at - self.incident.start) / span * columns) + by, columns - 1))
        # The middle of a cell: its edge could be counted to the one beside it.
        self._cursor = self.incident.start + span * (column + 0.5) / columns
        self.again()

    def action_range(self) -> None:
        self.lane_span = next((span for span in RANGES if span > self.lane_span), RANGES[0])
        self._cursor = None
        self.app.read_for(self)
        self.again()
