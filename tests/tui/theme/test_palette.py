"""Colours that can be read."""

from __future__ import annotations

import pytest

from tui.theme.palette import PALETTES, Ink


@pytest.mark.parametrize("name", PALETTES)
def test_text_stands_out_from_its_ground(name: str) -> None:
    palette = PALETTES[name]
    least = 2.2 if name == "dimmed" else 4.5
    for ink in (Ink.TEXT, Ink.STRONG, Ink.GOOD, Ink.WARN, Ink.BAD, Ink.UNKNOWN, Ink.ACCENT):
        assert contrast(palette.ink(ink), palette.panel) >= least, ink


def contrast(one: str, other: str) -> float:
    """The ratio of two colours' luminances, as the web's accessibility guidelines define it."""

    def luminance(colour: str) -> float:
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
