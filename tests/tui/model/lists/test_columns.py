"""Columns, and which lines a filter and an order leave."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.models import Inbox, Sequence, StatsRow
from shared.domain.health import verdict
from tests.tui.accounts import account, board_of
from tui.model.lists.columns import INBOXES, LISTS, STATS_BY, place
from tui.model.lists.filter_sort import Arrangement, arranged
from tui.model.lists.lines import InboxLine, Line, SequenceLine, StatsLine
from tui.theme.palette import ASCII, UNICODE, Glyphs, Ink


@given(
    st.text(max_size=60), st.text(max_size=60), st.one_of(st.none(), st.floats(0, 100)), st.integers(0, 12)
)
def test_no_text_from_outside_moves_a_cursor(
    name: str, status: str, health: float | None, width: int
) -> None:
    box = Inbox(email=name, status=status, health_score=health)
    lines = {
        "inboxes": InboxLine(box, verdict(box)),
        "sequences": SequenceLine(Sequence(id="sq", name=name, status=status)),
        "stats": StatsLine(StatsRow(group=name), name),
    }
    lists = {**LISTS, "stats": STATS_BY["step"]}
    for listed, line in lines.items():
        for column in lists[listed]:
            words = "".join(text for text, _ in column.render(line, width + 8, UNICODE))
            assert not any(ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u202e\u2066\u200f" for c in words)


@pytest.mark.parametrize("room", [20, 36, 57, 76, 140, 290])
def test_columns_never_need_more_room_than_there_is_but_for_those_that_stay(room: int) -> None:
    for columns in LISTS.values():
        placed = place(columns, room)
        width = sum(p.width for p in placed) + 2 * (len(placed) - 1)
        assert width <= room or all(p.column.rank == 0 for p in placed)


@pytest.mark.parametrize(
    ("replies", "sends", "wide", "short", "ink"),
    [(5, 449, "1.1% ±1.5 ", "1.1% ±1.5", Ink.MUTED), (7, 60, "11.7% ±10.5", "11.7%±10.5", Ink.MUTED),
     (71, 1000, "7.1% ±1.8 ", "7.1%", Ink.TEXT), (700, 10_000, "7.0% ±0.5 ", "7.0%", Ink.TEXT),
     (4000, 80_000, "5.0%      ", "5.0%", Ink.TEXT), (3, 40, "too few", "too few", Ink.MUTED)],
)  # fmt: skip
def test_a_rough_rate_shows_its_margin_in_any_room_and_others_where_there_is_some(
    replies: int, sends: int, wide: str, short: str, ink: Ink
) -> None:
    line = StatsLine(StatsRow(group="B", sends=sends, replies=replies), "B")
    (column,) = [one for one in STATS_BY["variant"] if one.id == "reply-rate"]
    for width, shown in ((column.wide, wide), (column.width, short)):
        pieces = column.render(line, width, UNICODE)
        assert "".join(text for text, _ in pieces) == shown
        assert len(shown) <= width
        assert pieces[0][1] is ink


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_no_rate_has_a_sign_that_has_to_be_guessed(glyphs: Glyphs) -> None:
    line = StatsLine(StatsRow(group="B", sends=60, replies=7, positive_replies=2, meetings=1), "B")
    for column in STATS_BY["variant"]:
        if column.id.endswith("rate"):
            for width in range(column.wide + 1):
                assert "~" not in "".join(text for text, _ in column.render(line, width, glyphs))


def test_a_filter_takes_and_leaves_out() -> None:
    lines: tuple[Line, ...] = board_of(account()).inboxes
    shown = arranged(lines, Arrangement(find="TRYACME !person02"), columns=LISTS["inboxes"])
    assert shown
    assert all("tryacme" in line.key and "person02" not in line.key for line in shown)


@pytest.mark.parametrize(("order", "first"), [("health", "57"), ("limit", "30")])
def test_a_column_sorts_its_list(order: str, first: str) -> None:
    lines = board_of(account()).inboxes
    shown = arranged(lines, Arrangement(order=order), columns=LISTS["inboxes"])
    column = next(c for c in LISTS["inboxes"] if c.id == order)
    assert "".join(t for t, _ in column.render(shown[0], 8, UNICODE)).split()[-1] == first


def test_a_trend_has_one_scale_and_the_ink_of_each_threshold() -> None:
    column = next(one for one in INBOXES if one.id == "trend")
    inbox = Inbox(email="ann@x.example", health_score=90.0, daily_limit=40, status="active")
    line = InboxLine(inbox, verdict(inbox), None, (30.0, 59.0, 60.0, 79.0, 80.0, 100.0))
    pieces = column.render(line, 6, UNICODE)
    assert "".join(text for text, _ in pieces) == "▁▃▃▅▅▇"
    assert [ink for _, ink in pieces] == [Ink.BAD, Ink.BAD, Ink.WARN, Ink.WARN, Ink.MUTED, Ink.MUTED]
    flat = replace(line, trend=(95.0, 96.0))
    assert len({text for text, _ in column.render(flat, 6, UNICODE)}) == 1, "one point changes little"


def test_a_healthy_score_is_not_red_because_the_inbox_rests() -> None:
    column = next(one for one in INBOXES if one.id == "health")
    inbox = Inbox(email="ann@x.example", health_score=95.0, daily_limit=40, status="resting")
    line = InboxLine(inbox, verdict(inbox))
    assert Ink.BAD not in {ink for _, ink in column.render(line, 11, UNICODE)}
    assert INBOXES[0].render(line, 1, UNICODE) == ((UNICODE.paused, Ink.STOPPED),)


def test_no_column_is_called_by_half_a_name() -> None:
    titles = {column.title for columns in (*LISTS.values(), *STATS_BY.values()) for column in columns}
    assert titles.isdisjoint({"Group", "Rate", "Meet.", "Repl.", "Lately"})
    assert {"Reply rate", "Positive rate", "Meetings", "Step", "Variant", "Trend"} <= titles
