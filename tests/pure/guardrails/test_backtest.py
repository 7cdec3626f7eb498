"""A rule replayed over stored deliveries and counts: each incident once, and what a pause would have prevented."""

from __future__ import annotations

from shared.domain.wall_clock import DAY
from shared.guardrails.activity import Activity
from shared.guardrails.evaluate import backtest
from shared.guardrails.rule import parse
from shared.records import CountSample, Happening

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
    (one,) = result
    assert one.at == START + 2 * DAY + 8 * 3600 + 3600
    assert one.note == "15 bounces in 240 sends (6.2%) in 24 h. Limit: 5%"
    assert (one.sends, one.bounces) == (60, 30)
