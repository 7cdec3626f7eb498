"""How long a person waits for a command: only a request that the service doesn't answer ends it."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from shared.api.client import OutreachClient
from shared.api.errors import RateLimited, Unreachable
from shared.commands import run
from shared.commands.base import Result, read_part
from shared.domain.card import Card

DONE = Result(Card("Done"))


async def answer(request: httpx.Request) -> httpx.Response:
    await asyncio.sleep(0 if request.url.path.endswith("leads") else 60)
    return httpx.Response(429, headers={"Retry-After": "45"})


async def test_only_a_request_without_an_answer_cuts_a_command_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "PATIENCE_SECONDS", 0.5)
    transport = httpx.MockTransport(answer)
    client = OutreachClient(base_url="https://a.example/v1", api_key="key_0123456789", transport=transport)

    async def part() -> Result:  # other parts of a page don't hide the one that is missing
        await read_part(client.stats())
        return DONE

    for doing in (client.stats, part):
        with pytest.raises(Unreachable, match="GET /stats doesn't answer"):
            await run._answered_in_time(doing())  # type: ignore[arg-type]
    assert await run._answered_in_time(asyncio.sleep(0.1, DONE)) == DONE
    for ask in (client.list_leads, client.list_sequences):  # the second finds the key stopped
        with pytest.raises(RateLimited) as stopped:
            await run._answered_in_time(ask())  # type: ignore[arg-type]
        assert 44 < stopped.value.retry_after <= 45
