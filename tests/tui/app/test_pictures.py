"""Whole screens as pictures, with a clock that stands still: `--snapshot-update` draws them anew, to be looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.api.models import StatsRow
from shared.domain.card import Tone
from shared.domain.snapshot import DailyCounts, Snapshot
from tests.tui.accounts import NOW, Clock, account, acme, failing, tick_of
from tests.tui.app.app_driver import state
from tui.app.dashboard import DashboardApp
from tui.model.lists.layout import HEAD, LAST, LEAST, LEFT, MIDDLE
from tui.model.lists.lines import ChangeLine
from tui.theme.palette import ASCII, UNICODE

CHANGES = (
    ChangeLine(
        NOW - timedelta(minutes=2),
        "person08@useacme.example",
        "active → resting",
        Tone.WARN,
        becomes="resting",
    ),
    ChangeLine(NOW - timedelta(minutes=31), "Webinar follow-up", "is paused", Tone.WARN),
    ChangeLine(NOW - timedelta(minutes=48), "Maya Sharma of Harbor", "is interested", Tone.GOOD),
)
Compare = Callable[..., bool]


class FrozenDashboard(DashboardApp):
    """A dashboard that shows one tick, `late` seconds after it was read, and stands still."""

    def __init__(
        self,
        snapshot: Snapshot,
        *,
        late: float = 0,
        ascii_only: bool = False,
        wall: bool = False,
        only_reads: bool = True,
    ) -> None:
        self._clock = Clock()
        self._clock.advance(late)
        workspace = acme() if only_reads else state("acme", clock=self._clock)
        super().__init__([workspace], now=self._clock, glyphs=ASCII if ascii_only else UNICODE, wall=wall)
        self._staged = snapshot

    def on_ready(self) -> None:
        self.post_message(self.Ticked(tick_of(self._staged, beats=3, changes=CHANGES)))


def offline() -> Snapshot:
    return failing(account(), since=NOW + timedelta(seconds=30))


def busy() -> Snapshot:
    """A fortnight behind it."""
    days = tuple(
        (
            NOW.date() - timedelta(days=ago),
            StatsRow(
                group="day", sends=300 + ago * 37 % 211, replies=20, positive_replies=4, meetings=ago % 3
            ),
        )
        for ago in range(13, 0, -1)
    )
    compared = StatsRow(group="compared", sends=380, replies=28, positive_replies=10, meetings=2)
    daily = DailyCounts(days=days, compared_at=NOW - timedelta(days=7), compared=compared)
    return account(inboxes=60, daily=daily)


PICTURES = {
    "night": (FrozenDashboard, {"snapshot": account()}, (160, 50), ()),
    "laptop": (FrozenDashboard, {"snapshot": busy()}, (120, 35), ()),
    "wide": (FrozenDashboard, {"snapshot": busy()}, (200, 55), ()),
    "small": (FrozenDashboard, {"snapshot": account()}, (80, 24), ()),
    "smallest": (FrozenDashboard, {"snapshot": account()}, (60, 20), ()),
    "offline": (FrozenDashboard, {"snapshot": offline(), "late": 900}, (120, 36), ()),
    "late": (FrozenDashboard, {"snapshot": account(), "late": 100}, (160, 50), ()),
    "empty": (FrozenDashboard, {"snapshot": Snapshot(workspace="acme")}, (100, 30), ()),
    "wall": (FrozenDashboard, {"snapshot": account(inboxes=60), "wall": True}, (160, 50), ()),
    "ascii": (FrozenDashboard, {"snapshot": account(), "ascii_only": True}, (120, 36), ()),
    "question": (FrozenDashboard, {"snapshot": account(), "only_reads": False}, (100, 30), ("2", "p")),
}


SIZES = ((80, 24), (120, 35), (160, 50), (200, 55), (250, 70))


@pytest.mark.parametrize("size", SIZES)
async def test_no_panel_is_empty_beside_one_that_hides_lines(size: tuple[int, int]) -> None:
    app = FrozenDashboard(account(inboxes=60))
    async with app.run_test(size=size) as pilot:
        await pilot.pause(0.2)
        board = app.board_screen
        assert board.panels["inboxes"].display
        for column in (LEFT, (*MIDDLE, *LAST)):
            panels = [board.panels[name] for name in column if board.panels[name].display]
            blank = {panel.panel: panel.size.height - HEAD - len(panel.grid.shown) for panel in panels}
            hides = any(lines < 0 for lines in blank.values())
            assert not hides or all(lines <= LEAST - HEAD for lines in blank.values()), blank


@pytest.mark.parametrize("name", PICTURES)
def test_the_screen_looks_as_it_did(name: str, snap_compare: Compare) -> None:
    kind, options, size, keys = PICTURES[name]
    assert snap_compare(kind(**options), terminal_size=size, press=keys)  # type: ignore[arg-type] # a table of kinds


def test_without_colors_everything_is_still_said(
    snap_compare: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    snapshot = account()
    assert snap_compare(FrozenDashboard(replace(snapshot)), terminal_size=(120, 36))
