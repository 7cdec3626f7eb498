"""How long a person waits for a command: only a request that the service doesn't answer ends it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import pytest

from shared.api.errors import RateLimited, Unreachable
from shared.api.pipeline import attempts
from shared.commands import run
from shared.commands.base import CommandContext, Result
from shared.domain.card import Card

DONE = Result(Card("Done"))


NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def context_of(resumes_at: float | None) -> CommandContext:
    client = SimpleNamespace(budget=SimpleNamespace(resumes_at=resumes_at))
    return cast("CommandContext", SimpleNamespace(client=client, now=lambda: NOON))


@pytest.mark.parametrize("endpoint", ["", "GET /stats"])
async def test_only_a_request_without_an_answer_cuts_a_command_off(
    monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    monkeypatch.setattr(run, "SILENCE_SECONDS", 0.0)

    async def busy() -> Result:
        if endpoint:
            attempts().waiting.append(endpoint)
        for _turn in range(100):  # many looks, as on a machine that is busy
            await asyncio.sleep(0)
        return DONE

    if not endpoint:
        assert await run._answered_in_time(busy(), context_of(None)) == DONE
        return
    with pytest.raises(Unreachable, match="GET /stats doesn't answer"):
        await run._answered_in_time(busy(), context_of(NOON.timestamp()))
    with pytest.raises(RateLimited) as stopped:
        await run._answered_in_time(busy(), context_of(NOON.timestamp() + 45))
    assert (stopped.value.endpoint, stopped.value.retry_after) == ("GET /stats", 45)
