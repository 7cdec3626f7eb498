"""The order of views on a wall."""

from __future__ import annotations

from dataclasses import replace

from tests.tui.accounts import NOW, account, board_of
from tui.screens.wall import TURN, VIEWS, burn_in_shift, trouble_parts, troubled_domains, view_at
from tui.theme.palette import ASCII, UNICODE
from tui.widgets.trouble_block import big_lines


def test_the_wall_turns_and_holds_still_in_trouble() -> None:
    turned = [view_at(TURN * n, trouble=False) for n in range(len(VIEWS))]
    assert turned == list(VIEWS)
    assert {view_at(TURN * n, trouble=True) for n in range(9)} == {VIEWS[0]}
    assert len({burn_in_shift(600 * n) for n in range(4)}) == 4


def test_views_with_nothing_to_show_are_skipped() -> None:
    views = ("domains", "changes")
    assert [view_at(TURN * n, trouble=False, views=views) for n in range(3)] == [*views, "domains"]
    assert view_at(TURN, trouble=False, views=()) == VIEWS[0]


def test_the_wall_says_what_cannot_send_and_since_when() -> None:
    snapshot = account()
    boxes = tuple(
        replace(box, status="resting" if box.domain == "useacme.example" else "active", health_score=95.0)
        for box in snapshot.inboxes.value or ()
    )
    board = board_of(replace(snapshot, inboxes=replace(snapshot.inboxes, value=boxes)))
    parts = trouble_parts(board, since="04:12", now=NOW)
    assert parts == ("1 of 4 domains paused", "6 inboxes not sending", "since 04:12")
    assert troubled_domains(board) == ("useacme.example",)
    healthy = tuple(replace(box, status="active") for box in boxes)
    well = board_of(replace(snapshot, inboxes=replace(snapshot.inboxes, value=healthy)))
    assert trouble_parts(well, since="", now=NOW) == ()


def test_letters_are_as_large_as_the_wall_has_room_for() -> None:
    parts = ("4 of 9 domains paused", "28 inboxes not sending")
    heights = [len(big_lines(parts, width=width, height=25, glyphs=UNICODE)) for width in (80, 160, 250)]
    assert heights == [17, 25, 13], "broken between words rather than small"
    for width, height in ((80, 12), (160, 25), (250, 35)):
        lines = big_lines((*parts, "since 14:30 (12 min)"), width=width, height=height, glyphs=UNICODE)
        assert len(lines) <= height
        assert max(map(len, lines)) > width * 0.6, "the letters fill the width"
        assert any("█" in line or "▀" in line for line in lines)
    assert big_lines(parts, width=250, height=25, glyphs=ASCII) == list(parts)
