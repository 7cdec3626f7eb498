"""From inks to styles: what a theme makes of a piece of text, and what age does to it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.theme.palette import Glyphs, Ink, Palette, Piece

HATCH_EVERY = 4


@lru_cache(maxsize=512)
def style(palette: Palette, ink: Ink, ground: str, faded: bool = False) -> Style:  # noqa: FBT001, FBT002 # cached
    """An ink on a ground; what is faded is all in the muted colour, so that nothing shines that may be wrong."""
    colour = palette.muted if faded and ink is not Ink.FAINT else palette.ink(ink)
    return Style.parse(f"{colour} on {ground}") + Style(bold=ink is Ink.STRONG and not faded)


def strip(pieces: Iterable[Piece], *, palette: Palette, ground: str, faded: bool = False) -> list[Segment]:
    return [Segment(text, style(palette, ink, ground, faded)) for text, ink in pieces if text]


def hatched(row: Strip, *, y: int, glyphs: Glyphs, palette: Palette, ground: str) -> Strip:
    """The same row with its blanks hatched: this data is too old to be believed."""
    hatch = style(palette, Ink.FAINT, ground)
    segments: list[Segment] = []
    x = 0
    for segment in row:
        for blank, text in _runs(segment.text):
            if blank and len(text) > 1:
                drawn = "".join(
                    glyphs.hatch if (x + i + y) % HATCH_EVERY == 0 else " " for i in range(len(text))
                )
                segments.append(Segment(drawn, hatch))
            else:
                segments.append(Segment(text, segment.style))
            x += cell_len(text)
    return Strip(segments, row.cell_length)


def _runs(text: str) -> Iterable[tuple[bool, str]]:
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or (text[at] == " ") != (text[start] == " "):
            yield text[start] == " ", text[start:at]
            start = at
