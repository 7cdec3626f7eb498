"""How the inboxes stand, in numerals that are read from three metres."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from shared.text.formats import show_count
from tui.model.board import Spread
from tui.theme import text_bars
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, Glyphs, Ink, Piece
from tui.widgets import paint

LARGE = 8
"""Lines of the form with double numerals: a label, a gap, five of digits, one below."""


class HealthCounts(ErrorBoundary, Widget):
    """Healthy, at risk, resting, unknown: each with sign, word and number."""

    DEFAULT_CSS = "HealthCounts { height: 8; background: $o-panel; }"

    def __init__(self, *, glyphs: Glyphs, id: str = "standing") -> None:  # noqa: A002 # the framework's word
        super().__init__(id=id)
        self._glyphs = glyphs
        self._spread = Spread()
        self._is_stale = False

    def show(self, spread: Spread, *, stale: bool) -> None:
        if (spread, stale) != (self._spread, self._is_stale):
            self._spread, self._is_stale = spread, stale
            self.refresh()

    def _parts(self) -> list[tuple[int, str, str, Ink]]:
        of, signs = self._spread, self._glyphs
        parts = [
            (of.healthy, signs.good, "healthy", Ink.GOOD),
            (of.at_risk, signs.warn, "at risk", Ink.WARN if of.at_risk else Ink.FAINT),
            (of.resting, signs.resting, "resting", Ink.TEXT if of.resting else Ink.FAINT),
        ]
        return [*parts, (of.unknown, signs.unknown, "unknown", Ink.UNKNOWN)] if of.unknown else parts

    def render_line(self, y: int) -> Strip:
        palette = PALETTES[self.app.theme]
        parts = self._parts()
        room = max(1, self.size.width // len(parts))
        segments: list[Segment] = []
        for part in parts:
            pieces = text_bars.fit([("   ", Ink.TEXT), *self._line(part, y, room)], room, more="")
            segments += paint.strip(pieces, palette=palette, ground=palette.panel, faded=self._is_stale)
        ground = paint.style(palette, Ink.TEXT, palette.panel)
        return Strip(segments).adjust_cell_length(self.size.width, ground)

    def _line(self, part: tuple[int, str, str, Ink], y: int, room: int) -> list[Piece]:
        number, sign, word, ink = part
        label: list[Piece] = [(f"{sign} ", ink), (word.upper(), Ink.STRONG)]
        if self.size.height < LARGE or self._glyphs.ascii:
            return [*label, (f"  {show_count(number)}", ink)] if y == 0 else []
        if y < 2:
            return label if y == 0 else []
        rows: Sequence[str] = text_bars.numeral(show_count(number), scale=2)
        if cell_len(rows[0]) + 3 > room:
            rows = ["", *text_bars.numeral(show_count(number)), ""]
        return [(rows[y - 2], ink)] if y - 2 < len(rows) else []
