"""A reply is given to a person: from its card, in its thread, from anywhere; to nobody who can't read or claim it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.slack import seed
from tests.bot.harness import CHANNEL, BotHarness
from tests.bot.interactions.alert_bot import (
    card,
    click,
    in_thread,
    labels,
    open_bot,
    shown,
)
from tests.kit.waiting import until

ANN, BEN, CLEO, DEV, GUS, EVA = (
    one.id for one in (seed.ANN, seed.BEN, seed.CLEO, seed.DEV, seed.GUS, seed.EVA)
)


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[BotHarness]:
    async with open_bot(tmp_path, "http") as opened:
        yield opened


@pytest.fixture
async def leaders(tmp_path: Path) -> AsyncIterator[BotHarness]:
    """A bot whose alerts go to a private channel of Ann and Ben."""
    async with open_bot(tmp_path, "http", OUTREACH_ALERT_CHANNEL=seed.PRIVATE) as opened:
        yield opened


async def pick(
    bot: BotHarness, question: dict[str, Any], person: str, *, by: str = ANN
) -> list[dict[str, Any]]:
    """Choose a person from the list of a message."""
    elements = [one for block in question["blocks"] for one in block.get("elements", ())]
    (menu,) = [one for one in elements if one["type"] == "users_select"]
    return await click(bot, question, action_id=menu["action_id"], value=person, user=by)


async def told(bot: BotHarness, words: str, *, user: str, channel: str = CHANNEL) -> dict[str, Any]:
    """The message with these words that only one person sees."""

    async def there() -> dict[str, Any] | None:
        own = [one for one in await bot.messages(channel) if one["seen_by"] == user]
        text = {one["ts"]: one["text"] + json.dumps(one["blocks"], ensure_ascii=False) for one in own}
        return next((one for one in own if words in text[one["ts"]]), None)

    return dict(await until(there))


async def claimed(bot: BotHarness, *people: str) -> list[int]:
    """The number of alerts that each of them has."""
    assert bot.running is not None
    return [len([*await bot.running.store.records.own_replies(one)]) for one in people]


async def commands(bot: BotHarness) -> list[str]:
    """The commands in the audit, the newest first."""
    assert bot.running is not None
    return [entry.command for entry in await bot.running.store.records.audit("default")]


async def test_a_person_is_chosen_on_the_card_and_mentioned_in_its_thread(bot: BotHarness) -> None:
    message = await card(bot)
    (question,) = await click(bot, message, "Assign …", user=ANN)
    assert question["seen_by"] == ANN
    await pick(bot, question, BEN)
    await shown(bot, message, "assigned to @ben by @ann after")
    note = await in_thread(bot, message, "@ann assigned Ada 1 at Acme to @ben")
    assert f"<@{BEN}>" in json.dumps(note["blocks"])
    assert [one for one in await bot.messages() if one["seen_by"] == ANN] == []
    (command,) = await commands(bot)
    assert command.startswith("assign al_")
    assert command.endswith(" @ben")


@pytest.mark.parametrize(
    ("person", "reason"),
    [
        (GUS, "@gus doesn't have permission to claim replies there."),
        (EVA, "@eva doesn't have permission to claim replies there."),
        (seed.BOT.id, "@outreach is a bot."),
        ("U0NOBODY99", "Slack didn't say who that is."),
    ],
)
async def test_who_may_not_claim_is_not_assigned(bot: BotHarness, person: str, reason: str) -> None:
    message = await card(bot)
    (question,) = await click(bot, message, "Assign …", user=ANN)
    await pick(bot, question, person)
    await told(bot, reason, user=ANN)
    assert await commands(bot) == []
    assert bot.running is not None
    assert (await bot.running.store.records.open_replies("default")).count == 1


async def test_who_is_not_in_the_private_channel_is_not_assigned(leaders: BotHarness) -> None:
    message = await card(leaders, channel=seed.PRIVATE)
    (question,) = await click(leaders, message, "Assign …", user=ANN)
    await pick(leaders, question, DEV)
    reason = "@dev isn't in the private channel of this reply."
    again = await told(leaders, reason, user=ANN, channel=seed.PRIVATE)
    await pick(leaders, again, BEN)
    await shown(leaders, message, "assigned to @ben by @ann")
    assert await claimed(leaders, DEV, BEN) == [0, 1]


async def test_of_two_who_assign_at_once_one_does_and_the_other_is_told_who_has_it(bot: BotHarness) -> None:
    message = await card(bot)
    (first,) = await click(bot, message, "Assign …", user=ANN)
    (second,) = await click(bot, message, "Assign …", user=CLEO)
    # Both were asked while nobody had the reply: neither is warned.
    await asyncio.gather(pick(bot, first, BEN), pick(bot, second, DEV, by=CLEO))
    assert bot.running is not None
    store = bot.running.store
    ((_, reply),) = [*await store.records.own_replies(BEN), *await store.records.own_replies(DEV)]
    alert = await store.alerts.find(reply.alert_id)
    assert alert is not None
    loser, has = (
        CLEO if alert.claimed_by == BEN else ANN,
        f"ssigned to @{alert.claimed_name} by @{alert.assigned_name}",
    )
    refusal = await told(bot, has, user=loser)
    assert labels(refusal) == ["Take over"]
    await shown(bot, message, has)
    assert len(await commands(bot)) == 1


async def test_a_claimed_reply_is_assigned_to_another_and_both_are_mentioned(bot: BotHarness) -> None:
    message = await card(bot)
    await click(bot, message, "Claim", user=BEN)
    await shown(bot, message, "claimed by @ben")
    (question,) = await bot.say("assign ada 1", user=ANN)
    assert "@ben has it, and will be notified." in json.dumps(question["blocks"])
    await pick(bot, question, CLEO)
    await shown(bot, message, "assigned to @cleo by @ann")
    note = await in_thread(bot, message, "@ann assigned Ada 1 at Acme to @cleo")
    assert f"<@{CLEO}> <@{BEN}>" in json.dumps(note["blocks"])
