"""One walk over all pages at every size, with a picture of each in characters."""

from __future__ import annotations

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.tui.pages.desk import at_desk
from tests.tui.pages.test_replies import FakeQueue, reply
from tests.tui.theme.test_palette import GROUNDS, weak_words
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


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 60)])
async def test_every_page_looks_as_it_did(
    size: tuple[int, int], recorded: HistoryAccess, snapshot: SnapshotAssertion
) -> None:
    queue = FakeQueue([reply("Ada", minutes=7), reply("Eva", minutes=1)])
    async with at_desk(size=size, history=recorded, others=("beta",), open_replies=queue.open) as desk:
        for name, keys in PAGES.items():
            await desk.press(*keys)
            await desk.second(0)
            assert max(map(len, desk.text.splitlines())) <= size[0]
            assert "Internal error" not in desk.text + desk.toasts
            assert re.sub(r"[▁-▇]+(?=\n|$)", "", desk.text) == snapshot(name=name)


async def test_every_word_of_every_page_can_be_read_in_every_theme(recorded: HistoryAccess) -> None:
    """Nothing keeps the colors of the theme before; `basic` has eight grounds only."""
    async with at_desk(history=recorded, others=("beta",)) as desk:
        for name, keys in PAGES.items():
            await desk.press(*keys)
            for theme in PALETTES:
                desk.app.theme = theme
                await desk.settle()
                weak = weak_words(desk.app.screen)
                assert not [one for one in weak if theme != "basic" or GROUNDS.isdisjoint(one[1:3])], (
                    name,
                    theme,
                )
