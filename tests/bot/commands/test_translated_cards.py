"""What the bot does with an answer doesn't depend on any text of its card."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.service import Service
from sandbox.slack import seed
from tests.bot.commands.translated import translate
from tests.bot.harness import CHANNEL, BotHarness, bot_inside, open_harness, sequences_of
from tests.kit.team import HASTE
from tests.kit.waiting import until


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[BotHarness]:
    async with open_harness(tmp_path) as opened:
        yield opened


@pytest.fixture
async def service(bot: BotHarness, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Service]:
    translate(monkeypatch)
    async with Service(speed=0) as service:
        key = next(iter(service.api_keys.values()))
        bot.environ |= {"OUTREACH_BASE_URL": service.base_url, "OUTREACH_API_KEY": key}
        async with bot_inside(bot, pace=HASTE):
            yield service


async def statuses(bot: BotHarness, service: Service) -> dict[str, str]:
    return {one["id"]: one["status"] for one in await sequences_of(service, http=bot.http)}


async def effects(bot: BotHarness) -> list[str]:
    assert bot.running is not None
    return [one.effect for one in reversed(await bot.running.store.records.audit("default"))]


async def undone(bot: BotHarness, words: str) -> dict[str, Any]:
    """The announcement with these words, once its Undo was used, which is gone from it."""

    async def there() -> dict[str, Any] | None:
        line = await bot.public_message(words)
        return line if "undone by @ben" in json.dumps(line) else None

    line = dict(await until(there))
    assert "undo-change" not in json.dumps(line)
    return line


async def test_a_pause_is_announced_undone_and_recorded(bot: BotHarness, service: Service) -> None:
    before = await statuses(bot, service)
    active = next(name for name, status in before.items() if status == "active")
    await bot.say(f"pause {active} reason too many bounces", user=seed.BEN.id)
    line = await bot.public_message(" paused")
    assert (await statuses(bot, service))[active] == "paused"
    await bot.press(line, action_id="run_0")
    await undone(bot, "sending again")
    assert await statuses(bot, service) == before
    assert await effects(bot) == ["paused", "resumed"]
    assert bot.running is not None
    newest = (await bot.running.store.records.audit("default"))[1]
    assert (newest.reason, newest.sequences) == ("too many bounces", (active,))


async def test_what_is_refused_or_changes_nothing_is_told_to_one_person(
    bot: BotHarness, service: Service
) -> None:
    before = await statuses(bot, service)
    paused = next(name for name, status in before.items() if status == "paused")
    for line in ("pause nosuch", f"pause {paused}", "guard off nosuch"):
        (answer,) = await bot.say(line, user=seed.BEN.id)
        assert answer["seen_by"] == seed.BEN.id, line
    assert await statuses(bot, service) == before
    assert await effects(bot) == ["refused", "refused"]
    assert not any("NOSUCH" in one["text"] for one in await bot.messages(CHANNEL) if one["seen_by"] is None)
