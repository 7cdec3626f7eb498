"""A list with a lane for each domain, under an axis of times."""

from __future__ import annotations

from datetime import datetime

from textual.app import ComposeResult

from tui.model.columns import SIGN, Column, sign_of, text_of
from tui.model.incident import Incident, lane_lines
from tui.theme.palette import Ink
from tui.theme.words import Words
from tui.widgets.table import Panel
from tui.widgets.text import TextLine

LANES = (
    Column(SIGN, "", 1, sign_of),
    Column("domain", "Domain", 22, text_of(lambda x: x.key, Ink.STRONG), least=14),
    Column("lane", "", 10, lambda x, width: x.bar(width), grow=1),
    Column("now", "Stands", 18, lambda x, _: x.now, rank=1),
)


class LanePanel(Panel):
    """The list of lanes; `cursor` is the time that is read."""

    def __init__(self, name: str, *, title: str) -> None:
        super().__init__(name, title=title, columns=LANES, empty="No history is recorded here.")
        self.axis = TextLine(classes="axis")

    def compose(self) -> ComposeResult:
        yield self.head
        yield self.axis
        yield self.table
        yield self.note

    def draw(self, incident: Incident | None, *, cursor: datetime | None, aside: str = "") -> None:
        """Draw the lanes; the axis stands once the columns have got their places."""
        self.show(lane_lines(incident, cursor=cursor) if incident else (), aside=aside)
        before, columns = self.table.place_of("lane")
        if incident and columns:
            self.axis.set(Words.of(" " * before + incident.axis(columns), Ink.MUTED))
