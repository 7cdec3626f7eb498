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


SCALES = ((3, 2), (2, 2), (2, 1), (1, 1), (1, 0))
"""Of the letters of the first part, and of the others, the largest first; 0 is plain text."""


def big_lines(parts: Sequence[str], *, width: int, height: int, glyphs: Glyphs) -> list[str]:
    """Each part as lines of text: in the largest letters that fit the width, broken between words, and so many lines."""
    room = width - 2 * MARGIN
    for first, others in () if glyphs.ascii else SCALES:
        drawn = [_drawn(part, others if n else first, room) for n, part in enumerate(parts)]
        lines = ["", *(line for rows in drawn for line in rows)]
        if len(lines) <= height and all(cell_len(line.rstrip()) <= room for line in lines):
            return lines
    return list(parts)


def _drawn(part: str, scale: int, room: int) -> list[str]:
    if not scale:
        return [part]
    rows: list[str] = []
    words: list[str] = []
    for word in [*part.upper().split(), ""]:
        longer = drawing.numeral(" ".join((*words, word)), scale=scale)
        if words and (not word or cell_len(longer[0].rstrip()) > room):
            rows += [*drawing.numeral(" ".join(words), scale=scale), ""]
            words = []
        words.append(word)
    return rows


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

    def show(self, parts: Sequence[str], *, tone: Tone, width: int, height: int, detail: str = "") -> None:
        """Nothing to say hides the block; `height` is how many lines it may take."""
        self.set_class(bool(parts), "-on")
        lines = big_lines(parts, width=width - 2, height=height - bool(detail), glyphs=self._glyphs)
        lines += [detail] if parts and detail else []
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
