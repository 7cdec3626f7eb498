"""The deliverability crisis: four domains are paused one after another, three of them with broken DNS, rest and warm up."""

from __future__ import annotations

import datetime as dt
from typing import Any

import httpx
import pytest

from sandbox.service import Service
from sandbox.service.moments import HOUR
from sandbox.service.rules import REST
from tests.sandbox.service.conftest import client_of

TUESDAY = dt.datetime(2026, 3, 3, 10, 17, 23, tzinfo=dt.UTC).timestamp()
STEP = 2 * HOUR
BOUGHT = {
    "useacme.example": ["second_spf"],
    "getacme.example": ["no_dkim"],
    "helloacme.example": ["no_dmarc"],
    "acme-mail.example": [],
}
"""The domains from which the bought list goes out, in the order in which they are harmed, and what breaks in their zones."""


@pytest.mark.e2e
async def test_the_domains_of_the_bought_list_are_paused_one_after_another_rest_and_warm_up() -> None:
    states, inboxes, changes = [], [], dict[str, list[str]]()
    async with (
        Service(scenario="deliverability-crisis", speed=0, now=TUESDAY) as service,
        client_of(service, "acme") as api,
        httpx.AsyncClient(verify=False, base_url=service.control_url, timeout=60) as control,
    ):
        await control.put("/limiter", json={"form": "off"})
        for _ in range(13):
            await control.post("/time", json={"advance": STEP})
            domains = (await control.get("/state")).json()["domains"]
            states.append({one["name"]: one["state"] for one in domains})
            inboxes.append((await api.get("/inboxes")).json()["data"])
            for one in (await control.get("/dns")).json()["domains"]:
                if states[-1][one["name"]] == "paused":
                    changes.setdefault(one["name"], one["changes"])
    assert changes == BOUGHT
    assert list(changes) == list(BOUGHT)
    for name in BOUGHT:
        paused = [place for place, state in enumerate(states) if state[name] == "paused"]
        assert len(paused) * STEP == REST
        assert statuses(inboxes[paused[0]], name) == {"resting"}
        assert statuses(inboxes[paused[-1] + 1], name) == {"warming"}
    assert (paused[0] + 1) * STEP <= 10 * HOUR


def statuses(inboxes: list[dict[str, Any]], domain: str) -> set[str]:
    return {one["status"] for one in inboxes if one["email"].endswith(f"@{domain}")}
