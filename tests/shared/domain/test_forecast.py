"""Forecasts: how often their ranges hold the true value over 60 simulated days, and what they leave unsaid."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

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


@dataclass(slots=True)
class Replay:
    """Of each inbox: its health at the start of every day, its sends and its limit at noon, and its sends of every day."""

    health: dict[str, Course] = field(default_factory=dict)
    noon: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    sends: dict[str, list[int]] = field(default_factory=dict)


async def replay(folder: Path) -> Replay:
    file = folder / "scenario.toml"
    file.write_text(SCENARIO)
    found = Replay()
    async with (
        Service(speed=0, scenario=str(file), seed=7, now=START.timestamp()) as service,
        httpx.AsyncClient(verify=False, timeout=60) as http,
    ):
        await http.put(f"{service.control_url}/limiter", json={"form": "off"})
        http.headers["Authorization"] = f"Bearer {service.api_keys['initech']}"

        async def inboxes() -> list[dict[str, Any]]:
            return list((await http.get(f"{service.base_url}/inboxes")).json()["data"])

        async def sends_of(day: date) -> dict[str, int]:
            asked = {"group_by": "inbox", "from": str(day), "to": str(day)}
            rows = (await http.get(f"{service.base_url}/stats", params=asked)).json()["data"]
            return {row["group"]: row["sends"] for row in rows}

        async def half_a_day() -> None:
            (await http.post(f"{service.control_url}/time", json={"advance": 43_200})).raise_for_status()

        for n in range(DAYS):
            today = START + timedelta(days=n)
            for one in await inboxes():
                found.health.setdefault(one["email"], []).append((today, one["health_score"]))
            await half_a_day()
            sent = await sends_of(today.date())
            for one in await inboxes():
                noon = (sent.get(one["email"], 0), one["daily_limit"])
                found.noon.setdefault(one["email"], []).append(noon)
            await half_a_day()
            whole = await sends_of(today.date())
            for name in found.noon:
                found.sends.setdefault(name, []).append(whole.get(name, 0))
    return found


@pytest.mark.e2e
@pytest.mark.timeout(300)
async def test_over_60_days_the_ranges_hold_what_comes(tmp_path: Path) -> None:
    found = await replay(tmp_path)
    ahead, crossings, totals, limited, limits = [], [], [], [], []
    for course in found.health.values():
        for now in range(14, DAYS - 3):
            past = course[now - 14 : now]
            drift = forecast.drift(past)
            assert drift is not None
            ahead += [course[now - 1 + days][1] in drift.ahead(days) for days in (1, 2, 3)]
            crossings += [held for line in (80, 60) if (held := _held(past, course[now:], line)) is not None]
    for name, counts in found.sends.items():
        for now in range(28, DAYS):
            weekdays = [counts[now - 7 * week] for week in range(1, forecast.WEEKS + 1)]
            sent, limit = found.noon[name][now]
            whole = forecast.day_total(weekdays, sent=0, limit=None)
            rest = forecast.day_total(weekdays, sent=sent, limit=limit)
            assert whole is not None
            assert rest is not None
            totals.append(counts[now] in whole)
            limited.append(counts[now] in rest)
            if rest.low >= limit or rest.high < limit:  # what is said of the limit without a "may"
                limits.append((counts[now] >= limit) == (rest.low >= limit))
    shares = {
        name: sum(held) / len(held)
        for name, held in (
            ("ahead", ahead), ("crossings", crossings), ("totals", totals), ("limited", limited), ("limits", limits),
        )
    }  # fmt: skip
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


def test_a_steady_fall_has_a_forecast_range() -> None:
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
def test_without_a_fall_to_the_threshold_there_is_no_forecast(values: tuple[float, ...]) -> None:
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
