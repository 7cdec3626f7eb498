"""Draws text in cells: bars, large numerals, fitting, and styles by theme and age. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.theme.palette import Glyphs, Ink, Palette, Piece

_FONT = {
    "0": "### #.# #.# #.# ###", "1": ".#. ##. .#. .#. ###", "2": "### ..# ### #.. ###",
    "3": "### ..# ### ..# ###", "4": "#.# #.# ### ..# ..#", "5": "### #.. ### ..# ###",
    "6": "### #.. ### #.# ###", "7": "### ..# ..# ..# ..#", "8": "### #.# ### #.# ###",
    "9": "### #.# ### ..# ###", ",": ". . . # #", ".": ". . . . #", "%": "#.# ..# .#. #.. #.#",
    "–": "... ... ### ... ...", "k": "#.. #.# ##. #.# #.#", "M": "#...# ##.## #.#.# #...# #...#", " ": ".. .. .. .. ..",
    "/": "..# ..# .#. #.. #..", ":": ". # . # .", "+": "... .#. ### .#. ...", "?": "### ..# .## ... .#.",
    "A": ".#. #.# ### #.# #.#", "B": "##. #.# ##. #.# ##.", "C": ".## #.. #.. #.. .##", "D": "##. #.# #.# #.# ##.",
    "E": "### #.. ##. #.. ###", "F": "### #.. ##. #.. #..", "G": ".## #.. #.# #.# .##", "H": "#.# #.# ### #.# #.#",
    "I": "# # # # #", "J": "..# ..# ..# #.# .#.", "K": "#.# #.# ##. #.# #.#", "L": "#.. #.. #.. #.. ###",
    "N": "#..# ##.# #.## #..# #..#", "O": ".#. #.# #.# #.# .#.", "P": "##. #.# ##. #.. #..", "Q": ".#. #.# #.# ##. .##",
    "R": "##. #.# ##. #.# #.#", "S": ".## #.. .#. ..# ##.", "T": "### .#. .#. .#. .#.", "U": "#.# #.# #.# #.# ###",
    "V": "#.# #.# #.# #.# .#.", "W": "#...# #...# #.#.# ##.## #...#", "X": "#.# #.# .#. #.# #.#", "Y": "#.# #.# .#. .#. .#.",
    "Z": "### ..# .#. #.. ###", "(": ".# #. #. #. .#", ")": "#. .# .# .# #.", "-": "... ... ### ... ...",
}  # fmt: skip
"""Five pixels high and about three wide each, line by line."""
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


def cells(text: str) -> list[str]:
    """The text cell by cell; the second cell of a wide letter is empty."""
    found: list[str] = []
    for letter in text:
        width = cell_len(letter)
        if width:
            found += [letter, *[""] * (width - 1)]
        elif found:
            found[-1] += letter
    return found


HATCH_EVERY = 4


@lru_cache(maxsize=512)
def style(palette: Palette, ink: Ink, ground: str, faded: bool = False) -> Style:  # noqa: FBT001, FBT002 # cached
    """An ink on a ground; what is faded is all in the muted color, so that nothing shines that may be wrong."""
    color = palette.muted if faded and ink is not Ink.FAINT else palette.ink(ink)
    strong = ink is Ink.STRONG or (palette.plain and ink in {Ink.BAD, Ink.STOPPED})
    stands_out = palette.plain and ink is Ink.STOPPED
    attributes = Style(bold=strong and not faded, reverse=stands_out and not faded)
    return Style.parse(f"{color} on {ground}") + attributes


def line(pieces: Iterable[Piece], *, palette: Palette, ground: str, width: int, faded: bool = False) -> Strip:
    """The pieces as a line of a widget, filled up to its width."""
    segments = [Segment(text, style(palette, ink, ground, faded)) for text, ink in pieces if text]
    return Strip(segments).adjust_cell_length(width, style(palette, Ink.TEXT, ground))


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
