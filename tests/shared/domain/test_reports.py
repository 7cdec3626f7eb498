"""Rates, comparisons and projections; unknown stays unknown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.models import StatsRow
from shared.domain import reports

MIDNIGHT = datetime(2026, 3, 10, tzinfo=UTC)
counts = st.none() | st.integers(0, 10**9)


def days(*values: float) -> list[tuple[datetime, float]]:
    return [(MIDNIGHT + timedelta(days=n), value) for n, value in enumerate(values)]


def test_rates_of_the_unknown_and_of_nothing_are_unknown() -> None:
    assert reports.rate(1, 4) == 0.25
    assert reports.rate(0, 4) == 0
    assert [reports.rate(None, 4), reports.rate(1, None), reports.rate(0, 0)] == [None, None, None]


@given(st.lists(counts, min_size=1))
def test_a_total_is_the_sum_or_unknown(values: list[int | None]) -> None:
    total = reports.totals(StatsRow(group="x", sends=value) for value in values).sends
    known = [value for value in values if value is not None]
    assert total == (sum(known) if len(known) == len(values) else None)


def test_a_change_is_a_fraction_of_what_was_before() -> None:
    assert reports.change(112, 100) == pytest.approx(0.12)
    assert [reports.change(1, 0), reports.change(None, 1), reports.change(1, None)] == [None, None, None]


def test_the_trend_and_when_it_falls_below() -> None:
    falling = days(90, 85, 80)
    assert reports.slope(falling) == pytest.approx(-5)
    assert reports.below_in(falling, threshold=70) == timedelta(days=2)
    assert reports.below_in(days(80, 85, 90), threshold=70) is None
    assert reports.below_in(days(60, 55, 50), threshold=70) is None
    assert reports.slope(days(90, 85)) is None
    assert reports.slope([(MIDNIGHT, 1.0)] * 3) is None


def test_when_the_limit_is_reached() -> None:
    noon = MIDNIGHT + timedelta(hours=12)
    assert reports.limit_reached_at(30, 40, since=MIDNIGHT, now=noon) == MIDNIGHT + timedelta(hours=16)
    assert reports.limit_reached_at(40, 40, since=MIDNIGHT, now=noon) is None
    assert reports.limit_reached_at(None, 40, since=MIDNIGHT, now=noon) is None
    assert reports.limit_reached_at(3, None, since=MIDNIGHT, now=noon) is None
    assert reports.limit_reached_at(3, 40, since=noon, now=noon) is None


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 86_400))
def test_the_limit_is_never_reached_in_the_past(sent: int, limit: int, seconds: int) -> None:
    now = MIDNIGHT + timedelta(seconds=seconds)
    at = reports.limit_reached_at(sent, limit, since=MIDNIGHT, now=now)
    assert at is None or at >= now
