"""Which letters can be drawn in a picture, and with what.

The picture library's own font is on every machine alike, and has hardly more than English letters. Where names need
others, a font of this machine that has them all is taken. Where there is none, accents are left out; what still has
letters without a shape is not drawn at all, since boxes say nothing: whoever draws has other words for it.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from PIL import ImageFont, features
from PIL.ImageFont import FreeTypeFont

from shared.text.sanitize import visible

FOLDERS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "~/.local/share/fonts",
    "~/.fonts",
    "/Library/Fonts",
    "/System/Library/Fonts",
    "C:/Windows/Fonts",
)
MOST_FILES, LONGEST = 600, 120
PROBE = 24
"""Points at which is looked whether a letter has a shape."""
_KINDS = frozenset({".ttf", ".otf", ".ttc"})
_FANCY = re.compile(
    r"bold|italic|oblique|light|thin|black|medium|mono|serif|cond|narrow|math|emoji|symbol", re.IGNORECASE
)
_NO_LETTER = "\U0010ffff"
_WRITTEN_LEFT = frozenset({"R", "AL", "AN"})
_PICTURES = frozenset({"So", "Sk", "Cf", "Cs", "Co", "Cn"})


class Letters:
    """The fonts at hand. Looks at the disk once, and only when the library's own font does not do."""

    def __init__(self, folders: Sequence[str] = FOLDERS) -> None:
        self._folders = folders
        self._found: Sequence[FreeTypeFont] | None = None

    def choose(self, texts: Iterable[str]) -> FreeTypeFont:
        """The font that draws most of the texts, so that they look alike; the library's own where it does as well."""
        wanted = [text for text in map(plainly, texts) if text]
        own = _own()
        if all(covers(own, text) for text in wanted):
            return own
        return max((own, *self._others()), key=lambda font: sum(covers(font, text) for text in wanted))

    def draws(self, text: str, *, font: FreeTypeFont) -> tuple[str, FreeTypeFont] | None:
        """The text as it can be drawn, and with which font, this one if it can; None: not at all."""
        readable = plainly(text)
        if not readable:
            return None
        for one in (font, _own(), *self._others()):
            if covers(one, readable):
                return readable, one
        bare = without_accents(readable)
        return (bare, font) if covers(font, bare) else None

    def _others(self) -> Sequence[FreeTypeFont]:
        if self._found is None:
            self._found = tuple(_opened(self._folders))
        return self._found


def plainly(text: str) -> str:
    """The text without the little pictures in it, which no font of letters has."""
    kept = (
        letter for letter in visible(text[: 4 * LONGEST]) if unicodedata.category(letter) not in _PICTURES
    )
    return " ".join("".join(kept).split())[:LONGEST]


def without_accents(text: str) -> str:
    """`Zürich` as `Zurich`; letters that are more than an accent stay."""
    apart = unicodedata.normalize("NFKD", text)
    bare = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return bare.translate(_TYPED)


_TYPED = str.maketrans({"–": "-", "—": "-", "’": "'", "‘": "'", "“": '"', "”": '"', "…": "...", "·": "-"})


def covers(font: FreeTypeFont, text: str) -> bool:
    if not features.check("raqm") and any(_is_set_specially(letter) for letter in text):
        return False
    return all(letter.isspace() or _has(font, letter) for letter in text)


def _is_set_specially(letter: str) -> bool:
    return unicodedata.bidirectional(letter) in _WRITTEN_LEFT or unicodedata.category(letter) in {"Mn", "Mc"}


@lru_cache(maxsize=20_000)
def _has(font: FreeTypeFont, letter: str) -> bool:
    return _shape(font, letter) != _missing(font)


@lru_cache(maxsize=MOST_FILES)
def _missing(font: FreeTypeFont) -> tuple[tuple[int, int], bytes]:
    """What the font draws for a letter that it has not."""
    return _shape(font, _NO_LETTER)


def _shape(font: FreeTypeFont, letter: str) -> tuple[tuple[int, int], bytes]:
    mask = font.getmask(letter)
    return mask.size, bytes(mask)


@lru_cache(maxsize=1)
def _own() -> FreeTypeFont:
    font = ImageFont.load_default(PROBE)
    assert isinstance(font, FreeTypeFont)  # it is, whenever a size is given
    return font


def _opened(folders: Sequence[str]) -> Iterable[FreeTypeFont]:
    """The fonts of the folders, plain ones first."""
    files = (file for folder in folders for file in _files(Path(folder).expanduser()))
    for file in sorted(files, key=lambda one: (bool(_FANCY.search(one.name)), one.name))[:MOST_FILES]:
        try:
            yield ImageFont.truetype(str(file), PROBE)
        except OSError:  # pictures instead of letters, or no font at all
            continue


def _files(folder: Path) -> Iterable[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names if Path(name).suffix.lower() in _KINDS)
