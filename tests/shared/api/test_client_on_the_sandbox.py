"""The client against an independent reading of the document."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from sandbox.service import Service
from shared.api import NotFound, OutreachClient, Priority, Unauthorized
from tests.shared.api.conftest import RecordingPacer


class ControlApi:
    """The sandbox's control API."""

    def __init__(self, service: Service, http: httpx.AsyncClient) -> None:
        self.service = service
        self._http = http

    async def turn(self, dial: str, **values: Any) -> None:
        answer = await self._http.request(
            "POST" if dial == "faults" else "PUT", f"{self.service.control_url}/{dial}", json=values
        )
        answer.raise_for_status()

    async def reset(self) -> None:
        (await self._http.post(f"{self.service.control_url}/reset")).raise_for_status()

    async def summary(self) -> dict[str, Any]:
        body: dict[str, Any] = (await self._http.get(f"{self.service.control_url}/summary")).json()
        return body


@pytest.fixture
async def control() -> AsyncIterator[ControlApi]:
    async with Service(speed=0) as service, httpx.AsyncClient(verify=False) as http:
        yield ControlApi(service, http)


@pytest.fixture
async def unpaced(control: ControlApi) -> AsyncIterator[OutreachClient]:
    await control.turn("limiter", form="off")
    async with OutreachClient(
        base_url=control.service.base_url,
        api_key=control.service.api_keys["acme"],
        pacer=RecordingPacer(),
        jitter=lambda: 0.05,
    ) as client:
        yield client


async def test_leads_come_and_go_and_nothing_is_added_twice(
    control: ControlApi, unpaced: OutreachClient
) -> None:
    sequence = (await unpaced.list_sequences())[0]
    people = [{"email": f"new.{number}@import.example", "shoe": number} for number in range(50)]
    await control.turn("faults", endpoint="POST /leads", cut=True, executed=True)
    result = await unpaced.add_leads(sequence.id, people, priority=Priority.BULK)
    assert (result.added, len(result.skipped), result.repeated) == (0, 50, True)
    assert {skipped.reason for skipped in result.skipped} == {"duplicate"}
    ours = [
        lead for lead in (await unpaced.list_leads(limit=50)).items if (lead.email or "").startswith("new.")
    ]
    assert len(ours) == 50
    await control.turn("faults", endpoint="DELETE /leads/{id}", cut=True, executed=True)
    await unpaced.remove_lead(ours[0].id)
    with pytest.raises(NotFound):
        await unpaced.remove_lead("ld_nobody")


async def test_a_wrong_key_and_another_workspace_are_different_errors(
    control: ControlApi, unpaced: OutreachClient
) -> None:
    sequence = (await unpaced.list_sequences())[0]
    base_url, keys = control.service.base_url, control.service.api_keys
    async with OutreachClient(base_url=base_url, api_key="wrong", pacer=RecordingPacer()) as stranger:
        with pytest.raises(Unauthorized):
            await stranger.list_inboxes()
    async with OutreachClient(base_url=base_url, api_key=keys["globex"], pacer=RecordingPacer()) as neighbour:
        with pytest.raises(NotFound):
            await neighbour.pause_sequence(sequence.id)


async def test_the_limit_is_kept(control: ControlApi) -> None:
    await control.turn("limiter", form="sliding")
    async with OutreachClient(
        base_url=control.service.base_url, api_key=control.service.api_keys["acme"]
    ) as client:
        await asyncio.gather(*(client.list_sequences(priority=Priority.BULK) for _ in range(12)))
        started = time.monotonic()
        await client.list_inboxes()
        assert time.monotonic() - started < 5
    counts = await control.summary()
    assert counts["rate_limited"] == 0
    assert counts["worst_second"]["acme"] <= 10
