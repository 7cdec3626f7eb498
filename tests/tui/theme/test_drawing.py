"""Fitted lines, bars, numerals and signs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from shared.domain.card import Tone
from tui.theme import drawing
from tui.theme.palette import ASCII, UNICODE, Ink

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


def test_every_sign_is_one_cell_wide_and_unique_per_tone() -> None:
    for glyphs in (UNICODE, ASCII):
        assert len({glyphs.of(tone) for tone in Tone}) == len(Tone)
        assert all(cell_len(glyphs.of(tone)) == 1 for tone in Tone)


def test_numerals_have_a_shape_for_every_figure() -> None:
    rows = drawing.numeral("12,480")
    assert len(rows) == 3
    assert len({len(row) for row in rows}) == 1
    assert len(drawing.numeral("7", scale=2)) == 5
