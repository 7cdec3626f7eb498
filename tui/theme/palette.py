"""Colors and glyphs of the dashboard. Blue is healthy and orange isn't, and a glyph and a word always show it too.

Blue and orange are distinguishable with all common kinds of color blindness; red and green are never paired. Whatever must
be read has a contrast of 4.5:1 on every ground; `faint` is for what only decorates.
"""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum

from textual.theme import Theme

from shared.domain.card import Tone
from shared.frozen import frozen


class Ink(StrEnum):
    """The meaning of a piece of text, so that one place decides how it looks."""

    TEXT = "text"
    STRONG = "strong"
    MUTED = "muted"
    FAINT = "faint"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    STOPPED = "stopped"
    UNKNOWN = "unknown"
    ACCENT = "accent"


TONE_INK = {
    Tone.GOOD: Ink.GOOD,
    Tone.WARN: Ink.WARN,
    Tone.BAD: Ink.BAD,
    Tone.INFO: Ink.MUTED,
    Tone.UNKNOWN: Ink.UNKNOWN,
}


@frozen
class Palette:
    """One theme's colors, `#rrggbb`."""

    text: str
    strong: str
    muted: str
    faint: str
    good: str
    warn: str
    bad: str
    unknown: str
    accent: str
    ground: str
    panel: str
    cursor: str
    alarm: str
    """Behind the banner that tells of trouble."""
    caution: str
    """Behind what is at risk."""
    dark: bool = True
    plain: bool = False
    """The colors are few, or none: attributes tell apart what else only they would."""

    def ink(self, ink: Ink) -> str:
        return self.bad if ink is Ink.STOPPED else str(getattr(self, ink.value))


NIGHT = Palette(
    text="#c9d1d9", strong="#f0f4f8", muted="#8f9dab", faint="#3a4652",
    good="#6bb5ff", warn="#fca957", bad="#fe7a60", unknown="#b4a5d5", accent="#9ecbff",
    ground="#0d1218", panel="#131a22", cursor="#1f2d3d", alarm="#45200f", caution="#30240e",
)  # fmt: skip
DAY = Palette(
    text="#2b3440", strong="#0b1420", muted="#525d69", faint="#c9d0d6",
    good="#0e54b3", warn="#a24f00", bad="#a12523", unknown="#7a559b", accent="#0b5cad",
    ground="#eef0ee", panel="#fbfbf9", cursor="#e4eef7", alarm="#fae3d6", caution="#f8f0de", dark=False,
)  # fmt: skip
CONTRAST = Palette(
    text="#ffffff", strong="#ffffff", muted="#d0d0d0", faint="#707070",
    good="#5ac1ff", warn="#ffb000", bad="#ff8a5d", unknown="#e1d0ff", accent="#ffff66",
    ground="#000000", panel="#000000", cursor="#103a63", alarm="#6e2600", caution="#4d3800",
)  # fmt: skip
BASIC = Palette(
    text="#aaaaaa", strong="#ffffff", muted="#aaaaaa", faint="#555555",
    good="#55ffff", warn="#ffff55", bad="#ff5555", unknown="#ff55ff", accent="#55ffff",
    ground="#000000", panel="#000000", cursor="#0000aa", alarm="#aa0000", caution="#aa5500", plain=True,
)  # fmt: skip
"""The colors of a terminal that has sixteen, and eight grounds (https://man7.org/linux/man-pages/man4/console_codes.4.html)."""
MONO = Palette(
    text="#c8c8c8", strong="#ffffff", muted="#b4b4b4", faint="#505050",
    good="#bcbcbc", warn="#ffffff", bad="#ffffff", unknown="#d0d0d0", accent="#e0e0e0",
    ground="#101010", panel="#1a1a1a", cursor="#333333", alarm="#454545", caution="#303030", plain=True,
)  # fmt: skip
"""Greys, for NO_COLOR."""
PALETTES = {"night": NIGHT, "day": DAY, "contrast": CONTRAST, "basic": BASIC, "mono": MONO}


def theme(name: str) -> Theme:
    """The palette as a theme of the framework; every color is also a variable for the style sheet."""
    palette = PALETTES[name]
    # The style sheet names our own colors: the framework derives shades of its own, whose contrast nobody checks.
    colors = {f.name: getattr(palette, f.name) for f in fields(palette) if f.name not in {"dark", "plain"}}
    return Theme(
        name=name,
        primary=palette.accent,
        secondary=palette.muted,
        warning=palette.warn,
        error=palette.bad,
        success=palette.good,
        accent=palette.accent,
        foreground=palette.text,
        background=palette.ground,
        surface=palette.panel,
        panel=palette.panel,
        dark=palette.dark,
        variables={f"o-{key}": value for key, value in colors.items()},
    )


SIGNS = {
    Tone.GOOD: "●",
    Tone.WARN: "▲",
    Tone.BAD: "◆",
    Tone.UNKNOWN: "?",
    Tone.INFO: "·",
}
"""Each is one cell wide in every font; the driver of a plain console translates them."""
STOPPED = "‖"
"""The sign of what can't send."""
RUNNING, WARMING, RESTING, SEEN = "►", "◐", "○", "✓"
