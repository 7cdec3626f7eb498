"""Large letters for a wall, of half blocks. Pure; the framework's Digits has no letters."""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len

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


SCALES = (2, 1)


@lru_cache
def letters(text: str, scale: int) -> tuple[str, ...]:
    """Letters as lines of text: three at scale 1, five at scale 2; unknown characters are left out."""
    pixels = ["", "", "", "", ""]
    for character in text.upper():
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


def big(text: str, *, width: int, height: int) -> list[str]:
    """The text in the largest letters that fit into so many cells and lines, broken between words; else as it is."""
    for scale in SCALES:
        rows: list[str] = []
        words: list[str] = []
        for word in [*text.split(), ""]:
            longer = letters(" ".join((*words, word)), scale)
            if words and (not word or cell_len(longer[0].rstrip()) > width):
                rows += [*letters(" ".join(words), scale), ""]
                words = []
            words.append(word)
        if rows and len(rows) <= height and all(cell_len(row.rstrip()) <= width for row in rows):
            return rows
    return [text]
