"""The current problem in letters readable from five meters, over the full width of a wall."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.strip import Strip
from textual.widget import Widget

from shared.domain.card import Tone
from tui.theme import drawing
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, Glyphs, Ink, Piece

MARGIN = 3
GROUNDS = {Tone.BAD: "alarm", Tone.WARN: "caution"}


def big_lines(parts: Sequence[str], *, width: int, height: int, glyphs: Glyphs) -> list[str]:
    """Each part as lines of text: in the largest letters in which all fit the width and so many lines, else as plain text."""
    for first, others in () if glyphs.ascii else ((2, 2), (2, 1), (1, 1)):
        drawn = [drawing.numeral(part.upper(), scale=others if n else first) for n, part in enumerate(parts)]
        fits = all(cell_len(rows[0]) + 2 * MARGIN <= width for rows in drawn)
        if fits and sum(len(rows) + 1 for rows in drawn) + 1 <= height:
            return ["", *(line for rows in drawn for line in (*rows, ""))]
    return list(parts)


class TroubleBlock(ErrorBoundary, Widget):
    """`4 of 9 domains paused`, `28 of 60 inboxes not sending`, `since 04:12`, each on its own lines."""

    DEFAULT_CSS = (
        "TroubleBlock { height: auto; margin: 1; display: none; } TroubleBlock.-on { display: block; }"
    )

    def __init__(self, *, glyphs: Glyphs) -> None:
        super().__init__(id="trouble")
        self._glyphs = glyphs
        self._parts: tuple[str, ...] = ()
        self._tone = Tone.BAD
        self._lines: list[str] = []

    @property
    def text(self) -> str:
        return " · ".join(self._parts)

    def show(self, parts: Sequence[str], *, tone: Tone, width: int, height: int) -> None:
        """Nothing to say hides the block; `height` is how many lines it may take."""
        self.set_class(bool(parts), "-on")
        lines = big_lines(parts, width=width - 2, height=height, glyphs=self._glyphs)
        if (tuple(parts), tone, lines) != (self._parts, self._tone, self._lines):
            self._parts, self._tone, self._lines = tuple(parts), tone, lines
            self.styles.height = max(1, len(lines))
            self.refresh()

    def render_line(self, y: int) -> Strip:
        palette = PALETTES[self.app.theme]
        text = self._lines[y] if y < len(self._lines) else ""
        pieces: list[Piece] = [(" " * MARGIN + text, Ink.STRONG)]
        ground = str(getattr(palette, GROUNDS.get(self._tone, "panel")))
        return drawing.line(pieces, palette=palette, ground=ground, width=self.size.width)
