"""Plots."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.health import Thresholds
from shared.history import Sample
from tests.tui.accounts import NOW
from tui.theme.marks import Mark, MarkKind
from tui.theme.palette import ASCII, UNICODE, Glyphs, Ink
from tui.theme.plotting import GUTTER, Plot, bands, draw, known_from, read_at, spread_out, words_of

DAY = timedelta(days=1)
PAUSE = Mark(at=NOW + DAY / 2, kind=MarkKind.PAUSED, subject="Fintech ops leaders", text="paused by Ann")
RESUME = Mark(at=NOW + DAY / 2, kind=MarkKind.RESUMED, subject="Fintech ops leaders", text="resumed by Ann")
LATER = Mark(at=NOW + 2 * DAY, kind=MarkKind.PAUSED, subject="Recruiters", text="paused by Ben")


def a_plot(*values: float | None, **more: Any) -> Plot:
    about = {"title": "", "start": NOW, "end": NOW + DAY, "times": "%H:%M", "low": 0, "high": 100}
    return Plot(**{**about, "values": values, **more})


def rows_of(plot: Plot, *, width: int = 40, height: int = 9, glyphs: Glyphs = UNICODE) -> list[str]:
    drawn = draw(plot, width=width, height=height, glyphs=glyphs)
    return ["".join(text for text, _ in line)[GUTTER:] for line in drawn]


@given(
    st.lists(st.one_of(st.none(), st.floats(0, 100)), max_size=40),
    st.integers(2, 9),
    st.integers(9, 90),
    st.sampled_from([{}, {"by_day": True}, {"judged": Thresholds()}, {"marks": (PAUSE, LATER)}]),
    st.sampled_from([None, 0, 1]),
)
def test_a_plot_fills_its_place_exactly(
    values: list[float | None], height: int, width: int, more: dict[str, Any], cursor: int | None
) -> None:
    plot = a_plot(*values, **more)
    for glyphs in (UNICODE, ASCII):
        drawn = draw(plot, width=width, height=height, glyphs=glyphs, cursor=cursor)
        assert [sum(len(text) for text, _ in line) for line in drawn] == [width] * height
        assert all(text.isascii() for line in drawn for text, _ in line) or not glyphs.ascii
    assert len(bands(plot, height=height)) <= height


def test_a_missing_day_is_a_gap_and_not_a_day_of_nothing() -> None:
    known, gap, zero, rest = (
        row[at * 10 : at * 10 + 8] for row in rows_of(a_plot(50.0, None, 0.0, 50.0, by_day=True), width=47)[-2:-1]
        for at in range(4)
    )  # fmt: skip
    assert (known, gap, rest) == ("⣿" * 8, "·" * 8, "⣿" * 8)
    assert zero == "⣀" * 8


def test_health_is_a_line_in_the_color_of_its_band() -> None:
    drawn = draw(
        a_plot(90.0, 70.0, 30.0, low=20, judged=Thresholds()), width=GUTTER + 30, height=9, glyphs=UNICODE
    )
    inks = {ink for line in drawn for text, ink in line if any("⠀" < sign <= "⣿" for sign in text)}
    assert inks == {Ink.GOOD, Ink.WARN, Ink.BAD}
    filled = [sum("⠀" < sign <= "⣿" for text, _ in line for sign in text) for line in drawn]
    assert max(filled) <= 12, "a line, and no area"
    grounds = bands(a_plot(90.0, low=20, judged=Thresholds()), height=9)
    assert grounds == sorted(grounds, key=["panel", "caution", "alarm"].index)
    assert set(grounds) == {"panel", "caution", "alarm"}


def test_the_cursor_reads_the_value_its_day_and_its_marks() -> None:
    days = a_plot(412.0, None, 0.0, 7.0, start=NOW.replace(hour=0), end=NOW.replace(hour=0) + 4 * DAY,
                  by_day=True, marks=(PAUSE, RESUME))  # fmt: skip
    words = [words_of(days, read_at(days, column, columns=40)) for column in (0, 9, 10, 25, 39)]
    assert [one.split("  ")[1] for one in words] == ["412", "412", "unknown", "0", "7"]
    column = next(x for x in range(40) if read_at(days, x, columns=40).marks)
    assert read_at(days, column, columns=40).marks == (PAUSE, RESUME)
    line = rows_of(days, width=GUTTER + 40)[-2]
    assert line.strip() == PAUSE.sign(UNICODE), "a pause is more serious than a resumed sequence"
    assert line.index(PAUSE.sign(UNICODE)) == column


def test_marks_outside_of_the_axis_are_left_out() -> None:
    assert rows_of(a_plot(1.0, marks=(LATER,)))[-2].strip() == ""


def test_an_axis_begins_where_something_is_known() -> None:
    hour = timedelta(hours=1)
    samples = [Sample(at=NOW + at * hour, value=1.0, low=1.0, high=1.0) for at in (0, 5)]
    unknown = [Sample(at=NOW, value=None, low=None, high=None)]
    covered = [(NOW - 9 * hour, NOW - 4 * hour), (NOW + 3 * hour, NOW + 9 * hour)]
    assert known_from(samples, start=NOW) == NOW
    assert known_from(samples, start=NOW, covered=covered) == NOW + 3 * hour, "nothing was read before"
    assert known_from([*unknown, samples[1]], start=NOW) == NOW + 5 * hour
    assert known_from(unknown, start=NOW) is None


def test_nothing_is_drawn_before_the_first_sample_and_in_a_gap() -> None:
    hour = timedelta(hours=1)
    samples = [
        Sample(at=NOW + at * hour, value=value, low=value, high=value) for at, value in ((2, 10.0), (8, 30.0))
    ]
    covered = [(NOW + 2 * hour, NOW + 4 * hour), (NOW + 8 * hour, NOW + 10 * hour)]
    values = spread_out(samples, start=NOW, end=NOW + 10 * hour, points=10, covered=covered)
    assert values == (None, 10, 10, 10, None, None, None, 30, 30, 30)


def test_times_below_a_plot_keep_apart_however_narrow_it_is() -> None:
    for width, said in ((100, 5), (44, 5), (36, 3), (20, 2)):
        plot = Plot(
            title="",
            values=(1.0,),
            start=NOW - timedelta(days=14),
            end=NOW,
            times="%d_%b",
            low=0,
            high=100,
        )
        text = "".join(piece for piece, _ in draw(plot, width=width, height=5, glyphs=UNICODE)[-1])
        assert len(text.split()) == said, text
        assert text.endswith(" now")
