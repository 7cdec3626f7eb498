"""Thin bars and large numerals, drawn with characters that every font has. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rich.cells import cell_len, set_cell_size

from tui.theme.palette import Glyphs, Ink, Piece

_FONT = {
    "0": "### #.# #.# #.# ###", "1": ".#. ##. .#. .#. ###", "2": "### ..# ### #.. ###",
    "3": "### ..# ### ..# ###", "4": "#.# #.# ### ..# ..#", "5": "### #.. ### ..# ###",
    "6": "### #.. ### #.# ###", "7": "### ..# ..# ..# ..#", "8": "### #.# ### #.# ###",
    "9": "### #.# ### ..# ###", ",": ". . . # #", ".": ". . . . #", "%": "#.# ..# .#. #.. #.#",
    "–": "... ... ### ... ...", "k": "#.. #.# ##. #.# #.#", "M": "#.# ### #.# #.# #.#", " ": ". . . . .",
    "/": "..# ..# .#. #.. #..", ":": ". # . # .", "+": "... .#. ### .#. ...", "?": "### ..# .## ... .#.",
}  # fmt: skip
"""Three by five pixels each, line by line."""
HALVES = {"..": " ", "#.": "▀", ".#": "▄", "##": "█"}


def bar(fraction: float | None, width: int, *, ink: Ink, glyphs: Glyphs) -> list[Piece]:
    """A thin line, as much of it strong as the fraction says, in halves of a cell."""
    if width <= 0:
        return []
    if fraction is None:
        return [(glyphs.rest * width, Ink.FAINT)]
    halves = round(min(max(fraction, 0.0), 1.0) * width * 2)
    full, half = divmod(halves, 2)
    if glyphs.ascii:
        return [("=" * full, ink), ("." * (width - full), Ink.FAINT)]
    return [("━" * full + "╸" * half, ink), ("─" * (width - full - half), Ink.FAINT)]


@lru_cache(maxsize=128)
def numeral(text: str, *, scale: int = 1) -> tuple[str, ...]:
    """A number as lines of text: three at scale 1, five at scale 2; unknown characters are left out."""
    pixels = ["", "", "", "", ""]
    for character in text:
        if character in _FONT:
            for line, part in enumerate(_FONT[character].split()):
                pixels[line] += part + "."
    if scale > 1:
        return tuple("".join("█" * scale if p == "#" else " " * scale for p in line) for line in pixels)
    pixels.append("." * len(pixels[0]))
    return tuple(
        "".join(HALVES[upper + lower] for upper, lower in zip(pixels[y], pixels[y + 1], strict=True))
        for y in (0, 2, 4)
    )


def fit(pieces: Sequence[Piece], width: int, *, right: bool = False, more: str = "…") -> list[Piece]:
    """The pieces in exactly so many cells: cut with a sign that says so, or filled up."""
    total = sum(cell_len(text) for text, _ in pieces)
    if total <= width:
        gap: Piece = (" " * (width - total), Ink.TEXT)
        return [gap, *pieces] if right else [*pieces, gap]
    fitted: list[Piece] = []
    room = width - cell_len(more)
    for text, ink in pieces:
        length = cell_len(text)
        if length > room:
            return [*fitted, (set_cell_size(text, max(0, room)) + more, ink)] if width > 0 else fitted
        fitted.append((text, ink))
        room -= length
    return fitted
