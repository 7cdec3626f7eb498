"""Scheduled digests: once, at their time, with changes and charts, or lines of text where the workspace knows no charts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bot.blockkit.actions import write_value
from bot.slack.manifest import manifest
from sandbox.service import Service
from sandbox.slack import seed
from shared.commands.inboxes import Inboxes
from shared.settings import load
from shared.store import open_store
from shared.store.db.schema import digests
from shared.store.jobs import DIGEST, wake_all
from tests.bot.harness import HASTE, BotHarness, bot_inside, interested, open_harness
from tests.clock import moment
from tests.waiting import until


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[BotHarness]:
    """A bot in which #sales has asked for a daily and a weekly digest, both due since a minute ago."""
    async with Service(speed=0) as service, open_harness(tmp_path) as opened:
        key = next(iter(service.api_keys.values()))
        opened.environ |= {"OUTREACH_BASE_URL": service.base_url, "OUTREACH_API_KEY": key}
        await opened.control("manifest", **manifest())
        await due(opened, moment() - timedelta(minutes=1))
        yield opened


async def due(bot: BotHarness, at: datetime) -> None:
    async with open_store(load(environ=bot.environ).database) as store:
        for recurrence in (f"{at:%H:%M}", f"{at:%A}s {at:%H:%M}".lower()):
            await store.records.set_digest("default", seed.SALES, recurrence)
        never = sa.update(digests).values(done_until=0.0)
        await store.database.write(lambda tx: tx.execute(never))
        await store.database.write(lambda tx: wake_all(tx, DIGEST))


async def given(bot: BotHarness) -> list[dict[str, Any]]:
    """The digests in #sales, once both are there."""

    async def both() -> list[dict[str, Any]] | None:
        found = [one for one in await bot.messages(seed.SALES) if "Digest" in one["text"]]
        return found if len(found) >= 2 else None

    return list(await until(both, seconds=30))


def text_of(message: dict[str, Any]) -> str:
    return json.dumps(message["blocks"], ensure_ascii=False)


async def test_the_day_and_the_week_come_at_their_time_with_changes_and_charts(bot: BotHarness) -> None:
    before = moment().date() - timedelta(days=1)
    async with bot_inside(bot, pace=HASTE):
        day, week = sorted(await given(bot), key=lambda one: " to " in one["text"].partition(":")[0])
    yesterdays = {before, moment().date() - timedelta(days=1)}  # Midnight may pass meanwhile.
    assert any(f"{yesterday:%A %-d %B}" in day["text"] for yesterday in yesterdays)
    assert any(f"to {yesterday:%-d %B}" in week["text"] for yesterday in yesterdays)
    for message in (day, week):
        assert "Compared with" in text_of(message)
        (title,) = (block["title"] for block in message["blocks"] if "chart" in block)
        assert title.startswith("Replies of 14 days")
        assert any(mark in text_of(message) for mark in ("▲", "▼", "no clear change"))
        assert json.dumps(write_value(Inboxes(filter="unhealthy"))) in text_of(message)


async def test_a_workspace_without_charts_gets_the_course_of_the_days_as_text(bot: BotHarness) -> None:
    await bot.control("settings", refused_blocks=["data_table", "data_visualization"])
    async with bot_inside(bot, pace=HASTE):
        for message in await given(bot):
            assert "Replies, 14 days" in text_of(message)
            assert any(mark in text_of(message) for mark in "▁▂▃▄▅▆▇█")
            assert "header" in {block["type"] for block in message["blocks"]}, "all but the charts stays"


@pytest.mark.e2e
async def test_what_was_claimed_and_counted_yesterday_is_in_the_digest_and_a_restart_gives_no_second(
    bot: BotHarness,
) -> None:
    yesterday = moment() - timedelta(days=1)
    async with open_store(load(environ=bot.environ).database) as store:
        never = sa.update(digests).values(done_until=moment().timestamp() + 60)
        await store.database.write(lambda connection: connection.execute(never))
    async with bot_inside(bot, pace=HASTE) as running:
        for number in range(2):
            assert await bot.deliver(interested(number)) == 200
        await bot.until_posted(2)
        card = (await bot.messages())[0]
        await bot.control("click", channel=card["channel"], ts=card["ts"], text="Claim", user=seed.BEN.id)

        async def claimed() -> bool:
            return bool(await running.store.records.claim_times("default", yesterday, moment(), late=60))

        await until(claimed)
        back = "UPDATE alerts SET claimed_at = claimed_at - 86400, received_at = received_at - 86640"
        await running.store.database.write(lambda connection: connection.execute(sa.text(back)))
        earlier = "UPDATE deliveries SET received_at = received_at - 86400"
        await running.store.database.write(lambda connection: connection.execute(sa.text(earlier)))
    await due(bot, moment() - timedelta(minutes=1))
    for _ in range(2):
        async with bot_inside(bot, pace=HASTE):
            day = next(one for one in await given(bot) if " to " not in one["text"].partition(":")[0])
    assert "@ben" in text_of(day)
    assert [block["title"] for block in day["blocks"] if "chart" in block][1:] == [
        "Minutes to claim, by person"
    ]
    assert "Q3 founders 4 min" in text_of(day)
    assert "2 interested replies" in text_of(day)
    assert len([one for one in await bot.messages(seed.SALES) if "Digest" in one["text"]]) == 2
