"""Colors that can be read."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from rich.color import Color, ColorSystem

from tests.kit.contrast import LEAST, TERMINAL, contrast
from tui.theme.palette import PALETTES, Ink
from tui.theme.words import style_of

APART = 15.0
"""Of two colors in CIE Lab; from about ten on, they differ at a glance."""
COLORED = ("night", "day", "contrast")
"""Themes of many colors; in the others, attributes tell apart what color can't."""
DEFICIENCIES = {
    "none": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}  # fmt: skip
"""What remains of linear red, green and blue: Machado, Oliveira and Fernandes (2009), at the severity of 1.0
(https://www.inf.ufrgs.br/~oliveira/pubs_files/CVD_Simulation/CVD_Simulation.html)."""


@pytest.mark.parametrize("name", PALETTES)
def test_whatever_must_be_read_stands_out_from_every_ground(name: str) -> None:
    palette = PALETTES[name]
    grounds = [palette.panel, palette.ground]
    if name != "basic":  # whose other grounds are the terminal's own
        grounds += [palette.cursor, palette.alarm, palette.caution]
    weak = {
        (ink, ground): round(contrast(palette.ink(ink), ground), 2)
        for ink in Ink
        if ink is not Ink.FAINT
        for ground in grounds
        if contrast(palette.ink(ink), ground) < LEAST
    }
    assert weak == {}
    assert contrast(palette.strong, palette.alarm) >= LEAST


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("name", COLORED)
def test_healthy_at_risk_bad_and_unknown_differ_for_the_color_blind(name: str, deficiency: str) -> None:
    inks = (Ink.GOOD, Ink.WARN, Ink.BAD, Ink.UNKNOWN)
    seen = {ink: lab(seen_with(PALETTES[name].ink(ink), deficiency)) for ink in inks}
    near = {
        (one, other): round(math.dist(seen[one], seen[other]), 1)
        for one, other in combinations(inks, 2)
        if math.dist(seen[one], seen[other]) < APART
    }
    assert near == {}


def linear(color: str) -> tuple[float, ...]:
    parts = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return tuple(p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)


def seen_with(color: str, deficiency: str) -> tuple[float, ...]:
    """The linear color that a person with a deficiency sees instead."""
    seen = (sum(a * b for a, b in zip(row, linear(color), strict=True)) for row in DEFICIENCIES[deficiency])
    return tuple(min(1.0, max(0.0, part)) for part in seen)


def lab(rgb: tuple[float, ...]) -> tuple[float, float, float]:
    """CIE Lab of a linear sRGB color, under D65."""

    def curve(part: float) -> float:
        return part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116

    red, green, blue = rgb
    x = curve((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505)
    y = curve(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    z = curve((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("name", ["basic", "mono"])
def test_few_colors_still_tell_apart_what_is_at_risk_bad_and_stopped(name: str) -> None:
    palette = PALETTES[name]
    looks = set()
    for ink in (Ink.GOOD, Ink.WARN, Ink.BAD, Ink.STOPPED):
        style = style_of(palette, ink)
        assert style.color
        color = style.color.downgrade(ColorSystem.STANDARD) if name == "basic" else style.color
        looks.add((color.number, color.triplet, style.bold, style.reverse))
    assert len(looks) == 4


def test_the_sixteen_colors_are_those_of_the_terminal() -> None:
    palette = PALETTES["basic"]
    for ink in Ink:
        color = Color.parse(palette.ink(ink))
        assert color.downgrade(ColorSystem.STANDARD).get_truecolor(TERMINAL) == color.triplet
    for ground in (palette.ground, palette.cursor, palette.alarm, palette.caution):
        assert (Color.parse(ground).downgrade(ColorSystem.STANDARD).number or 0) < 8, "a bright ground blinks"
