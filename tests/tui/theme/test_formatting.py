"""Numbers and spans in words."""

from __future__ import annotations

import pytest

from tui.theme import formatting


@pytest.mark.parametrize(
    ("number", "text"), [(None, "–"), (0, "0"), (9_999, "9999"), (12_482, "12.5k"), (3_400_000, "3.4M")]
)
def test_short_counts_fit_five_cells(number: float | None, text: str) -> None:
    assert formatting.short_count(number) == text
