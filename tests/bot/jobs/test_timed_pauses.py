"""What a channel is told when a timed pause ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from sandbox.service import Service
from shared.api.client import OutreachClient
from shared.records.records import RecordsUnavailable
from shared.store.db.schema import jobs
from tests.bot.harness import HASTE, bot_inside, open_harness
from tests.waiting import until


async def test_a_sequence_that_the_bot_resumed_before_it_could_say_so_is_announced_as_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database fails, or the bot dies, between the end of the change and its announcement."""
    async with Service(speed=0) as service, open_harness(tmp_path) as bot:
        key = next(iter(service.api_keys.values()))
        bot.environ |= {"OUTREACH_BASE_URL": service.base_url, "OUTREACH_API_KEY": key}
        await bot.control("settings", messages_per_second=0)
        async with (
            bot_inside(bot, pace=HASTE) as running,
            OutreachClient(base_url=service.base_url, api_key=key) as client,
        ):
            database, finish, failures = running.store.database, running.store.timers.finish, 1

            async def failing(*arguments: Any) -> bool:
                nonlocal failures
                if failures:
                    failures -= 1
                    raise RecordsUnavailable("The database is locked.")
                return bool(await finish(*arguments))

            monkeypatch.setattr(running.store.timers, "finish", failing)
            sequence = next(one for one in await client.list_sequences() if one.status == "active")
            await bot.say(f"pause {sequence.id} for 1h")

            async def told() -> list[str]:
                """What is announced, where no timer waits for its next try."""
                due = sa.update(jobs).where(jobs.c.token == 0).values(due_at=database.clock())
                await database.write(lambda tx: tx.execute(due))
                messages = await bot.messages()
                return [
                    one["text"]
                    for one in messages
                    if "sending" in one["text"] and sequence.name in one["text"]
                ]

            (announcement,) = await until(told)
            assert f"{sequence.name} is sending again" in announcement
            assert not failures
