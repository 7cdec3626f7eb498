"""The service on an account of the test's own; its clients read no certificates, which takes 25 ms, for plain HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox.service import Service
from tests.kit.clock import moment
from tests.sandbox.receiver import Receiver

SMALL = Path(__file__).with_name("small.toml")
MONDAY = 1_772_442_000.0
"""2026-03-02T09:00:00Z, when mail is sent."""


def founded_at() -> float:
    """When the usual account is founded: the moment at which the tests take place, to the minute."""
    return moment().timestamp() // 60 * 60


@pytest.fixture
def patience() -> float:
    """Real seconds that a subscriber has to answer; a test that lets it pass takes fewer."""
    return 10.0


@pytest.fixture
def small_account() -> None:
    """Have `service` on the account of `SMALL`: for tests that let days go by and look at a few leads."""


@pytest.fixture
async def service(request: pytest.FixtureRequest, patience: float) -> AsyncIterator[Service]:
    """The service on a believable account, its time state still, its limiter off."""
    if "small_account" in request.fixturenames:
        opened = Service(scenario=SMALL, speed=0, timeout=patience, now=MONDAY)
    else:
        opened = Service(speed=0, timeout=patience, now=founded_at())
    async with opened as running:
        async with httpx.AsyncClient(verify=False) as client:
            await client.put(f"{running.control_url}/limiter", json={"form": "off"})
        yield running


@pytest.fixture
async def api(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    """A client with acme's key, for `/v1`."""
    async with client_of(service, "acme") as client:
        yield client


@pytest.fixture
async def globex(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    """A client with the other workspace's key."""
    async with client_of(service, "globex") as client:
        yield client


@pytest.fixture
async def control(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(verify=False, base_url=service.control_url, timeout=120) as client:
        yield client


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with Receiver() as running:
        yield running


def client_of(service: Service, workspace: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {service.api_keys[workspace]}"}
    return httpx.AsyncClient(verify=False, base_url=service.base_url, headers=headers, timeout=120)


async def sequence_id(api: httpx.AsyncClient, place: int = 0) -> str:
    return str((await api.get("/sequences")).json()["data"][place]["id"])


async def add(api: httpx.AsyncClient, sequence: str, *emails: str, **fields: Any) -> httpx.Response:
    body = {"sequence_id": sequence, "leads": [{"email": email} | fields for email in emails]}
    return await api.post("/leads", json=body)


async def everyone(api: httpx.AsyncClient, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = (await api.get("/leads", params=query | ({"cursor": cursor} if cursor else {}))).json()
        found += page["data"]
        cursor = page["next_cursor"]
        if not cursor:
            return found


KINDS = [
    "lead.replied",
    "reply.interested",
    "reply.ooo",
    "lead.bounced",
    "lead.unsubscribed",
    "sequence.completed",
    "domain.paused",
]


async def subscribe(api: httpx.AsyncClient, url: str, *kinds: str) -> str:
    response = await api.post("/webhooks", json={"url": url, "events": list(kinds) or KINDS})
    assert response.status_code == 201, response.text
    assert response.json()["id"].startswith("wh_")
    return str(response.json()["secret"])


async def happen(control: httpx.AsyncClient, kind: str, **request: Any) -> None:
    response = await control.post("/events", json={"kind": kind} | request)
    assert response.status_code == 201, response.text


async def deliveries(control: httpx.AsyncClient, **query: str) -> list[dict[str, Any]]:
    return list((await control.get("/deliveries", params=query)).json()["data"])
