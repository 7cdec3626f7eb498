"""The pure parts: bars, fitting, columns, cards, paper, key table."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from shared.api.models import Inbox, Sequence, StatsRow
from shared.domain.card import Button, Card, Column, Fact, Row, Table, Tone
from shared.domain.health import verdict
from shared.domain.snapshot import Reading
from shared.history import Transition
from tests.tui.accounts import NOW, account, board_of, failing
from tui.feed import history_access
from tui.model import changes, layout, rich_card
from tui.model.board import Board
from tui.model.columns import LISTS, place
from tui.model.filter_sort import Arrangement, arranged
from tui.model.keys import BOARD, bindings
from tui.model.lines import InboxLine, Line, SequenceLine, StatsLine
from tui.screens import text_report
from tui.screens.prompt import suggestions
from tui.screens.wall import TURN, VIEWS, burn_in_shift, view_at
from tui.theme import drawing, formatting
from tui.theme.palette import ASCII, PALETTES, UNICODE, Ink
from tui.theme.plotting import Plot, draw

ANY_TEXT = st.text(max_size=60)


@given(st.lists(ANY_TEXT, max_size=4), st.integers(0, 40), st.booleans())
def test_a_fitted_line_is_exactly_as_wide_as_asked(texts: list[str], width: int, right: bool) -> None:  # noqa: FBT001 # hypothesis passes it
    plain = [(text.encode("utf-8", "ignore").decode().replace("\n", ""), Ink.TEXT) for text in texts]
    shown = drawing.fit(plain, width, right=right)
    if all(part.isprintable() for part, _ in plain):
        assert sum(cell_len(text) for text, _ in shown) <= max(width, 1)


@given(st.one_of(st.none(), st.floats(-1, 2)), st.integers(0, 30))
def test_a_bar_is_exactly_as_wide_as_asked(fraction: float | None, width: int) -> None:
    for glyphs in (UNICODE, ASCII):
        pieces = drawing.bar(fraction, width, ink=Ink.GOOD, glyphs=glyphs)
        assert sum(len(text) for text, _ in pieces) == width


@given(ANY_TEXT, ANY_TEXT, st.one_of(st.none(), st.floats(0, 100)), st.integers(0, 12))
def test_no_text_from_outside_moves_a_cursor(
    name: str, status: str, health: float | None, width: int
) -> None:
    box = Inbox(email=name, status=status, health_score=health)
    lines = {
        "inboxes": InboxLine(box, verdict(box)),
        "sequences": SequenceLine(Sequence(id="sq", name=name, status=status)),
        "stats": StatsLine(StatsRow(group=name), name),
    }
    for listed, line in lines.items():
        for column in LISTS[listed]:
            said = "".join(text for text, _ in column.render(line, width + 8, UNICODE))
            assert not any(ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u202e\u2066\u200f" for c in said)


@pytest.mark.parametrize("room", [20, 36, 57, 76, 140, 290])
def test_columns_never_need_more_room_than_there_is_but_for_those_that_stay(room: int) -> None:
    for columns in LISTS.values():
        placed = place(columns, room)
        width = sum(p.width for p in placed) + 2 * (len(placed) - 1)
        assert width <= room or all(p.column.rank == 0 for p in placed)


def test_every_sign_is_one_cell_wide_and_tells_tones_apart() -> None:
    for glyphs in (UNICODE, ASCII):
        assert len({glyphs.of(tone) for tone in Tone}) == len(Tone)
        assert all(cell_len(glyphs.of(tone)) == 1 for tone in Tone)


@pytest.mark.parametrize("name", PALETTES)
def test_text_stands_out_from_its_ground(name: str) -> None:
    palette = PALETTES[name]
    least = 2.2 if name == "dimmed" else 4.5
    for ink in (Ink.TEXT, Ink.STRONG, Ink.GOOD, Ink.WARN, Ink.BAD, Ink.UNKNOWN, Ink.ACCENT):
        assert contrast(palette.ink(ink), palette.panel) >= least, ink


def contrast(one: str, other: str) -> float:
    """The ratio of two colours' luminances, as the web's accessibility guidelines define it."""

    def luminance(colour: str) -> float:
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_a_filter_takes_and_leaves_out() -> None:
    lines: tuple[Line, ...] = board_of(account()).inboxes
    shown = arranged(lines, Arrangement(find="TRYACME !person02"), columns=LISTS["inboxes"])
    assert shown
    assert all("tryacme" in line.key and "person02" not in line.key for line in shown)


@pytest.mark.parametrize(("order", "first"), [("Health", "57"), ("Limit", "30")])
def test_a_column_sorts_its_list(order: str, first: str) -> None:
    lines = board_of(account()).inboxes
    shown = arranged(lines, Arrangement(order=order), columns=LISTS["inboxes"])
    column = next(c for c in LISTS["inboxes"] if c.title == order)
    assert "".join(t for t, _ in column.render(shown[0], 8, UNICODE)).split()[-1] == first


def test_numerals_have_a_shape_for_every_figure() -> None:
    rows = drawing.numeral("12,480")
    assert len(rows) == 3
    assert len({len(row) for row in rows}) == 1
    assert len(drawing.numeral("7", scale=2)) == 5


@pytest.mark.parametrize(
    ("number", "said"), [(None, "–"), (0, "0"), (9_999, "9999"), (12_482, "12.5k"), (3_400_000, "3.4M")]
)
def test_short_counts_fit_five_cells(number: float | None, said: str) -> None:
    assert formatting.short_count(number) == said


HOSTILE = "\x1b]0;owned\x07[red]<b>\u202egnp\nx"


def test_a_card_from_outside_is_only_text() -> None:
    card = Card(
        title=HOSTILE,
        tone=Tone.BAD,
        text=(HOSTILE,),
        facts=(Fact(label=HOSTILE, value=HOSTILE, tone=Tone.WARN),),
        quote=HOSTILE,
        table=Table(
            columns=(Column(title=HOSTILE), Column(title="Share", bar=True), Column(title="N", numeric=True)),
            rows=(Row(cells=(HOSTILE, 0.5, 12.0)), Row(cells=(None, None, None))),
            total=9,
        ),
        buttons=(Button(label="x", command="status"),),
        footer=HOSTILE,
    )
    out = StringIO()
    Console(file=out, width=100, color_system=None).print(rich_card.render(card, glyphs=UNICODE))
    said = out.getvalue()
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "[red]" in said
    assert "2 of 9 shown" in said
    assert "50.0 %" in said


def test_the_board_on_paper_is_no_wider_than_the_paper() -> None:
    for width in (80, 120, 200):
        lines = [
            text_report.plain(p)
            for p in text_report.lines(board_of(account()), width=width, now=NOW, glyphs=UNICODE)
        ]
        assert max(map(cell_len, lines)) <= width
        assert any("SaaS founders" in line for line in lines)
    assert lines[0].startswith("◆ ")


def test_paper_tells_what_could_not_be_read() -> None:
    board = board_of(failing(account(), since=NOW + timedelta(seconds=9), error="no answer"))
    said = [text_report.plain(p) for p in text_report.lines(board, width=120, now=NOW, glyphs=ASCII)]
    assert any("SEQUENCES" in line and "no answer" in line for line in said)


def test_a_csv_holds_no_formula() -> None:
    box = Inbox(email="=HYPERLINK(1)@x.example", status="active", health_score=90.0)
    text = text_report.as_csv([InboxLine(box, verdict(box))], LISTS["inboxes"], glyphs=UNICODE)
    head, line = text.splitlines()
    assert head.startswith("Inbox,Health")
    assert line.startswith("'=HYPERLINK")


def test_keys_are_bound_once_and_have_a_word() -> None:
    keys = [key for entry in BOARD for key in entry.keys.split(",")]
    assert len(keys) == len(set(keys))
    assert len({entry.id for entry in BOARD}) == len(BOARD) == len(bindings())
    assert all(entry.summary for entry in BOARD)


def test_the_prompt_offers_commands_and_then_sequences() -> None:
    known = ("Q3 founders", "Webinar")
    assert [line for line, _ in suggestions("pau", sequences=known, keys=())] == [
        "pause SEQUENCE [for 2h] [reason …]"
    ]
    assert suggestions("pause web", sequences=known, keys=()) == [("pause Webinar", "")]
    assert suggestions("pause ", sequences=known, keys=())[0] == ('pause "Q3 founders"', "")


@pytest.mark.parametrize("width", range(60, 301, 20))
@pytest.mark.parametrize("height", [20, 24, 30, 41, 42, 80])
def test_the_active_panel_is_always_among_those_shown(width: int, height: int) -> None:
    for name in layout.PANELS:
        assert name in layout.shown(width, height, active=name)


def test_an_alarm_is_raised_on_the_edge_only() -> None:
    fine = tuple(replace(b, health_score=95.0, status="active") for b in account().inboxes.value or ())
    bad = (replace(fine[0], health_score=10.0), *fine[1:])

    def board(boxes: tuple[Inbox, ...]) -> Board:
        return board_of(replace(account(), inboxes=replace(account().inboxes, value=boxes)))

    assert changes.new_alarms(None, board(bad)) == ()
    assert [text.partition(":")[0] for text in changes.new_alarms(board(fine), board(bad))] == [
        "useacme.example"
    ]
    assert changes.new_alarms(board(bad), board(bad)) == ()
    assert changes.new_alarms(board(bad), board(fine)) == ()


def test_the_wall_turns_and_holds_still_in_trouble() -> None:
    turned = [view_at(TURN * n, trouble=False) for n in range(len(VIEWS))]
    assert turned == list(VIEWS)
    assert {view_at(TURN * n, trouble=True) for n in range(9)} == {VIEWS[0]}
    assert len({burn_in_shift(600 * n) for n in range(4)}) == 4


@given(st.lists(st.one_of(st.none(), st.floats(0, 100)), max_size=40), st.integers(2, 9), st.integers(9, 90))
def test_a_plot_fills_its_place_exactly(values: list[float | None], height: int, width: int) -> None:
    plot = Plot(
        title="", values=tuple(values), start=NOW, end=NOW + timedelta(days=1), times="%H:%M", low=0, high=100
    )
    for glyphs in (UNICODE, ASCII):
        drawn = draw(plot, width=width, height=height, glyphs=glyphs)
        assert [sum(len(text) for text, _ in line) for line in drawn] == [width] * height


def test_counts_under_a_name_that_two_sequences_share_are_nobodys() -> None:
    twins = tuple(Sequence(id=f"sq_{n}", name="Webinar", status="active", steps=2) for n in (1, 2))
    rows = tuple(StatsRow(group="Webinar", sends=n) for n in (10, 20))
    stats = {**account().stats, "sequence": Reading(value=rows, read_at=NOW)}
    board = board_of(account(sequences=Reading(value=twins, read_at=NOW), stats=stats))
    assert [line.stats for line in board.sequences] == [None, None]


def test_a_transition_is_said_in_words() -> None:
    told = Transition(
        at=NOW, kind="inbox", key="a@x.example", label="", field="status", before="active", after="resting"
    )
    line = history_access.change_line(told)
    assert (line.subject, line.text, line.tone) == ("a@x.example", "active → resting", Tone.WARN)
