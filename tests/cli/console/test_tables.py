"""A table fits any terminal, and no number in it is ever cut."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from cli.console.card_output import Look, render
from shared.domain.card import Card, Column, Fact, Row, Table, Tone

NAMES = ("SaaS founders in Europe, second attempt", "名前がとても長いキャンペーン", "short", None)


def table(*, rows: int = 3) -> Table:
    columns = (
        Column(title="Group"),
        Column(title="Sends", numeric=True),
        Column(title="Reply rate", numeric=True),
        Column(title="", bar=True),
        Column(title="Note"),
        Column(title="Status"),
    )
    cells = (
        (NAMES[i % 4], 1_234_567 * (i + 1), "12.5%", 0.125, "a remark that goes on and on", "active")
        for i in range(rows)
    )
    return Table(columns=columns, rows=tuple(Row(cells=c) for c in cells))


def drawn(shown: Table, look: Look) -> list[str]:
    """The lines of the table alone."""
    _, _, *lines = (line.plain for line in render(Card(title="T", table=shown), look))
    return lines


def test_everything_is_shown_where_there_is_room() -> None:
    lines = drawn(table(), Look(width=200))
    assert len(lines) == 4
    assert "SaaS founders in Europe, second attempt  1,234,567       12.5%  █" in lines[1]


def test_in_forty_columns_the_bar_goes_first_and_the_widest_text_in_the_middle_next() -> None:
    lines = drawn(table(), Look(width=42))
    assert lines[-1] == "hidden at this width: Note"
    assert "█" not in "".join(lines)
    assert all(cell_len(line) <= 42 for line in lines)


@given(width=st.integers(36, 200), ascii_only=st.booleans())
def test_lines_fit_and_numbers_stay_whole_at_every_width(*, width: int, ascii_only: bool) -> None:
    lines = drawn(table(), Look(width=width, ascii=ascii_only))
    assert all(cell_len(line) <= width for line in lines)
    for number in range(3):
        (line,) = (line for line in lines if f"{1_234_567 * (number + 1):,}" in line)
        assert "12.5%" in line


def test_what_is_unknown_is_a_dash_and_not_a_zero() -> None:
    columns = (Column(title="Inbox"), Column(title="Health", numeric=True))
    lines = drawn(Table(columns=columns, rows=(Row(cells=("a@b.c", None)), Row(cells=("d@e.f", 0)))), Look())
    assert [line.split() for line in lines[1:]] == [["a@b.c", "–"], ["d@e.f", "0"]]


def test_numbers_of_a_column_have_the_same_decimals() -> None:
    rows = (Row(cells=(59.7,)), Row(cells=(83,)))
    lines = drawn(Table(columns=(Column(title="Health", numeric=True),), rows=rows), Look())
    assert lines[1:] == ["  59.7", "  83.0"]


def test_a_tone_has_a_shape_in_unicode_and_in_ascii() -> None:
    one = Table(columns=(Column(title="Inbox"),), rows=(Row(cells=("a@b.c",), tone=Tone.BAD),))
    assert drawn(one, Look()) == ["  Inbox", "◆ a@b.c"]
    assert drawn(one, Look(ascii=True))[1] == "X a@b.c"


def test_only_failures_are_crossed_out() -> None:
    bad = Card(title="2 inboxes", tone=Tone.BAD, facts=(Fact(label="Health", value="41", tone=Tone.BAD),))
    for card, mark in ((bad, "◆"), (replace(bad, failure=True), "✗")):
        head, _, fact = (line.plain for line in render(card, Look()))
        assert (head[0], mark in fact) == (mark, True)


def test_a_cell_from_outside_stays_one_line_without_escapes() -> None:
    one = Table(columns=(Column(title="Name"),), rows=(Row(cells=("\x1b[31mRed\nLtd\u202e",)),))
    assert drawn(one, Look())[1] == "Red Ltd"


def test_ascii_means_ascii() -> None:
    lines = drawn(table(), Look(width=60, ascii=True))
    assert all(re.fullmatch(r"[\x20-\x7e]*", line) for line in lines)
