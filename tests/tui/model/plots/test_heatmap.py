"""The heatmap: every inbox once, in the largest layout that fits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.models import Inbox
from shared.domain.snapshot import Reading
from tests.tui.accounts import NOW, account, board_of
from tui.model.plots.heatmap import Group, arrange, beside, draw, groups_of
from tui.theme.palette import ASCII, UNICODE, Glyphs, Ink


def groups_with(*boxes: Inbox) -> tuple[Group, ...]:
    board = board_of(replace(account(), inboxes=Reading(value=boxes, read_at=NOW)))
    return groups_of(board.inboxes, board.domains)


def groups(*sizes: int) -> tuple[Group, ...]:
    return groups_with(
        *(
            Inbox(email=f"p{n}@domain{of:03}.example", status="active", health_score=90.0, daily_limit=40)
            for of, size in enumerate(sizes)
            for n in range(size)
        )
    )


@given(
    st.lists(st.integers(1, 60), max_size=30),
    st.integers(24, 248),
    st.integers(3, 60),
    st.sampled_from([UNICODE, ASCII]),
)
def test_every_inbox_has_a_place_of_its_own(
    sizes: list[int], width: int, height: int, glyphs: Glyphs
) -> None:
    found = groups(*sizes)
    layout = arrange(found, width=width, height=height)
    assert len(set(layout.places)) == len(layout.places) == sum(sizes)
    assert all(0 <= x <= width - min(layout.cell, 2) + 1 for x, _ in layout.places)
    rows = draw(found, layout, width=width, height=height, glyphs=glyphs, selected=len(layout.places) - 1)
    assert [sum(len(text) for text, _ in row) for row in rows] == [width] * height
    assert not layout.places or any(ink is Ink.STRONG for row in rows for _, ink in row), (
        "the selected one is seen"
    )


def test_thousands_fit_on_a_wide_screen() -> None:
    layout = arrange(groups(*[25] * 400), width=248, height=62)
    assert layout.height <= 62
    assert len(layout.places) == 10_000


@pytest.mark.parametrize(("width", "height"), [(78, 17), (158, 42), (248, 62)])
def test_a_small_account_fills_the_width(width: int, height: int) -> None:
    layout = arrange(groups(*[10] * 9), width=width, height=height)
    assert len(layout.names) == 9
    assert max(x for x, _ in layout.places) + layout.cell > width * 0.7


def test_troubled_domains_and_inboxes_come_first_with_signs_of_their_own() -> None:
    def box(name: str, domain: str, score: float | None, status: str = "active") -> Inbox:
        return Inbox(email=f"{name}@{domain}", status=status, health_score=score, daily_limit=1)

    found = groups_with(
        box("a", "calm.example", 99.0),
        box("b", "mixed.example", None),
        box("c", "mixed.example", 65.0),
        box("d", "mixed.example", 30.0),
        box("e", "paused.example", 95.0, "resting"),
    )
    assert [group.domain.domain for group in found] == ["paused.example", "mixed.example", "calm.example"]
    layout = arrange(found, width=60, height=3)
    for glyphs, signs in ((UNICODE, "░▃▆?█"), (ASCII, "z36?9")):
        rows = draw(found, layout, width=60, height=3, glyphs=glyphs)
        cells = [
            (text.strip()[0], ink)
            for row in rows
            for text, ink in row
            if text.strip() and text.strip()[0] in signs
        ]
        assert "".join(sign for sign, _ in cells) == signs
        assert [ink for _, ink in cells] == [Ink.STOPPED, Ink.BAD, Ink.WARN, Ink.UNKNOWN, Ink.GOOD]


def test_the_cursor_moves_along_the_cells_and_to_the_nearest_below() -> None:
    places = ((0, 0), (4, 0), (8, 0), (0, 1), (5, 1), (0, 3))
    assert beside(places, 0, right=1) == 1
    assert beside(places, 0, right=-1) == 0
    assert beside(places, 2, down=1) == 4
    assert beside(places, 4, down=1) == 5, "over an empty line"
    assert beside(places, 5, down=-1) == 3
    assert beside(places, 5, down=1) == 5
    assert beside((), 0, down=1) == -1
