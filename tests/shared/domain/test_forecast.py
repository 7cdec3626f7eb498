"""Forecasts: how often their ranges hold the true value over 60 simulated days, and what they leave unsaid."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.service import Service
from shared.domain import forecast

START = datetime(2026, 3, 2, 0, 30, tzinfo=UTC)
DAYS = 60
SCENARIO = """
title = "Two domains, one of which bounces"

[[accounts]]
workspace = "initech"
inboxes = 10
queue = 4000
sequences = [
    { name = "Founders", steps = 3, opens = 8, closes = 17 },
    { name = "Partners", steps = 2, opens = 10, closes = 18, weekdays = 127 },
]
domains = [{ name = "initech.example", health = 94 }, { name = "tryinitech.example", health = 88 }]

[[event]]
at = "20d"
every = "3h"
times = 40
kind = "bounces"
domain = "tryinitech.example"
count = 1
"""

Course = list[tuple[datetime, float]]


def course(*values: float) -> Course:
    return [(START + timedelta(days=n), value) for n, value in enumerate(values)]


async def replay(folder: Path) -> tuple[dict[str, Course], dict[str, list[int]]]:
    """The health of each inbox at the start of every day, and its sends of every day."""
    file = folder / "scenario.toml"
    file.write_text(SCENARIO)
    health: dict[str, Course] = {}
    sends: dict[str, list[int]] = {}
    async with (
        Service(speed=0, scenario=str(file), seed=7, now=START.timestamp()) as service,
        httpx.AsyncClient(verify=False, timeout=60) as http,
    ):
        await http.put(f"{service.control_url}/limiter", json={"form": "off"})
        http.headers["Authorization"] = f"Bearer {service.api_keys['initech']}"
        for n in range(DAYS):
            today = START + timedelta(days=n)
            for one in (await http.get(f"{service.base_url}/inboxes")).json()["data"]:
                health.setdefault(one["email"], []).append((today, one["health_score"]))
            (await http.post(f"{service.control_url}/time", json={"advance": 86_400})).raise_for_status()
            asked = {"group_by": "inbox", "from": str(today.date()), "to": str(today.date())}
            for row in (await http.get(f"{service.base_url}/stats", params=asked)).json()["data"]:
                sends.setdefault(row["id"], [0] * DAYS)[n] = row["sends"]
    return health, sends


@pytest.mark.e2e
@pytest.mark.timeout(300)
async def test_over_60_days_the_ranges_hold_what_comes(tmp_path: Path) -> None:
    health, sends = await replay(tmp_path)
    ahead, crossings, totals = [], [], []
    for course in health.values():
        for now in range(14, DAYS - 3):
            past = course[now - 14 : now]
            drift = forecast.drift(past)
            assert drift is not None
            ahead += [course[now - 1 + days][1] in drift.ahead(days) for days in (1, 2, 3)]
            crossings += [held for line in (80, 60) if (held := _held(past, course[now:], line)) is not None]
    for counts in sends.values():
        for now in range(28, DAYS):
            span = forecast.day_total([counts[now - 7 * week] for week in (1, 2, 3, 4)], sent=0, limit=None)
            assert span is not None
            totals.append(counts[now] in span)
    shares = {
        name: sum(held) / len(held)
        for name, held in (("ahead", ahead), ("crossings", crossings), ("totals", totals))
    }
    assert min(shares.values()) >= 0.85, shares


def _held(past: Course, future: Course, threshold: float) -> bool | None:
    """Whether the score fell below the threshold within the range; None where the replay ends before that is known."""
    found = forecast.below(past, threshold=threshold)
    if found is None:
        return None
    fell = next((day for day, (_, score) in enumerate(future, 1) if score < threshold), None)
    if fell is not None:
        return found.earliest.days <= fell and (found.latest is None or fell <= found.latest.days)
    if found.latest is None:
        return True
    return None if found.latest.days > len(future) else False


def test_a_steady_fall_is_told_with_a_range() -> None:
    found = forecast.below(course(95, 93, 91, 89, 87, 85), threshold=80)
    assert found is not None
    assert found.latest is not None
    assert found.earliest < timedelta(days=3) <= found.latest


def test_an_unsteady_fall_has_no_latest_day() -> None:
    found = forecast.below(course(90, 80, 92, 84, 91, 82), threshold=60)
    assert found is not None
    assert found.latest is None


@pytest.mark.parametrize(
    "values",
    [(90, 88, 86), (80, 82, 84, 86, 88, 90), (59, 58, 57, 56, 55, 54), (90, 90, 90, 90, 90, 89.9)],
    ids=["too few days", "rising", "below already", "too slow"],
)
def test_without_a_fall_to_the_threshold_nothing_is_told(values: tuple[float, ...]) -> None:
    assert forecast.below(course(*values), threshold=60) is None


def test_many_samples_of_one_day_are_one_day() -> None:
    samples = [(START + timedelta(minutes=n), 90.0 - n) for n in range(100)]
    assert forecast.drift(samples) is None


def test_a_day_ends_between_what_is_sent_and_the_limit() -> None:
    assert forecast.day_total([40, 38], sent=3, limit=40) is None
    span = forecast.day_total([30, 32, 28, 30], sent=29, limit=40)
    assert span is not None
    assert span.low == 29
    assert 31 <= span.high <= 40
    assert forecast.day_total([30, 32, 28, 30], sent=41, limit=40) == forecast.Span(low=41, high=41)


NOON = START.replace(hour=12, minute=0)
MIDNIGHT = START.replace(hour=0, minute=0)


def test_the_limit_is_reached_within_a_range() -> None:
    found = forecast.limit_reached(30, 40, since=MIDNIGHT, now=NOON)
    assert found is not None
    early, late = found
    assert late is not None
    assert NOON < early < MIDNIGHT + timedelta(hours=16) < late
    assert forecast.limit_reached(2, 40, since=MIDNIGHT, now=NOON) is not None
    assert (forecast.limit_reached(2, 40, since=MIDNIGHT, now=NOON) or (None, early))[1] is None
    for sent, limit, since in ((40, 40, MIDNIGHT), (None, 40, MIDNIGHT), (3, None, MIDNIGHT), (3, 40, NOON)):
        assert forecast.limit_reached(sent, limit, since=since, now=NOON) is None


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 86_400))
def test_the_limit_is_never_reached_in_the_past(sent: int, limit: int, seconds: int) -> None:
    now = MIDNIGHT + timedelta(seconds=seconds)
    found = forecast.limit_reached(sent, limit, since=MIDNIGHT, now=now)
    assert found is None or (found[0] >= now and (found[1] is None or found[1] >= found[0]))
