"""One walk over all pages, at each size and in each theme."""

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


SMALL, LARGE = (60, 20), (200, 60)
"""The promises have pictures of pages at these and other sizes."""


async def test_every_page_fits_each_size_and_can_be_read_after_a_change_of_theme(
    recorded: HistoryAccess,
) -> None:
    """Nothing keeps the colors of the theme before; `basic` has eight grounds only."""
    queue, themes = FakeQueue([reply("Ada", minutes=7), reply("Eva", minutes=1)]), cycle(PALETTES)
    async with at_desk(history=recorded, others=("beta",), open_replies=queue.open, size=LARGE) as desk:
        for name, keys in PAGES.items():
            await desk.press(*keys)
            first = desk.app.size  # a page opens at the size at which the one before was left
            for size in (first, SMALL if first == LARGE else LARGE):
                if size != first:
                    await desk.pilot.resize_terminal(*size)
                    await desk.settle()
                text = desk.text
                assert max(map(len, text.splitlines())) <= size[0], name
                assert "Internal error" not in text + desk.toasts, name
                if size == LARGE:
                    desk.app.theme = theme = next(themes)
                    await desk.settle()
                    weak = weak_words(desk.app.screen)
                    assert not [one for one in weak if theme != "basic" or GROUNDS.isdisjoint(one[1:3])], name
