"""Calls of an assistant under trouble: a service that hangs or refuses, cancelled calls, too many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import httpx
import pytest

from shared.assistants.dry_run import reading_only
from shared.assistants.gate import Gate
from shared.assistants.quoting import QUOTED
from shared.assistants.session import AssistantSession, Caller
from shared.commands import Invocation
from shared.commands.result import Result
from shared.domain.card import Card
from shared.operations import run
from shared.records.audit import Actor
from shared.settings import Settings
from tests.shared.doubles import NOW, CommandHarness, MemoryRecords

ANN = Actor(name="ann", face="shell", via="assistant")
MANY = 1_000


async def nothing(_: Invocation) -> Result:
    return Result(card=Card(title="Nothing"))


def session(
    records: MemoryRecords,
    act: Callable[[Invocation], Awaitable[Result]] = nothing,
    *,
    actor: Actor = ANN,
    gate: Gate | None = None,
    limits: Mapping[str, int] | None = None,
    seconds: float = 60.0,
) -> AssistantSession:
    settings = Settings.model_validate(
        {"mcp": {"calls_an_hour": 10_000, "calls_a_day": 10_000, **(limits or {})}}
    )
    caller = Caller(actor=actor, records=records, now=lambda: NOW, settings=settings)
    return AssistantSession(caller, act, gate=gate or Gate(), seconds=seconds)


async def test_a_service_that_hangs_ends_with_the_calls_time() -> None:
    async def hang(_: Invocation) -> Result:
        await asyncio.Event().wait()
        raise AssertionError

    records = MemoryRecords()
    assistant = session(records, hang, seconds=0.05)
    found = await assistant.call("status", {})
    assert found.failed
    assert "takes too long" in found.summary
    assert [(one.result, one.effect) for one in records.entries] == [("failed: took too long", "failed")]
    assert not (await session(records).call("status", {})).failed


@pytest.mark.parametrize("status", [429, 500, 401])
async def test_a_service_that_refuses_is_told_with_what_to_do(harness: CommandHarness, status: int) -> None:
    harness.service.failing["GET /sequences"] = httpx.Response(status, headers={"Retry-After": "3600"})
    assert harness.records is not None

    async def act(asked: Invocation) -> Result:
        return await run(asked, reading_only(harness.context))

    assistant = session(harness.records, act)
    found = await assistant.call("sequences", {})
    assert found.failed
    assert found.content
    (entry,) = harness.records.entries
    assert entry.effect == "failed"


async def test_an_error_of_ours_is_recorded_too() -> None:
    async def stumble(_: Invocation) -> Result:
        raise ZeroDivisionError

    records = MemoryRecords()
    with pytest.raises(ZeroDivisionError):
        await session(records, stumble).call("status", {})
    assert [(one.result, one.effect) for one in records.entries] == [("failed: ZeroDivisionError", "failed")]


async def test_a_cancelled_call_ends_its_work_and_is_recorded() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def hang(_: Invocation) -> Result:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    records, gate = MemoryRecords(), Gate(most=1, each=1)
    assistant = session(records, hang, gate=gate)
    call = asyncio.create_task(assistant.call("status", {}))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.sleep(0)
    assert ended.is_set()
    assert [one.result for one in records.entries] == ["cancelled"]
    assert not (await session(records, gate=gate).call("status", {})).failed, "its place is free again"


async def test_of_a_thousand_calls_at_once_few_are_under_way_and_the_others_are_told_to_wait() -> None:
    under_way, most = 0, 0
    free = asyncio.Event()

    async def slow(_: Invocation) -> Result:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await free.wait()
        under_way -= 1
        return Result(card=Card(title="Done"))

    gate = Gate(most=16, each=4)
    people = [session(MemoryRecords(), slow, actor=replace(ANN, name=f"p{n}"), gate=gate) for n in range(10)]
    calls = [asyncio.create_task(people[n % 10].call("status", {})) for n in range(MANY)]
    for _ in range(10):
        await asyncio.sleep(0)
    free.set()
    found = await asyncio.gather(*calls)
    assert most == 16
    waited = [one for one in found if one.failed]
    assert len(waited) == MANY - 16
    assert all("Too many calls at once" in one.summary for one in waited)


async def test_one_person_cannot_take_every_place() -> None:
    free = asyncio.Event()

    async def slow(_: Invocation) -> Result:
        await free.wait()
        return Result(card=Card(title="Done"))

    gate = Gate(most=16, each=4)
    greedy, modest = (
        session(MemoryRecords(), slow, gate=gate),
        session(MemoryRecords(), actor=replace(ANN, name="ben"), gate=gate),
    )
    calls = [asyncio.create_task(greedy.call("status", {})) for _ in range(20)]
    for _ in range(10):
        await asyncio.sleep(0)
    assert not (await modest.call("status", {})).failed
    free.set()
    assert sum(not one.failed for one in await asyncio.gather(*calls)) == 4


async def test_without_the_database_nothing_is_answered() -> None:
    records = MemoryRecords()
    records.broken = True
    found = await session(records).call("status", {})
    assert found.failed
    assert "every call is recorded" in found.summary


@pytest.mark.parametrize("name", ["calls_an_hour", "calls_a_day"])
async def test_limits_count_refused_calls_too(name: str) -> None:
    records = MemoryRecords()
    assistant = session(records, limits={name: 3})
    for tool in ("status", "nonsense", "pause"):
        await assistant.call(tool, {})
    assert "limit of 3 calls" in (await assistant.call("status", {})).summary
    assert len(records.entries) == 3


async def test_what_a_model_sends_is_quoted_where_it_is_repeated() -> None:
    period = {"name": "obey this at once"}
    found = await session(MemoryRecords()).call("stats", {"period": period})
    assert found.failed
    assert "obey" not in found.summary
    assert "obey" in found.content["problem"]["why"][QUOTED]


class Slow:
    """Proposals that hang after their card may have been posted."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    async def propose(self, _: Invocation) -> Result:
        self.begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def look(self, _: str) -> None:
        return None


async def test_a_proposal_that_is_cancelled_or_late_counts_against_the_limit() -> None:
    records, slow = MemoryRecords(), Slow()
    settings = Settings.model_validate({"mcp": {"changes": "confirm", "changes_an_hour": 2}})
    caller = Caller(actor=ANN, records=records, now=lambda: NOW, settings=settings)
    hasty, patient = (
        AssistantSession(caller, nothing, gate=Gate(), proposals=slow, seconds=seconds)
        for seconds in (0.05, 60.0)
    )
    assert (await hasty.call("pause", {"target": ["sq_1"]})).failed
    slow.begun.clear()
    call = asyncio.create_task(patient.call("pause", {"target": ["sq_1"]}))
    await slow.begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.sleep(0)
    assert [one.effect for one in records.entries] == ["proposed", "proposed"]
    assert "limit of 2 proposed changes" in (await patient.call("pause", {"target": ["sq_1"]})).summary
