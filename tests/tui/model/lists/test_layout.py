"""Which panels a size has room for, and how they share it."""

from __future__ import annotations

import pytest

from tui.model.lists import layout

LINES = {"inboxes": 60, "sequences": 4, "changes": 3, "domains": 4}


@pytest.mark.parametrize("width", range(60, 301, 20))
@pytest.mark.parametrize("room", [6, 12, 18, 30, 42, 60])
def test_the_active_panel_is_always_shown_and_nothing_overflows(width: int, room: int) -> None:
    for name in layout.PANELS:
        heights = layout.heights(width, room, active=name, lines=LINES)
        assert name in heights
        for column in layout.columns(width):
            shown = [heights[one] for one in column if one in heights]
            assert sum(shown) + layout.GAP * (len(shown) - 1) <= room


def test_a_short_list_leaves_its_room_to_the_others() -> None:
    heights = layout.heights(200, 40, active="inboxes", lines=LINES)
    assert heights["domains"] == 6
    assert heights["inboxes"] == 33
    assert heights["sequences"] == heights["changes"] == 40


def test_the_lists_of_a_page_take_what_they_need_and_leave_the_most_to_its_plot() -> None:
    assert layout.page_lists_height(4, 35) == 6
    assert layout.page_lists_height(60, 35) == 12
    assert layout.page_lists_height(0, 24) == layout.LEAST


def test_a_narrow_screen_shows_other_lists_only_below_a_short_one() -> None:
    assert set(layout.heights(80, 15, active="inboxes", lines=LINES)) == {"inboxes"}
    assert layout.heights(80, 15, active="sequences", lines=LINES)["sequences"] == 6
