"""What takes room on a page, and what stays where it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.widgets import Input
from textual.widgets._toast import ToastRack

from shared.api.models import Sequence
from tests.kit.snapshots import account, reading
from tests.screens.desk import at_desk
from tui.widgets.table import ListTable

MANY = tuple(Sequence(id=f"sq_{n:02}", name=f"S{n:02}", status="active", steps=1) for n in range(60))
LONG = replace(account(), sequences=reading(MANY))


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_toasts_take_room_and_never_lie_over_the_list_in_use(size: tuple[int, int]) -> None:
    async with at_desk(snapshot=LONG, size=size, has_toasts=True) as desk:
        await desk.press("2", "pagedown")
        table = desk.app.screen.query_one("#sequences", ListTable)
        for number in range(3):
            # Longer than the test, or the first could be gone before the third has come.
            desk.app.notify(f"Notice {number}", timeout=600)
        await desk.until("Notice 2")
        await desk.settle()
        assert table.line
        assert table.line.key.replace("sq_", "S") in desk.text, "the line of the cursor is seen"
        (rack,) = desk.app.screen.query(ToastRack)
        assert not rack.region.overlaps(table.region)
        assert "Notice 0" not in desk.text, "two at most"
        assert "? help" in desk.text.splitlines()[-1]
        await desk.press("colon")
        line, rack = desk.app.screen.query_one(Input), desk.app.screen.query_one(ToastRack)
        assert not line.region.overlaps(rack.region)


async def test_a_key_of_the_past_says_that_the_history_is_not_open_yet() -> None:
    async with at_desk(snapshot=LONG, has_toasts=True) as desk:
        await desk.press("left_square_bracket")
        await desk.until("The history isn't open yet.")
        assert "REPLAY" not in desk.text


async def test_the_cursor_stays_on_its_line_and_on_the_screen() -> None:
    """A pause in a list that is sorted by status moves the line."""
    async with at_desk(snapshot=LONG, size=(80, 24)) as desk:
        await desk.press("2", "s", "down", "down")
        table = desk.app.screen.query_one("#sequences", ListTable)
        assert table.line
        assert table.line.key == "sq_02"
        paused = (*MANY[:2], replace(MANY[2], status="paused"), *MANY[3:])
        await desk.see(replace(LONG, sequences=replace(LONG.sequences, value=paused)))
        assert table.line.key == "sq_02"
        assert "‖ paused" in desk.text
