"""A campaign that lives: by rules that are values, and by the account that follows from them."""

from __future__ import annotations

from itertools import pairwise

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.service import Service, rules
from sandbox.service.moments import DAY, HOUR
from sandbox.service.plans import SequencePlan
from sandbox.service.rules import (
    limit_after_rest,
    limit_tomorrow,
)
from tests.sandbox.service.conftest import client_of, founded_at

OFFICE = SequencePlan(name="Office", steps=1, opens=9, closes=17)
MONDAY = 20_003 * DAY  # day 20,000 was a Friday, as 1970-01-01 was a Thursday


@given(st.integers(1, 60), st.integers(0, 14))
def test_an_inbox_never_passes_its_daily_limit_and_sends_in_its_hours_alone(limit: int, ahead: int) -> None:
    day = int(MONDAY // DAY) + ahead
    slots = OFFICE.slots_of_day(day, limit=limit, key=("inbox", 1))
    assert len(slots) <= limit
    assert bool(slots) == (ahead % 7 < 5)
    assert all(earlier < later for earlier, later in pairwise(slots))
    assert all(9 * HOUR <= one - day * DAY < 17 * HOUR for one in slots)


def test_rates_are_realistic() -> None:
    sent, replied, interested, bounced = 0, 0, 0, 0
    for lead in range(20_000):
        for step in range(1, 5):
            sent += 1
            reaction = rules.outcome(seed=1, lead=lead, step=step, day=0, health=90.0, appeal=1.0)
            kind = reaction.kind if reaction else "silence"
            replied += kind in {"interested", "reply", "unsubscribe"}
            interested += kind == "interested"
            bounced += kind.startswith("bounce")
            if kind not in {"silence", "ooo", "bounce_soft"}:
                break
    assert 0.03 < replied / 20_000 < 0.05
    assert 0.2 < interested / replied < 0.3
    assert bounced / sent < 0.02


@pytest.mark.parametrize("full", [25, 30, 35, 40])
def test_warm_up_raises_the_limit_for_two_to_four_weeks(full: int) -> None:
    limits = [limit_after_rest(full)]
    while limits[-1] < full:
        limits.append(limit_tomorrow(limits[-1], full, health=90))
    assert limits == sorted(set(limits))
    assert 14 <= len(limits) - 1 <= 28
    assert limit_tomorrow(8, full, health=30) == 8


@pytest.mark.e2e
async def test_a_calm_week_has_an_interested_reply_and_a_paused_domain_soon(
    service: Service, api: httpx.AsyncClient, control: httpx.AsyncClient
) -> None:
    subscription = {"url": "http://127.0.0.1:9/", "events": ["reply.interested", "domain.paused"]}
    await api.post("/webhooks", json=subscription)
    await control.post("/time", json={"advance": 20 * 60})
    kinds = (await control.get("/summary")).json()["deliveries"]["by_kind"]
    assert kinds["reply.interested"] >= 1
    await control.post("/time", json={"advance": 130 * 60})
    assert (await control.get("/summary")).json()["deliveries"]["by_kind"]["domain.paused"] == 1
    resting = [one for one in (await api.get("/inboxes")).json()["data"] if one["status"] == "resting"]
    assert {one["email"].partition("@")[2] for one in resting} == {"useacme.example"}
    await control.post("/time", json={"advance": 15 * 3_600})
    statuses = {
        one["status"] for one in (await api.get("/inboxes")).json()["data"] if "useacme" in one["email"]
    }
    assert statuses == {"warming"}


async def test_the_same_seed_lives_the_same_life_however_often_it_is_asked() -> None:
    lives = []
    # In one jump or in many: chance is drawn by lead and step, and not in the order of requests.
    for jumps in (1, 24):
        async with (
            Service(speed=0, now=founded_at()) as service,
            client_of(service, "acme") as api,
        ):
            async with httpx.AsyncClient(verify=False, timeout=120) as control:
                await control.put(f"{service.control_url}/limiter", json={"form": "off"})
                founded = (await control.get(f"{service.control_url}/state")).json()["simulated_until"]
                for _ in range(jumps):
                    await control.post(f"{service.control_url}/time", json={"advance": 3_600 / jumps})
            everything = [
                (await api.get(path)).json() for path in ("/stats?group_by=inbox", "/inboxes", "/leads")
            ]
            lives.append((founded, everything))
    assert lives[0] == lives[1]
