"""Ends of a snooze: presets by the clicker's own clock, a date of their choosing, and their edges."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.blockkit.actions import OnAlert
from bot.commands import replies
from sandbox.slack import seed
from tests.bot.harness import BotHarness, bot_inside, open_harness
from tests.bot.interactions import alert_bot
from tests.bot.interactions.alert_bot import click, shown
from tests.kit.clock import moment
from tests.kit.waiting import until

BERLIN, KOLKATA, CHATHAM = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kolkata"), ZoneInfo("Pacific/Chatham")
MENU = "Snooze until …"


@settings(max_examples=50)
@given(
    now=st.integers(1_735_689_600, 1_893_456_000).map(lambda at: datetime.fromtimestamp(at, UTC)),
    zone=st.sampled_from([BERLIN, KOLKATA, CHATHAM, ZoneInfo("America/New_York"), ZoneInfo("UTC")]),
)
def test_every_preset_that_is_offered_is_ahead_and_no_two_mean_the_same(
    now: datetime, zone: ZoneInfo
) -> None:
    offered = [
        b.line.split()
        for b in replies.snooze_choices(OnAlert(verb="snooze", alert="al_1"), now=now, zone=zone).buttons
        if not b.picks_time
    ]
    moments = [replies.snoozed_until(word, now=now, zone=zone) for _, _, word in offered]
    assert moments
    assert all(at and now < at <= now + timedelta(days=8) for at in moments)
    assert len(set(moments)) == len(moments)


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[BotHarness]:
    async with open_harness(tmp_path) as opened, bot_inside(opened):
        yield opened


async def asked(bot: BotHarness, user: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The card, and the question until when."""
    card = await alert_bot.card(bot)
    (question,) = await click(bot, card, MENU, user=user)
    return card, question


async def test_tomorrow_is_the_clickers_own(bot: BotHarness) -> None:
    card, question = await asked(bot, seed.DEV.id)
    assert "Asia/Kolkata" in json.dumps(question)
    await click(bot, question, "Tomorrow, 9:00", user=seed.DEV.id, wait=0)
    snoozed = await shown(bot, card, "snoozed by @dev")
    # India is five and a half hours ahead: for a part of each day its tomorrow isn't UTC's.
    local = moment().astimezone(KOLKATA)
    morning = datetime.combine(local.date() + timedelta(days=1), time(9), KOLKATA)
    assert f"<!date^{int(morning.timestamp())}^" in json.dumps(snoozed)

    async def gone() -> bool:
        return all(m["ts"] != question["ts"] for m in await bot.messages())

    await until(gone)


@pytest.mark.parametrize(
    ("ahead", "words"),
    [
        (timedelta(hours=30), ""),
        (timedelta(days=91), "Snooze until when?"),
        (-timedelta(minutes=1), "Snooze until when?"),
    ],
    ids=["a day ahead", "too far", "past"],
)
async def test_a_snooze_until_a_custom_date(bot: BotHarness, ahead: timedelta, words: str) -> None:
    card, question = await asked(bot, seed.BEN.id)
    picker = next(
        element
        for block in question["blocks"]
        for element in block.get("elements", ())
        if element.get("type") == "datetimepicker"
    )
    at = int((moment() + ahead).timestamp())
    answers = await click(bot, question, action_id=picker["action_id"], value=at, user=seed.BEN.id)
    if words:
        assert any(words in one["text"] and one["seen_by"] == seed.BEN.id for one in answers)
        assert not any("snoozed by" in json.dumps(one["blocks"]) for one in await bot.messages())
    else:
        assert f"<!date^{at}^" in json.dumps(await shown(bot, card, "snoozed by @ben"))
