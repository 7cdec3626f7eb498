"""The deliverability crisis, watched from calm to recovery."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from sandbox.service import Service
from sandbox.service.moments import DAY, HOUR
from sandbox.service.rules import REST
from tests.sandbox.service.conftest import client_of

TUESDAY = dt.datetime(2026, 3, 3, 10, 17, 23, tzinfo=dt.UTC).timestamp()
STEP = 2 * HOUR
BOUGHT = ["useacme.example", "getacme.example", "helloacme.example", "acme-mail.example"]
"""The domains from which the bought list goes out, in the order in which they are harmed."""


@dataclass
class Domain:
    """A domain at a moment: its state, the inboxes as the API lists them, and its sends so far."""

    state: str = ""
    inboxes: list[dict[str, Any]] = field(default_factory=list)
    sends: int = 0

    @property
    def statuses(self) -> set[str]:
        return {one["status"] for one in self.inboxes}

    @property
    def health(self) -> float:
        return float(sum(one["health_score"] for one in self.inboxes) / len(self.inboxes))


Sight = dict[str, Domain]
Watch = Callable[[float], Awaitable[Sight]]
"""Moves the clock on, and looks."""


@asynccontextmanager
async def crisis(*, seed: int = 7, start: float = TUESDAY) -> AsyncIterator[Watch]:
    async with (
        Service(scenario="deliverability-crisis", speed=0, seed=seed, now=start) as service,
        client_of(service, "acme") as api,
        httpx.AsyncClient(verify=False, base_url=service.control_url, timeout=60) as control,
    ):
        await control.put("/limiter", json={"form": "off"})

        async def after(seconds: float) -> Sight:
            await control.post("/time", json={"advance": seconds})
            sight: Sight = defaultdict(Domain)
            for one in (await api.get("/inboxes")).json()["data"]:
                sight[one["email"].partition("@")[2]].inboxes.append(one)
            query = {"group_by": "inbox", "from": "2020-01-01", "to": "2100-01-01"}
            for row in (await api.get("/stats", params=query)).json()["data"]:
                sight[row["group"].partition("@")[2]].sends += row["sends"]
            for one in (await control.get("/state")).json()["domains"]:
                if one["name"] in sight:
                    sight[one["name"]].state = one["state"]
            return sight

        yield after


@pytest.mark.e2e
async def test_the_domains_of_the_bought_list_are_paused_one_after_another_rest_and_warm_up() -> None:
    async with crisis() as after:
        sights = [await after(0)] + [await after(STEP) for _ in range(13)]
    places: dict[str, list[int]] = defaultdict(list)
    for place, sight in enumerate(sights):
        for name, domain in sight.items():
            if domain.state == "paused":
                places[name].append(place)
    assert sorted(places, key=lambda name: places[name][0]) == BOUGHT
    assert places[BOUGHT[-1]][0] * STEP <= 10 * HOUR
    for name in BOUGHT:
        first, last = places[name][0], places[name][-1]
        assert (last - first + 1) * STEP == REST
        assert sights[first][name].statuses == {"resting"}
        assert sights[last][name].sends == sights[first][name].sends
        assert sights[last + 1][name].statuses == {"warming"}


@pytest.mark.soak
@pytest.mark.parametrize("seed", [7, 8, 9])
async def test_the_crisis_ends_with_every_inbox_active_again(seed: int) -> None:
    """Each domain once; afterwards calm life goes on, in which a domain may be paused again."""
    async with crisis(seed=seed) as after:
        before = await after(0)
        days = [await after(DAY) for _ in range(46)]
    for name in BOUGHT:
        course = [day[name] for day in days]
        well = [domain.state for domain in course].index("healthy")
        assert 14 <= well <= 45
        # The first begins at 69, and rests soonest.
        assert min(domain.health for domain in course) < min(75, before[name].health - 8)
        assert course[well].health > 75
        assert course[well].statuses == {"active"}
        limits = [sum(one["daily_limit"] for one in domain.inboxes) for domain in course[: well + 1]]
        assert limits == sorted(limits)
        assert limits[0] < limits[-1] / 3
