"""The heatmap of health: every inbox of the workspace on one screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from shared.text.sanitize import visible
from tui.model.input.keys import HEATMAP, bindings, common, foot_of
from tui.model.lists.lines import PageRef
from tui.model.pages.page_status import PageStatus
from tui.model.plots import heatmap
from tui.screens.headed import HeadedScreen
from tui.theme.palette import TONE_INK, Glyphs, Ink, Piece
from tui.widgets.heatmap import HeatArea
from tui.widgets.panel import TextLine
from tui.widgets.status_lines import Foot


class HeatmapScreen(HeadedScreen[None]):
    """Follows the present, or shows the moment that is replayed."""

    path = ("Heatmap",)
    keys = HEATMAP
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(HEATMAP, group="heatmap"), *bindings(common(HEATMAP))]

    def __init__(self, *, glyphs: Glyphs, remapped: Mapping[str, str]) -> None:
        super().__init__(glyphs=glyphs)
        self._glyphs, self._remapped = glyphs, remapped
        self._status: PageStatus | None = None
        self.about = TextLine(id="heat-about")
        self.heat = HeatArea(glyphs=glyphs)
        self.legend = TextLine(id="heat-legend")
        self.foot = Foot()

    def compose(self) -> ComposeResult:
        yield self.head
        yield self.about
        yield self.heat
        yield self.legend
        yield self.foot

    def on_mount(self) -> None:
        self.heat.focus()
        self.legend.set_text(heatmap.legend(self._glyphs))

    def on_resize(self) -> None:
        self.call_after_refresh(lambda: self.foot.show(foot_of(self.keys_here, remapped=self._remapped)))

    def tick(self, status: PageStatus) -> None:
        super().tick(status)
        self.set_class(status.is_past, "-replay")
        self._status = status
        board = status.board
        stamp = board.stamps.get("inboxes") if board else None
        stale = board is not None and board.is_stale("inboxes", status.now)
        is_read = stamp is not None and stamp.read_at is not None
        empty = "No inboxes are connected to this outreach workspace." if is_read else "Loading…"
        self.heat.show(board, stale=stale and is_read, empty=empty)
        self._show_about()

    @on(HeatArea.Moved)
    def _show_about(self) -> None:
        """The selected inbox: its health, how it stands, and how old that is."""
        line, status = self.heat.line, self._status
        if line is None or status is None or status.board is None:
            self.about.set_text([])
            return
        score = line.inbox.health_score
        pieces: list[Piece] = [
            (f" {self._glyphs.of(line.tone)} ", TONE_INK[line.tone]),
            (visible(line.key), Ink.STRONG),
            (f"  health {'unknown' if score is None else f'{score:g}'}", TONE_INK[line.tone]),
            (f"  {visible(line.verdict.word)}", Ink.TEXT),
        ]
        stamp = status.board.stamps.get("inboxes")
        stale = status.board.is_stale("inboxes", status.now)
        age: list[Piece] = (
            [(f" {stamp.words(status.now)} ", Ink.WARN if stale else Ink.MUTED)] if stamp else []
        )
        self.about.set_text(pieces, age)

    # -- keys ------------------------------------------------------------------------------------------

    def action_move(self, right: int, down: int) -> None:
        self.heat.move(right=right, down=down)

    @on(HeatArea.Picked)
    def action_open(self) -> None:
        if line := self.heat.line:
            self.post_message(self.PageWanted(PageRef(kind="inbox", key=line.key)))

    def action_back(self) -> None:
        self.dismiss(None)
