"""The deliverability crisis, watched from calm to recovery."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx
import pytest

from sandbox.service import Service
from sandbox.service.deliverability import REST
from sandbox.service.moments import DAY, HOUR
from tests.sandbox.service.conftest import client_of

TUESDAY = dt.datetime(2026, 3, 3, 10, 17, 23, tzinfo=dt.UTC).timestamp()
STEP = 2 * HOUR
BOUGHT = ["useacme.example", "getacme.example", "helloacme.example", "acme-mail.example"]
"""The domains from which the bought list goes out, in the order in which they are harmed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    domain: str
    status: str
    health: float
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What a watcher sees at a moment: the state of each domain, and the inboxes."""

    domains: dict[str, str]
    inboxes: list[Inbox]
    sends: dict[str, int]

    def statuses(self, domain: str) -> set[str]:
        return {inbox.status for inbox in self.inboxes if inbox.domain == domain}

    def health(self, domain: str) -> float:
        scores = [inbox.health for inbox in self.inboxes if inbox.domain == domain]
        return sum(scores) / len(scores)


class Watcher:
    """Moves the clock on, and looks."""

    def __init__(self, api: httpx.AsyncClient, control: httpx.AsyncClient) -> None:
        self._api = api
        self._control = control

    async def after(self, seconds: float) -> Observation:
        response = await self._control.post("/time", json={"advance": seconds})
        assert response.status_code == 200, response.text
        return await self.look()

    async def look(self) -> Observation:
        state = (await self._control.get("/state")).json()
        inboxes = (await self._api.get("/inboxes")).json()["data"]
        query = {"group_by": "inbox", "from": "2020-01-01", "to": "2100-01-01"}
        sends: dict[str, int] = {}
        for row in (await self._api.get("/stats", params=query)).json()["data"]:
            domain = row["group"].partition("@")[2]
            sends[domain] = sends.get(domain, 0) + row["sends"]
        return Observation(
            domains={one["name"]: one["state"] for one in state["domains"] if "acme" in one["name"]},
            inboxes=[_inbox(one) for one in inboxes],
            sends=sends,
        )

    async def pauses(self) -> int:
        kinds = (await self._control.get("/summary")).json()["deliveries"]["by_kind"]
        return int(kinds.get("domain.paused", 0))


def _inbox(one: dict[str, object]) -> Inbox:
    return Inbox(
        domain=str(one["email"]).partition("@")[2],
        status=str(one["status"]),
        health=float(str(one["health_score"])),
        limit=int(str(one["daily_limit"])),
    )


@asynccontextmanager
async def crisis(*, seed: int = 7, start: float = TUESDAY) -> AsyncIterator[Watcher]:
    async with (
        Service(scenario="deliverability-crisis", speed=0, seed=seed, now=start) as service,
        client_of(service, "acme") as api,
        httpx.AsyncClient(verify=False, base_url=service.control_url, timeout=60) as control,
    ):
        await control.put("/limiter", json={"form": "off"})
        await api.post("/webhooks", json={"url": "http://127.0.0.1:1/", "events": ["domain.paused"]})
        yield Watcher(api, control)


@pytest.mark.e2e
async def test_the_domains_of_the_bought_list_are_paused_one_after_another_rest_and_warm_up() -> None:
    async with crisis() as watcher:
        sights = [await watcher.look()]
        sights += [await watcher.after(STEP) for _ in range(13)]
        assert await watcher.pauses() == len(BOUGHT)
    assert {sight.domains[domain] for sight in sights[:1] for domain in BOUGHT} == {"healthy"}
    paused = {
        domain: [place for place, sight in enumerate(sights) if sight.domains[domain] == "paused"]
        for domain in sights[0].domains
    }
    assert sorted(BOUGHT, key=lambda domain: paused[domain][0]) == BOUGHT
    assert paused[BOUGHT[-1]][0] * STEP <= 10 * HOUR
    assert {domain for domain, places in paused.items() if places} == set(BOUGHT)
    for domain in BOUGHT:
        first, last = paused[domain][0], paused[domain][-1]
        assert (last - first + 1) * STEP == REST
        assert sights[first].statuses(domain) == {"resting"}
        assert sights[last].sends[domain] == sights[first].sends[domain]
        assert sights[last + 1].statuses(domain) == {"warming"}


@pytest.mark.e2e
@pytest.mark.parametrize("days", [3, 4, 5, 6], ids=["Friday", "Saturday", "Sunday", "Monday"])
async def test_the_crisis_comes_on_any_day_of_the_week(days: int) -> None:
    """The schedule tells only weekdays from weekends: the others are as the Tuesday above."""
    async with crisis(start=TUESDAY + days * DAY) as watcher:
        sight = await watcher.after(9 * HOUR)
    assert {name for name, state in sight.domains.items() if state == "paused"} == set(BOUGHT)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [7, 8, 9])
async def test_the_crisis_ends_with_every_inbox_active_again(seed: int) -> None:
    """Each domain once; afterwards calm life goes on, in which a domain may be paused again."""
    async with crisis(seed=seed) as watcher:
        before = await watcher.look()
        days = [await watcher.after(DAY) for _ in range(46)]
    worst = {domain: min(day.health(domain) for day in days) for domain in BOUGHT}
    for domain in BOUGHT:
        well = [day.domains[domain] for day in days].index("healthy")
        assert 14 <= well <= 45
        assert worst[domain] < min(75, before.health(domain) - 8)  # the first begins at 69, and rests soonest
        assert days[well].health(domain) > 75
        assert days[well].statuses(domain) == {"active"}
        limits = [sum(one.limit for one in day.inboxes if one.domain == domain) for day in days[: well + 1]]
        assert limits == sorted(limits)
        assert limits[0] < limits[-1] / 3
