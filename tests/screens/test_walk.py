"""One walk over all pages, in each theme."""

from __future__ import annotations

from itertools import cycle

from tests.kit.contrast import GROUNDS, weak_words
from tests.screens.desk import at_desk
from tests.screens.test_replies import FakeQueue, reply
from tui.feed.history_access import HistoryAccess
from tui.theme.palette import PALETTES

PAGES = {
    "board": ("1",),
    "domain": ("enter",),
    "inbox": ("enter",),
    "sequences": ("2",),
    "sequence": ("enter",),
    "replies": ("3",),
    "incidents": ("4",),
    "workspaces": ("5",),
    "wall": ("w",),
    "help": ("1", "question_mark"),
    "another time": ("escape", "at", "enter"),
}
"""The keys that lead to each page from the one before."""


async def test_every_page_can_be_read_after_a_change_of_theme(recorded: HistoryAccess) -> None:
    """Nothing keeps the colors of the theme before; `basic` has eight grounds only."""
    queue, themes = FakeQueue([reply("Ada", minutes=7), reply("Eva", minutes=1)]), cycle(PALETTES)
    async with at_desk(history=recorded, others=("beta",), open_replies=queue.open) as desk:
        for name, keys in PAGES.items():
            await desk.press(*keys)
            desk.app.theme = theme = next(themes)
            await desk.settle()
            weak = weak_words(desk.app.screen)
            assert not [one for one in weak if theme != "basic" or GROUNDS.isdisjoint(one[1:3])], name
