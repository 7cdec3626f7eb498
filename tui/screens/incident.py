"""The page of an incident: every domain as a lane over time, with what happened as marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from tui.model.input.keys import INCIDENT, bindings, common, foot_of
from tui.model.lists.lines import PageRef
from tui.model.pages.page_status import PageStatus
from tui.model.plots.incident import Incident
from tui.screens.headed import HeadedScreen
from tui.theme.palette import Glyphs, Ink, Piece
from tui.widgets.lanes import LaneArea
from tui.widgets.panel import TextLine, WrappedText
from tui.widgets.status_lines import Foot

LOOK_EVERY = timedelta(seconds=15)


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


def range_for(since: datetime | None, *, now: datetime) -> IncidentRange:
    """The shortest one that shows how it began."""
    if since is None:
        return RANGES[1]
    return next((one for one in RANGES if (now - since) * BEFORE <= one.span), RANGES[-1])


class IncidentScreen(HeadedScreen[None]):
    """Follows the present, or ends at the moment that is replayed."""

    path = ("Incident",)
    keys = INCIDENT
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(INCIDENT, group="incident"),
        *bindings(common(INCIDENT)),
    ]

    def __init__(
        self,
        *,
        glyphs: Glyphs,
        now: Callable[[], datetime],
        remapped: Mapping[str, str],
        read: Callable[[IncidentScreen], object],
        since: datetime | None = None,
        domain: str = "",
    ) -> None:
        super().__init__(glyphs=glyphs)
        self._now, self._remapped, self._read = now, remapped, read
        self.range = range_for(since, now=now())
        self._looked_at: datetime | None = None
        self.title_line = WrappedText(id="incident-title")
        self.reading = TextLine(id="incident-reading")
        self.lanes = LaneArea(glyphs=glyphs)
        self.lanes.domain = domain
        self.lanes.show(None, empty="Loading…")
        self.foot = Foot()

    def compose(self) -> ComposeResult:
        yield self.head
        yield self.title_line
        yield self.reading
        yield self.lanes
        yield self.foot

    def on_mount(self) -> None:
        self.lanes.focus()
        self._look()

    def on_resize(self) -> None:
        self.call_after_refresh(self._resized)

    def _resized(self) -> None:
        self.foot.show(foot_of(self.keys_here, remapped=self._remapped))
        self._show_title()

    def tick(self, status: PageStatus) -> None:
        super().tick(status)
        self.set_class(status.is_past, "-replay")
        if self._looked_at and self._now() - self._looked_at >= LOOK_EVERY:
            self._look()

    def show(self, incident: Incident | None, *, empty: str = "") -> None:
        self.lanes.show(incident, empty=empty)
        self._show_title()

    @on(LaneArea.Moved)
    def _show_title(self) -> None:
        incident = self.lanes.incident
        summary = incident.summary if incident else ""
        title: list[Piece] = [("INCIDENT  ", Ink.STRONG), (summary, Ink.TEXT)]
        ranges = self._ranges()
        spare = self.size.width - 2 - sum(len(text) for text, _ in (*title, *ranges))
        if spare <= 0:
            ranges, spare = [(f"  {self.range.name}", Ink.MUTED)], 0
        self.title_line.set_lines([[*title, (" " * spare, Ink.TEXT), *ranges]])
        hint: list[Piece] = [(" The left and right keys, or the mouse, read a lane.", Ink.MUTED)]
        self.reading.set_text(self.lanes.reading() or (hint if incident else []))

    def _ranges(self) -> list[Piece]:
        keys = [self._remapped.get(key.id, key.keys) for key in INCIDENT if key.id in RANGE_KEYS]
        named: list[Piece] = []
        for key, one in zip(keys, RANGES, strict=True):
            ink = Ink.STRONG if one is self.range else Ink.MUTED
            named += [(f" {key} ", Ink.ACCENT), (f"{one.name} ", ink)]
        return named

    def _look(self) -> None:
        self._looked_at = self._now()
        self._read(self)

    # -- keys ------------------------------------------------------------------------------------------

    def action_range(self, number: int) -> None:
        self.range = RANGES[number]
        self._show_title()
        self._look()

    def action_lane(self, by: int) -> None:
        self.lanes.select(by)

    def action_cursor(self, by: int) -> None:
        self.lanes.move(by)

    def action_open(self) -> None:
        if lane := self.lanes.lane:
            self.post_message(self.PageWanted(PageRef(kind="domain", key=lane.domain)))

    def action_back(self) -> None:
        self.dismiss(None)


RANGE_KEYS = ("near", "day", "week")
