"""The order of views on a wall."""

from __future__ import annotations

from tui.screens.wall import TURN, VIEWS, burn_in_shift, view_at


def test_the_wall_turns_and_holds_still_in_trouble() -> None:
    turned = [view_at(TURN * n, trouble=False) for n in range(len(VIEWS))]
    assert turned == list(VIEWS)
    assert {view_at(TURN * n, trouble=True) for n in range(9)} == {VIEWS[0]}
    assert len({burn_in_shift(600 * n) for n in range(4)}) == 4
