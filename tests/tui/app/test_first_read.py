"""Every page as text before, during and after the first read: nothing is counted that was not read.

`--snapshot-update` writes them anew, to be looked at.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from shared.domain.snapshot import Snapshot
from tests.tui.accounts import Clock, account
from tests.tui.app.app_driver import open_app, see, state
from tests.tui.app.test_page_heads import PAGES
from tui.app.dashboard import DashboardApp

UNREAD = Snapshot(workspace="acme")
COUNTED = re.compile(
    r"(?<![\w:.])0(?![\w:.])|\bNo (inboxes|alarms|sequences|interested|recent|sends|domains)"
)
"""A zero or a "none": before the first answer, nobody knows."""
ALWAYS = ("board", "alarms", "wall", "all")
OPENS = {
    **dict.fromkeys(("domain", "inbox", "step"), ("after",)),
    **dict.fromkeys(("sequence", "help of a page", "question", "hours"), ("during", "after")),
}
"""From when on the pages of lines can be opened; all others always."""


def during() -> Snapshot:
    """The sequences and their counts were read, nothing else."""
    stats = {**UNREAD.stats, "sequence": account().stats["sequence"]}
    return replace(UNREAD, sequences=account().sequences, stats=stats)


def text_of(app: DashboardApp) -> str:
    """What is on the screen in front, without the keys in its last line."""
    strips = app.screen._compositor.render_strips()[:-1]
    return "\n".join(strip.text.rstrip() for strip in strips).rstrip()


async def page_text(name: str, snapshot: Snapshot | None, *, size: tuple[int, int] = (120, 36)) -> str:
    clock = Clock()
    states = [state("acme", clock=clock)] + ([state("beta", clock=clock)] if name == "all" else [])
    async with open_app(states, clock=clock, size=size) as (app, pilot):
        if snapshot is not None:
            for number in range(len(states)):
                await see(app, pilot, number, replace(snapshot, workspace=states[number].workspace))
        await pilot.press(*PAGES.get(name, ("0",)))
        await pilot.pause(0.1)
        app.presenter.show()
        app.second_passed()
        await pilot.pause()
        return text_of(app)


@pytest.mark.parametrize("size", [(80, 24), (160, 50), (250, 70)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", ALWAYS)
async def test_nothing_is_counted_before_the_first_read(name: str, size: tuple[int, int]) -> None:
    for snapshot in (None, UNREAD):
        text = await page_text(name, snapshot, size=size)
        assert not COUNTED.search(text), text


@pytest.mark.parametrize("name", ALWAYS)
async def test_what_was_not_read_yet_is_not_counted_while_the_rest_is(name: str) -> None:
    text = await page_text(name, during())
    assert not COUNTED.search(text), text


@pytest.mark.parametrize("name", [*PAGES, "all"])
async def test_a_page_before_during_and_after_the_first_read(name: str, snapshot: SnapshotAssertion) -> None:
    reads = {"before": UNREAD, "during": during(), "after": account()}
    for word in OPENS.get(name, tuple(reads)):
        assert await page_text(name, reads[word]) == snapshot(name=word)
