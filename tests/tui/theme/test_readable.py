"""Whole screens in every theme: each letter and digit stands out from what is behind it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from rich.color import Color
from textual.screen import Screen

from tests.tui.accounts import NOW, Clock, account, failing, tick_of
from tests.tui.app.app_driver import state
from tests.tui.theme.test_palette import LEAST, TERMINAL, contrast
from tui.app.dashboard import DashboardApp
from tui.theme.palette import PALETTES

PAGES = {
    "board": (),
    "sequences": ("2",),
    "a page": ("enter",),
    "a domain": ("7", "enter"),
    "wall": ("w",),
    "alarms": ("A",),
    "help": ("f1",),
    "commands": (":",),
    "a command": (":", "p", "down", "down"),
    "no command": (":", "q", "q", "q"),
}
GROUNDS = frozenset({"#0000aa", "#aa0000", "#aa5500"})
"""Of the sixteen colors, which are the terminal's own: behind the selected line, an alarm and what is at risk."""


def weak_words(screen: Screen[object]) -> Iterator[tuple[str, str, str, float]]:
    """What is hard to read: the words, their color, what is behind them, and the contrast."""
    for strip in screen._compositor.render_strips():
        for segment in strip:
            style = segment.style
            if style is None or not any(map(str.isalnum, segment.text)):
                continue
            color, behind = (_hex(one) for one in (style.color, style.bgcolor))
            if style.reverse:
                color, behind = behind, color
            if (found := contrast(color, behind)) < LEAST:
                yield segment.text.strip(), color, behind, round(found, 2)


def _hex(color: Color | None) -> str:
    assert color, "a color of the terminal's choice"
    return str(color.get_truecolor(TERMINAL).hex)


@pytest.mark.parametrize("looks", ["fresh", "stale", "failing"])
@pytest.mark.parametrize("name", PALETTES)
async def test_every_word_on_every_page_can_be_read(name: str, looks: str, clock: Clock) -> None:
    snapshot = account()
    if looks == "failing":
        snapshot = failing(snapshot, since=NOW + timedelta(seconds=30))
    weak = {}
    app = DashboardApp([state("acme", clock=clock)], now=clock, only_theme=name)
    async with app.run_test(size=(160, 48)) as pilot:
        app.post_message(app.Ticked(tick_of(snapshot)))
        await pilot.pause()
        if looks != "fresh":
            clock.advance(3600)
        for page, keys in PAGES.items():
            await pilot.press(*keys)
            app.second_passed()
            await pilot.pause()
            found = [one for one in weak_words(app.screen) if name != "basic" or GROUNDS.isdisjoint(one[1:3])]
            if found:
                weak[page] = found
            await pilot.press("escape")
            await pilot.pause()
    assert weak == {}
