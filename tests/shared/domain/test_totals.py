"""Rates and comparisons; unknown stays unknown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shared.api.models import StatsRow
from shared.domain import totals

counts = st.none() | st.integers(0, 10**9)


def test_rates_of_the_unknown_and_of_nothing_are_unknown() -> None:
    assert totals.rate(1, 4) == 0.25
    assert totals.rate(0, 4) == 0
    assert [totals.rate(None, 4), totals.rate(1, None), totals.rate(0, 0)] == [None, None, None]


@given(st.lists(counts, min_size=1))
def test_a_total_is_the_sum_or_unknown(values: list[int | None]) -> None:
    total = totals.totals(StatsRow(group="x", sends=value) for value in values).sends
    known = [value for value in values if value is not None]
    assert total == (sum(known) if len(known) == len(values) else None)
