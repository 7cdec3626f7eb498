"""A rule replayed over stored deliveries and counts: each incident once, and what a pause would have prevented."""

from __future__ import annotations

from shared.domain.wall_clock import DAY
from shared.guardrails.activity import Activity
from shared.guardrails.backtest import backtest
from shared.guardrails.sentence import parse
from shared.records.guardrails import CountSample, Happening

START = 20_000 * DAY


def crisis() -> Activity:
    """Ten sends an hour for six days; on the third, from 06:00 to 18:00, half of them bounce."""
    known = Activity()
    samples, happenings = [], []
    for hour in range(6 * 24):
        at = START + hour * 3600
        samples.append(
            CountSample(scope="sequence", key="Q3", day=int(at // DAY), at=at, sends=10 * (hour % 24 + 1))
        )
        if 2 * 24 + 6 <= hour < 2 * 24 + 18:
            happenings += [Happening(at=at + n + 1, kind="lead.bounced", sequence="Q3") for n in range(5)]
    known.add(happenings, samples)
    return known


def test_one_incident_fires_once_and_counts_what_a_pause_would_have_prevented() -> None:
    rule = parse("pause sequence for 6h when bounces > 5% of at least 50 sends in 24h")
    known = crisis()
    result = backtest(rule, known, start=START + DAY, end=START + 6 * DAY)
    (one,) = result.firings
    assert one.at == START + 2 * DAY + 8 * 3600 + 3600
    assert one.note == "15 bounces in 240 sends (6.2%) in 24 h. Limit: 5%"
    assert result.sends == 60
    assert result.bounces == 30


def test_a_day_s_limit_holds_back() -> None:
    rule = parse("pause sequence for 1h when bounces > 4 in 1h, at most 1 a day")
    known = Activity()
    known.add(
        Happening(at=START + hour * 3600 + n + 1, kind="lead.bounced", sequence="Q3")
        for hour in (1, 6, 12)
        for n in range(5)
    )
    result = backtest(rule, known, start=START, end=START + DAY - 1)
    assert [one.held_back for one in result.firings] == [False, True, True]


def test_nothing_is_known_before_any_delivery() -> None:
    rule, known = parse("pause sequence when bounces > 5% of at least 50 sends in 24h"), crisis()
    known.heard_since = float("inf")
    result = backtest(rule, known, start=START, end=START + 6 * DAY)
    assert result.start > result.end
    assert result.firings == ()
