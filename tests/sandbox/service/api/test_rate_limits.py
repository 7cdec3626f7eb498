"""Section Limits of the document: ten requests a second per key, for all endpoints together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from sandbox.service import Service
from tests.sandbox.service.conftest import client_of

ENDPOINTS = [
    ("GET", "/leads"),
    ("POST", "/leads"),
    ("DELETE", "/leads/ld_00000000"),
    ("GET", "/sequences"),
    ("PATCH", "/sequences/sq_00000000"),
    ("GET", "/inboxes"),
    ("GET", "/stats"),
    ("POST", "/webhooks"),
]


@pytest.fixture
async def strict() -> AsyncIterator[Service]:
    """The service with its limiter on."""
    async with Service(speed=0) as service:
        yield service


async def test_all_endpoints_spend_from_one_allowance_whatever_they_answer(strict: Service) -> None:
    async with client_of(strict, "acme") as api:
        answers = await asyncio.gather(*(api.request(*endpoint, json={}) for endpoint in ENDPOINTS * 8))
        refused = Counter(
            (answer.request.method, answer.request.url.path.removeprefix("/v1"))
            for answer in answers
            if answer.status_code == 429
        )
    assert set(refused) == set(ENDPOINTS)
    # At least: on a slow machine a second ends while the requests are answered.
    assert len(answers) - refused.total() >= 10


async def test_each_key_has_its_own_allowance(strict: Service) -> None:
    async with client_of(strict, "acme") as api, client_of(strict, "globex") as globex:
        while (await api.get("/sequences")).status_code != 429:
            pass
        assert (await globex.get("/sequences")).status_code == 200


async def test_a_request_after_retry_after_is_admitted(strict: Service) -> None:
    async with client_of(strict, "acme") as api:
        while (answer := await api.get("/sequences")).status_code != 429:
            pass
        # A wait in real time: the limiter counts by it, and not by the sandbox's clock, which stands still.
        await asyncio.sleep(int(answer.headers["Retry-After"]))
        assert (await api.get("/sequences")).status_code == 200
