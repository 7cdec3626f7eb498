"""Plots."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from shared.history import Sample
from tests.tui.accounts import NOW
from tui.theme.palette import ASCII, UNICODE
from tui.theme.plotting import Plot, draw, spread_out


@given(st.lists(st.one_of(st.none(), st.floats(0, 100)), max_size=40), st.integers(2, 9), st.integers(9, 90))
def test_a_plot_fills_its_place_exactly(values: list[float | None], height: int, width: int) -> None:
    plot = Plot(
        title="", values=tuple(values), start=NOW, end=NOW + timedelta(days=1), times="%H:%M", low=0, high=100
    )
    for glyphs in (UNICODE, ASCII):
        drawn = draw(plot, width=width, height=height, glyphs=glyphs)
        assert [sum(len(text) for text, _ in line) for line in drawn] == [width] * height


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
        ((text, _),) = draw(plot, width=width, height=5, glyphs=UNICODE)[-1]
        assert len(text.split()) == said, text
        assert text.endswith(" now")
