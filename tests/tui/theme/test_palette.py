"""Colors that can be read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.color import Color, ColorSystem
from rich.terminal_theme import TerminalTheme

from tests.tui.accounts import account, board_of
from tui.model.columns import DOMAINS, INBOXES
from tui.model.lines import DomainLine
from tui.theme import drawing
from tui.theme.palette import ASCII, PALETTES, UNICODE, Ink

TERMINAL = TerminalTheme(
    (0, 0, 0),
    (170, 170, 170),
    [(0, 0, 0), (170, 0, 0), (0, 170, 0), (170, 85, 0), (0, 0, 170), (170, 0, 170), (0, 170, 170),
     (170, 170, 170)],
    [(85, 85, 85), (255, 85, 85), (85, 255, 85), (255, 255, 85), (85, 85, 255), (255, 85, 255), (85, 255, 255),
     (255, 255, 255)],
)  # fmt: skip
"""The colors of the Linux console."""


@pytest.mark.parametrize("name", PALETTES)
def test_text_stands_out_from_its_ground(name: str) -> None:
    palette = PALETTES[name]
    least = 2.2 if name == "dimmed" else 4.5
    for ink in (Ink.TEXT, Ink.STRONG, Ink.GOOD, Ink.WARN, Ink.BAD, Ink.UNKNOWN, Ink.ACCENT):
        assert contrast(palette.ink(ink), palette.panel) >= least, ink


@pytest.mark.parametrize("name", ["basic", "mono"])
def test_few_colors_still_tell_apart_what_is_at_risk_bad_and_stopped(name: str) -> None:
    palette = PALETTES[name]
    looks = set()
    for ink in (Ink.GOOD, Ink.WARN, Ink.BAD, Ink.STOPPED):
        style = drawing.style(palette, ink, palette.panel)
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


def test_a_resting_inbox_and_a_paused_domain_have_a_sign_of_their_own() -> None:
    snapshot = account()
    boxes = tuple(
        replace(box, health_score=50.0, status="resting" if box.domain == "useacme.example" else "active")
        for box in snapshot.inboxes.value or ()
    )
    board = board_of(replace(snapshot, inboxes=replace(snapshot.inboxes, value=boxes)))
    for glyphs in (UNICODE, ASCII):
        signs = {line.inbox.status: tuple(INBOXES[0].render(line, 1, glyphs)) for line in board.inboxes}
        assert signs == {"resting": ((glyphs.paused, Ink.STOPPED),), "active": ((glyphs.bad, Ink.BAD),)}
        of_domains = {one.domain: DOMAINS[0].render(DomainLine(one), 1, glyphs)[0] for one in board.domains}
        assert of_domains["useacme.example"] == (glyphs.paused, Ink.STOPPED)
        assert of_domains["getacme.example"] == (glyphs.bad, Ink.BAD)


def contrast(one: str, other: str) -> float:
    """The ratio of two colors' luminances, as the web's accessibility guidelines define it."""

    def luminance(color: str) -> float:
        parts = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
        red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
