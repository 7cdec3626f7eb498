"""What is urgent among many alerts: paused domains by themselves and first."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.guardrails import watch
from bot.jobs import card_refresh
from sandbox.slack import seed
from shared.records.guardrails import Switch
from tests.bot.fake_service import KEY, Remote
from tests.bot.harness import HASTE, BotHarness, bot_inside, open_harness
from tests.kit.clock import NOW
from tests.waiting import until

PAUSED = json.dumps({"event": "domain.paused", "domain": "mail.example", "reason": "bounce_rate"}).encode()
SEQUENCES = ("Q3 founders", "Q4 CTOs")
RULE = "domain-bounces-10-1h"


def bounce(number: int, *, sequence: str = "Q3 founders", domain: str = "mail.example") -> bytes:
    event = {
        "event": "lead.bounced",
        "lead": {"email": f"x{number}@gone.example"},
        "sequence": sequence,
        "inbox": f"sam@{domain}",
        "bounce_type": "hard",
    }
    return json.dumps(event).encode()


@pytest.fixture
async def bot(tmp_path: Path, remote: Remote, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[BotHarness]:
    monkeypatch.setattr(watch, "EVERY", 0.3)
    monkeypatch.setattr(card_refresh, "EVERY", 1.0)
    async with open_harness(tmp_path) as opened:
        opened.environ |= {"OUTREACH_BASE_URL": remote.url, "OUTREACH_API_KEY": KEY}
        opened.config('[routes]\nmention = "S0ONCALL01"\n')
        async with bot_inside(opened, pace=HASTE):
            yield opened


def shown(message: dict[str, Any]) -> str:
    return json.dumps(message["blocks"], ensure_ascii=False)


def in_channel(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [m for m in messages if m.get("thread_ts") in {None, m["ts"]} and m["seen_by"] is None]


async def test_a_pause_and_what_guardrails_found_are_one_card_with_the_same_numbers(
    bot: BotHarness, remote: Remote
) -> None:
    remote.inboxes = [
        {"id": "ib_1", "email": "sam@mail.example", "status": "resting", "health_score": 55, "daily_limit": 5}
    ]
    # A finding keeps the number that it began with: none may begin before all of them are there.
    assert bot.running
    rules = bot.running.store.guardrails
    await rules.switch_off("default", Switch(rule=RULE, by=seed.ANN.id, at=NOW.timestamp()))
    for number in range(14):
        assert await bot.deliver(bounce(number)) == 200
    for number in range(14, 17):
        assert await bot.deliver(bounce(number, sequence="Q4 CTOs")) == 200
    assert await rules.switch_on("default", RULE)

    async def told() -> list[dict[str, Any]] | None:
        found = [m for m in in_channel(await bot.messages()) if "Guardrail" in m["text"]]
        return found if found and "17 bounces in 1 h" in shown(found[0]) else None

    (message,) = await until(told, seconds=40)
    assert "mail.example" in message["text"]
    assert "domain:mail.example" in shown(message)
    assert await bot.deliver(PAUSED) == 200

    async def merged() -> bool:
        texts = [m["text"] for m in in_channel(await bot.messages()) if "uardrail" in m["text"]]
        return len(texts) == 1 and "see the card of its pause" in texts[0]

    await until(merged, seconds=40)

    async def counted() -> dict[str, Any] | None:
        cards = [m for m in await bot.messages() if m["text"].startswith("mail.example is paused")]
        return cards[0] if cards and f"{RULE}: 17 bounces" in shown(cards[0]) else None

    card = await until(counted, seconds=40)
    assert "Q3 founders, Q4 CTOs" in shown(card)
    assert shown(card).count("17 bounces") == 1, "each number once"
    assert "Pause 2 sequences" in shown(card)
