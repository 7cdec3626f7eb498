"""The pages that are one list: sequences, and workspaces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import on
from textual.widget import Widget

from tui.model.columns import SEQUENCES
from tui.model.frame import Frame
from tui.model.lines import Freshness, PageRef, SequenceLine
from tui.model.workspaces import WORKSPACES
from tui.screens.base import Page, panel_of
from tui.widgets.table import ListTable, Panel


class SequencesPage(Page):
    """All sequences with their counts of 30 days; Enter opens one, `p` pauses or resumes it."""

    name_in_path = "Sequences"

    def parts(self) -> Iterable[Widget]:
        self.sequences = Panel("sequences", title="Sequences", columns=SEQUENCES, empty="No sequences yet.")
        yield self.sequences

    def show(self, frame: Frame) -> None:
        lines = frame.board.sequences
        count = sum(line.sequence.status == "paused" for line in lines)
        aside = f"30 days · {count} paused" if count else "30 days"
        self.sequences.show(lines, aside=aside, **panel_of("sequences", frame))

    @property
    def pausable(self) -> Sequence[SequenceLine]:
        line = self.sequences.table.line
        return (line,) if isinstance(line, SequenceLine) else ()

    @on(ListTable.Picked)
    def _picked(self, event: ListTable.Picked) -> None:
        event.stop()
        self.app.go(PageRef(kind="sequence", key=event.line.key))


class WorkspacesPage(Page):
    """Each workspace with its verdict, figures and age; Enter opens its board."""

    name_in_path = "Workspaces"
    is_always_live = True

    def parts(self) -> Iterable[Widget]:
        self.workspaces = Panel("workspaces", title="Workspaces", columns=WORKSPACES, empty="None.")
        yield self.workspaces

    def show(self, frame: Frame) -> None:
        self.workspaces.show(self.app.workspace_lines(), freshness=Freshness.FRESH)

    @on(ListTable.Picked)
    def _picked(self, event: ListTable.Picked) -> None:
        event.stop()
        self.app.enter(event.line.key)
