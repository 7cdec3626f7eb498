"""Nothing is cut beside empty space: every page, at the sizes of a small window, a laptop and a wall."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.screen import Screen

from tests.tui.accounts import Clock
from tests.tui.app.app_driver import open_app, see, state
from tools.pictures.crisis_account import WORST, at
from tools.pictures.crisis_account import account as in_crisis
from tools.pictures.dashboard import Replies
from tui.model.lists.columns import GAP, LISTS, MEASURED, WIDE, Placed, place
from tui.screens.headed import HeadedScreen
from tui.theme.palette import UNICODE
from tui.widgets.line_table import LineTable
from tui.widgets.panel import TextLine
from tui.widgets.status_lines import TopLine

PAGES: dict[str, tuple[str, ...]] = {
    "board": (),
    "domain": ("7", "enter"),
    "inbox": ("enter",),
    "sequence": ("2", "enter"),
    "step": ("2", "enter", "enter"),
    "replies": ("5",),
    "incident": ("i",),
    "alarms": ("A",),
    "all workspaces": ("0",),
    "help": ("f1",),
    "replay": ("at", *"yesterday 14:00", "enter"),
    "wall": ("w",),
}
SIZES = ((80, 24), (160, 50), (250, 70))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_nothing_is_cut_beside_empty_space(size: tuple[int, int], clock: Clock) -> None:
    clock.time = at(WORST)
    acme = state("acme", clock=clock)
    acme.open_replies = Replies(WORST).open  # type: ignore[assignment] # the page only reads
    wrong: list[object] = []
    async with open_app([acme], clock=clock, size=size) as (app, pilot):
        await see(app, pilot, 0, in_crisis(WORST))
        for name, keys in PAGES.items():
            await pilot.press(*keys)
            await pilot.pause(0.1)
            app.second_passed()
            await pilot.pause()
            screen = app.screen
            blank = sum(not strip.text.strip() for strip in screen._compositor.render_strips())
            is_scrolled = any(table.max_scroll_y for table in tables(screen))
            wrong += [(name, one) for one in (*cut_cells(screen), *cut_lines(screen))]
            wrong += (
                [(name, f"{blank} lines are blank, others hidden")]
                if is_scrolled and blank > size[1] / 3
                else []
            )
            while len(app.screen_stack) > 2:
                await pilot.press("escape")
                await pilot.pause()
            await pilot.press(*("escape", "1") if app.board_screen.is_current else ("escape",))
            await pilot.pause()
    assert wrong == []


def tables(screen: Screen[object]) -> Iterator[LineTable]:
    yield from (table for table in screen.query(LineTable) if table.region.height and table.shown)


def is_scrolled(screen: Screen[object]) -> bool:
    return any(table.max_scroll_y for table in tables(screen))


def cut_cells(screen: Screen[object]) -> Iterator[tuple[str, str, str]]:
    """Of each list: a title or cell that lacks room, while another column has more than it needs."""
    for table in tables(screen):
        spare = sum(max(0, one.width - _longest(one, table)) for one in table._placed if _gives(one, table))
        for one in table._placed:
            if cell_len(one.column.title) > one.width:
                yield "title", one.column.title, table.id or ""
            if spare and _gives(one, table) and _longest(one, table) > one.width:
                yield "cell", one.column.title, table.id or ""


def _gives(one: Placed, table: LineTable) -> bool:
    """Whether its width follows its content: bars take all that they get."""
    return bool(one.column.grow or one.column.least) and _longest(one, table) < WIDE


def _longest(one: Placed, table: LineTable) -> int:
    lines = table.shown[:MEASURED]
    cells = (one.column.render(line, WIDE, UNICODE) for line in lines)
    widths = (sum(cell_len(text) for text, _ in pieces) for pieces in cells)
    return max(*widths, cell_len(one.column.title), one.column.least)


def cut_lines(screen: Screen[object]) -> Iterator[str]:
    """Lines of the page that are longer than it; the path alone shortens names."""
    for line in screen.query(TextLine):
        if line.region.height and not isinstance(line, TopLine) and isinstance(screen, HeadedScreen):
            taken = sum(cell_len(text) for text, _ in (*line._left, *line._right))
            if taken > line.size.width:
                yield f"{line.id}: {line.text}"


@given(listed=st.sampled_from(sorted(LISTS)), room=st.integers(20, 260), data=st.data())
def test_room_goes_to_what_would_be_cut_before_it_is_left_empty(
    listed: str, room: int, data: st.DataObject
) -> None:
    flexible = [column for column in LISTS[listed] if column.grow or column.least]
    needs = {column.id: data.draw(st.integers(4, 60), label=column.id) for column in flexible}
    assert_nothing_is_cut_beside_room(listed, room, needs)


def test_a_column_without_much_to_say_leaves_its_room_to_the_next() -> None:
    assert_nothing_is_cut_beside_room("domains", 101, {"domain": 4, "lowest": 9, "why": 4})


def assert_nothing_is_cut_beside_room(listed: str, room: int, needs: dict[str, int]) -> None:
    placed = place(LISTS[listed], room, needs)
    taken = sum(one.width for one in placed) + GAP * (len(placed) - 1)
    assert taken <= room or all(not one.column.rank for one in placed)
    flexible_ones = [one for one in placed if one.column.id in needs]
    is_cut = any(one.width < needs[one.column.id] for one in flexible_ones)
    is_empty = any(one.width > max(needs[one.column.id], one.column.least) for one in flexible_ones)
    assert not (is_cut and is_empty)
