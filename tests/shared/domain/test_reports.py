"""Rates, comparisons, sparklines, bars and projections; unknown stays unknown."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

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


def test_changes_are_shown_with_an_arrow() -> None:
    assert reports.change(112, 100) == pytest.approx(0.12)
    assert [reports.show_change(x) for x in (0.12, -0.03, 0.001, None)] == ["▲ 12 %", "▼ 3 %", "=", "–"]
    assert [reports.change(1, 0), reports.change(None, 1), reports.change(1, None)] == [None, None, None]


def test_sparklines_span_from_lowest_to_highest() -> None:
    assert reports.sparkline([0, 50, 100]) == "▁▅█"
    assert reports.sparkline([5, 5]) == "▄▄"
    assert reports.sparkline([1, None, 2]) == "▁ █"
    assert reports.sparkline([]) == ""


@given(
    fraction=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    width=st.integers(-2, 60),
    plain=st.booleans(),
)
def test_a_bar_is_as_wide_as_asked(fraction: float | None, *, width: int, plain: bool) -> None:
    drawn = reports.bar(fraction, width, ascii=plain)
    assert len(drawn) == max(width, 0)
    assert not plain or drawn.isascii()


def test_bars() -> None:
    assert [reports.bar(x, 4) for x in (0.0, 0.5, 1.0, 0.53)] == ["    ", "██  ", "████", "██▏ "]
    assert reports.bar(0.65, 4, ascii=True) == "### "


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


def test_spans_in_words() -> None:
    spans = [
        timedelta(seconds=40),
        timedelta(minutes=12),
        timedelta(hours=3),
        timedelta(days=2),
        timedelta(-1),
    ]
    assert [reports.show_span(span) for span in spans] == ["40 s", "12 min", "3 h", "2 days", "0 s"]


def test_numbers_agree_with_their_nouns() -> None:
    told = [reports.show_number(n, noun) for n, noun in ((1, "inbox"), (2, "inbox"), (0, "paused sequence"))]
    assert told == ["1 inbox", "2 inboxes", "0 paused sequences"]
    assert reports.show_number(1200, "interested reply") == "1,200 interested replies"


def test_unknown_counts_and_rates_are_a_dash() -> None:
    assert (reports.show_count(None), reports.show_count(12345), reports.show_rate(0.0421)) == (
        "–",
        "12,345",
        "4.2 %",
    )


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        (date(2026, 11, 20), date(2026, 11, 20), "Friday 20 November"),
        (date(2026, 11, 14), date(2026, 11, 20), "14 to 20 November"),
        (date(2026, 2, 24), date(2026, 3, 2), "24 February to 2 March"),
        (date(2025, 12, 30), date(2026, 1, 5), "30 December 2025 to 5 January 2026"),
    ],
)
def test_days_are_told_as_people_do(first: date, last: date, said: str) -> None:
    assert reports.show_days(first, last) == said
