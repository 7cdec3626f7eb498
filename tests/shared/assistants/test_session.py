"""Calls of an assistant under trouble: a service that hangs or refuses, cancelled calls, attempts to change something."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import httpx
import pytest

from shared.assistants.reading import reading_only
from shared.assistants.session import ONLY_READING, AssistantSession, Caller
from shared.commands import Invocation
from shared.commands.base import Result
from shared.commands.run import run
from shared.domain.card import Card
from shared.records.audit import Actor
from shared.settings import Settings
from tests.kit.waiting import until
from tests.shared.harness import DOWN, NOW, CommandHarness, result_of

ANN = Actor(name="ann", face="shell", via="assistant")


async def nothing(_: Invocation) -> Result:
    return Result(card=Card(title="Nothing"))


def session(
    harness: CommandHarness,
    act: Callable[[Invocation], Awaitable[Result]] = nothing,
    *,
    seconds: float = 60.0,
) -> AssistantSession:
    caller = Caller(actor=ANN, records=harness.context.records, now=lambda: NOW, settings=Settings())
    return AssistantSession(caller, act, seconds=seconds)


async def test_a_service_that_hangs_ends_with_the_calls_time(harness: CommandHarness) -> None:
    async def hang(_: Invocation) -> Result:
        await asyncio.Event().wait()
        raise AssertionError

    assistant = session(harness, hang, seconds=0.05)
    found = await assistant.call("status", {})
    assert found.failed
    assert "takes too long" in found.summary
    assert [(one.result, one.effect) for one in await harness.entries()] == [
        ("failed: took too long", "failed")
    ]
    # The call that hung holds nothing that the next one needs.
    assert not (await session(harness).call("status", {})).failed


@pytest.mark.parametrize("status", [429, 500, 401])
async def test_a_service_that_refuses_is_told_with_what_to_do(harness: CommandHarness, status: int) -> None:
    harness.service.failing["GET /sequences"] = httpx.Response(status, headers={"Retry-After": "3600"})

    async def act(asked: Invocation) -> Result:
        return result_of(await run(asked, reading_only(harness.context)))

    assistant = session(harness, act)
    found = await assistant.call("sequences", {})
    assert found.failed
    assert found.content
    (entry,) = await harness.entries()
    assert entry.effect == "failed"


async def test_a_cancelled_call_ends_its_work_and_is_recorded(harness: CommandHarness) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def hang(_: Invocation) -> Result:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    assistant = session(harness, hang)
    call = asyncio.create_task(assistant.call("status", {}))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.wait_for(ended.wait(), 60)
    # Written in a task of its own, since a cancelled call can't wait for the database: hence `until`.
    assert [one.result for one in await until(harness.entries)] == ["cancelled"]


async def test_without_the_database_nothing_is_answered(harness: CommandHarness) -> None:
    # An answer that stands in no log would be a reading that nobody can account for.
    harness.records = DOWN
    found = await session(harness).call("status", {})
    assert found.failed
    assert "every call is recorded" in found.summary


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("pause", {"words": "all"}), ("guardrails", {"words": "off"}), ("undo", {})],
)
async def test_a_change_is_refused_and_recorded(
    harness: CommandHarness, tool: str, arguments: dict[str, object]
) -> None:
    # Refused before anything is read: a change that can't be made must cost the service no request.
    async def never(_: Invocation) -> Result:
        raise AssertionError

    found = await session(harness, never).call(tool, arguments)
    assert found.failed
    assert found.summary == ONLY_READING
    (entry,) = await harness.entries()
    assert (entry.effect, entry.result) == ("refused", "refused: it would change something")


async def test_a_reading_that_would_write_is_refused(harness: CommandHarness) -> None:
    async def write(_: Invocation) -> Result:
        await reading_only(harness.context).client.pause_sequence("sq_1")
        raise AssertionError

    found = await session(harness, write).call("status", {})
    assert (found.failed, found.summary) == (True, ONLY_READING)
    assert [one.effect for one in await harness.entries()] == ["refused"]
