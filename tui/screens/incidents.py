"""What happened, and when: a lane for each domain, the chosen one in words, and the alarms of the last day."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from textual import events, on
from textual.binding import BindingType
from textual.widget import Widget

from shared.domain.card import Tone
from tui.model.frame import Frame
from tui.model.incident import Incident
from tui.model.lanes import WORKSPACE, LaneLine, happened, legend, reading
from tui.model.lines import PageRef
from tui.screens.base import Page, key
from tui.theme.palette import SEEN, SIGNS, TONE_INK, Ink
from tui.theme.words import Lines, Words, clock
from tui.widgets.scrubber import LanePanel
from tui.widgets.table import ListTable
from tui.widgets.text import TextLine


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentRange:
    """How far the lanes go back."""

    name: str
    span: timedelta


RANGES = (
    IncidentRange(name="6 hours", span=timedelta(hours=6)),
    IncidentRange(name="24 hours", span=timedelta(hours=24)),
    IncidentRange(name="7 days", span=timedelta(days=7)),
)
BEFORE = 1.15
"""The range reaches so much further back than the beginning of an incident, so that it is seen how it began."""
MOST_EVENTS = 8


def range_for(since: datetime | None, *, now: datetime) -> int:
    """The shortest one that shows how it began."""
    if since is None:
        return 1
    fitting = (n for n, one in enumerate(RANGES) if (now - since) * BEFORE <= one.span)
    return next(fitting, len(RANGES) - 1)


class IncidentsPage(Page):
    """Follows the present, or ends at the moment that is shown; the left and right keys read the chosen lane."""

    name_in_path = "Incidents"
    BINDINGS: ClassVar[list[BindingType]] = [
        key("range", "r", "range", "6 h, 24 h, 7 days", "How far the lanes go back", show=True),
        key("read-left", "left", "read(-1)", "read", "Read the lane at an earlier time"),
        key("read-right", "right", "read(1)", "read", "Read the lane at a later time"),
    ]

    def __init__(self, *, since: datetime | None = None) -> None:
        super().__init__()
        self._since = since
        self.number: int | None = None
        self.incident: Incident | None = None
        self._cursor: datetime | None = None

    def parts(self) -> Iterable[Widget]:
        self.lanes = LanePanel("lanes", title="Incidents")
        self.summary = TextLine(id="summary")
        self.read = TextLine(id="reading")
        self.events = TextLine(id="events")
        self.legend = TextLine(id="legend")
        return (self.summary, self.lanes, self.read, self.events, self.legend)

    @property
    def range(self) -> IncidentRange:
        return RANGES[self.number or 0]

    @property
    def lane_span(self) -> timedelta:  # type: ignore[override] # of this page it is always known
        return self.range.span

    @property
    def chosen(self) -> PageRef | None:
        line = self.lanes.table.line
        return PageRef(kind="domain", key=line.key) if line and line.key != WORKSPACE else None

    def set_incident(self, incident: Incident | None) -> None:
        self.incident = incident
        self.again()

    def show(self, frame: Frame) -> None:
        if self.number is None:
            self.number = range_for(self._since, now=frame.now)
            self.app.read_for(self)
        self.lanes.draw(self.incident, cursor=self._cursor, aside=self.range.name)
        text = self.incident.summary if self.incident else ""
        self.summary.set(Words(((f" {text}", Ink.TEXT),)))
        line = self.lanes.table.line
        if isinstance(line, LaneLine):
            self.read.set(reading(line))
            self.events.set(Lines((*self._alarms(frame, line.key), *happened(line, most=MOST_EVENTS))))
        self.legend.set(Lines(legend()))

    def _alarms(self, frame: Frame, domain: str) -> Sequence[Words]:
        """The alarm of the chosen domain: since when, and whether it is acknowledged."""
        found = []
        for one in frame.ordered_alarms:
            if one.where != domain:
                continue
            tone = Tone.BAD if one.is_on else Tone.GOOD
            at = one.acknowledged_at
            seen = f"{SEEN} acknowledged {clock(at, now=frame.now)}" if at else "not acknowledged"
            sign = (f"{SIGNS[tone]} ", TONE_INK[tone])
            found.append(
                Words(
                    (
                        sign,
                        (one.told(frame.now).removeprefix(f"{domain} "), Ink.TEXT),
                        (f"  {seen}", Ink.MUTED),
                    )
                )
            )
        return found

    @on(ListTable.Picked)
    def _picked(self, event: ListTable.Picked) -> None:
        event.stop()
        if event.line.key != WORKSPACE:
            self.app.go(PageRef(kind="domain", key=event.line.key))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        before, columns = self.lanes.place_of_bar()
        x = event.screen_x - self.lanes.table.region.x - before
        if self.incident and 0 <= x < columns:
            self._point(x, columns)

    def _point(self, column: int, columns: int) -> None:
        if self.incident:
            span = self.incident.end - self.incident.start
            self._cursor = self.incident.start + span * (column + 0.5) / columns
            self.again()

    def action_read(self, by: int) -> None:
        """From the right end first."""
        _, columns = self.lanes.place_of_bar()
        if self.incident is None or not columns:
            return
        at, span = self._cursor or self.incident.end, self.incident.end - self.incident.start
        column = int((at - self.incident.start) / span * columns) + by
        self._point(max(0, min(column, columns - 1)), columns)

    def action_range(self) -> None:
        self.number = ((self.number or 0) + 1) % len(RANGES)
        self._cursor = None
        self.app.read_for(self)
        self.again()
