"""Guardrails of real processes on one PostgreSQL: whatever dies or stays unanswered, paused once and told once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from shared.domain.wall_clock import DAY
from shared.storage.database import parse_url
from shared.store import open_store
from tests.bot.fake_service import Remote, open_remote
from tests.bot.harness import BotHarness, bot_process, open_harness
from tests.bot.manual_clock import ManualClock, arrive
from tests.kit.clock import moment
from tests.kit.ports import free_port
from tests.kit.waiting import until

pytestmark = pytest.mark.e2e

RULE = "pause sequence for 4h when bounces > 5% of at least 50 sends in 24h"
HASTE = """
from bot.guardrails import watch
from bot.jobs import samples
watch.EVERY, samples.EVERY, samples.BACKFILL = 0.2, 0.5, 0
"""
DIE = """
import os, signal
from bot.guardrails.acts import GuardrailActs
async def die(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
GuardrailActs.{method} = die
"""
BOUNCES = 6


@dataclass(kw_only=True)
class Crisis:
    """A bot that is not started yet, and a service whose one sequence bounces."""

    bot: BotHarness
    remote: Remote
    sequence: str

    async def deliver(self) -> None:
        for number in range(BOUNCES):
            lead = {"email": f"lead{number}@acme.example"}
            event = {
                "event": "lead.bounced",
                "lead": lead,
                "sequence": "Q3 founders",
                "inbox": "sam@mail.example",
            }
            assert await self.bot.deliver(json.dumps(event).encode()) == 200

    async def wait_for_message(self) -> list[dict[str, Any]]:
        """What was said of the pause, once it was and some time has passed for it to be said again."""

        async def found() -> list[dict[str, Any]]:
            return [one for one in await self.bot.messages() if "Guardrail bounces-5" in one["text"]]

        await until(found)
        # That nothing more is said has no event: the bots look every 0.2 s, so that a second message would be there.
        await asyncio.sleep(5)  # many looks
        return await found()

    def second_bot(self) -> BotHarness:
        """The same Slack and database, for a bot on another port."""
        port = free_port()
        return replace(self.bot, port=port, environ={**self.bot.environ, "OUTREACH_PORT": str(port)})


@pytest.fixture
async def crisis(fresh_postgresql: str, tmp_path: Path) -> AsyncIterator[Crisis]:
    async with (
        open_remote() as remote,
        open_harness(tmp_path, database=fresh_postgresql, OUTREACH_BASE_URL=remote.url) as bot,
    ):
        await bot.control("settings", messages_per_second=0)
        bot.config(f'[[guardrails]]\nname = "bounces-5"\nrule = "{RULE}"\n')
        clock = ManualClock()
        # A rule judges nothing before bounces are known for as long as its window and its baseline look back.
        clock.now = moment().timestamp() - 31 * DAY
        async with open_store(
            parse_url(fresh_postgresql), clock=clock
        ) as store:  # bounces are known since then
            await arrive(store, b'{"event": "sequence.completed", "lead": {"email": "first@acme.example"}}')
        sequence = remote.add("Q3 founders")
        today = moment().date().isoformat()
        for grouping, group in (("sequence", sequence), ("inbox", "sam@mail.example")):
            remote.stats[grouping, today] = [{"group": group, "sends": 60, "replies": 1}]
        yield Crisis(bot=bot, remote=remote, sequence=sequence)


async def assert_paused_once(crisis: Crisis) -> None:
    """One message that says it is paused, one entry in the audit, one pause in the service."""
    (message,) = await crisis.wait_for_message()
    assert "paused Q3 founders until" in message["text"]
    assert crisis.remote.sequences[crisis.sequence]["status"] == "paused"
    assert crisis.remote.patched == [(crisis.sequence, "paused")]
    audit = json.dumps(await crisis.bot.say("audit"))
    assert audit.count(f"Q3 founders ({crisis.sequence}) paused") == 1
    assert audit.count("guardrail bounces-5") == 1


@pytest.mark.parametrize("method", ["_pause_all", "_pause", "_finish"])
async def test_a_process_that_is_killed_between_decision_and_message_is_followed_by_another(
    crisis: Crisis, method: str
) -> None:
    """Killed after the decision, after it read how they stand, and after the pause itself."""
    async with bot_process(crisis.bot, before=HASTE + DIE.format(method=method)) as process:
        await crisis.deliver()
        assert await asyncio.wait_for(process.wait(), 60) == -signal.SIGKILL
    assert len(crisis.remote.patched) == (1 if method == "_finish" else 0)
    other = crisis.second_bot()
    async with bot_process(crisis.bot, before=HASTE), bot_process(other, before=HASTE):
        await assert_paused_once(crisis)


async def test_two_processes_pause_and_report_once(crisis: Crisis) -> None:
    other = crisis.second_bot()
    async with bot_process(crisis.bot, before=HASTE), bot_process(other, before=HASTE):
        await crisis.deliver()
        await assert_paused_once(crisis)
    assert {status for _, status in crisis.remote.patched} == {"paused"}


async def test_a_pause_with_an_unknown_outcome_is_reported_once(crisis: Crisis) -> None:
    # The pause is made, and its answer lost: a second PATCH is safe, and a second message would be a lie.
    crisis.remote.cut = 1
    other = crisis.second_bot()
    async with bot_process(crisis.bot, before=HASTE), bot_process(other, before=HASTE):
        await crisis.deliver()
        (message,) = await crisis.wait_for_message()
    assert "paused Q3 founders until" in message["text"]
    assert crisis.remote.cut == 0
    assert {status for _, status in crisis.remote.patched} == {"paused"}


async def test_a_process_slower_than_its_lease_reports_nothing_twice(crisis: Crisis) -> None:
    # Longer than the lease: the other bot takes the incident over while the first still waits for its answer.
    crisis.remote.seconds = 4.0
    other = crisis.second_bot()
    async with contextlib.AsyncExitStack() as stack:
        for bot in (crisis.bot, other):
            await stack.enter_async_context(bot_process(bot, before=HASTE))
        await crisis.deliver()
        assert len(await crisis.wait_for_message()) == 1
    assert crisis.remote.sequences[crisis.sequence]["status"] == "paused"
