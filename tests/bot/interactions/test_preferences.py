"""A person's own settings: on Home, in their form, and by command."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.slack import seed
from shared.domain.personal import DEFAULTS, PersonalSettings
from tests.bot.fake_service import Remote
from tests.bot.harness import HASTE, BotHarness, bot_inside, interested, open_harness
from tests.waiting import until

BEN = seed.BEN.id


@pytest.fixture
async def bot(tmp_path: Path, remote: Remote) -> AsyncIterator[BotHarness]:
    async with open_harness(tmp_path, OUTREACH_BASE_URL=remote.url) as opened:
        opened.config(f'[routes]\nmention = "{BEN}"\n')
        async with bot_inside(opened, pace=HASTE):
            yield opened


def shown(thing: Any) -> str:
    return json.dumps(thing, ensure_ascii=False)


async def chosen(bot: BotHarness, user: str = BEN) -> PersonalSettings:
    assert bot.running is not None
    return await bot.running.store.people.find(user)


async def test_home_shows_the_settings_and_its_form_changes_them(bot: BotHarness) -> None:
    home = shown(await bot.home(BEN))
    assert "The message mentions you" in home
    assert "Digest of your replies" in home
    await bot.control("click", home=True, text="Change …", user=BEN, wait=10)
    values = {
        "notify": {"notify": "message"},
        "quiet": {"text": "nights"},
        "digest": {"text": "weekdays at 9"},
    }
    refused = await bot.control("view/submit", values=values, user=BEN)
    assert list(refused["errors"]) == ["quiet"]
    values["quiet"]["text"] = "20:00-08:00"
    accepted = await bot.control("view/submit", values=values, user=BEN, wait=10)
    assert accepted["errors"] == {}
    zone = seed.BEN.tz
    saved = PersonalSettings(
        notify="message", quiet="20:00-08:00", zone=zone, digest=f"weekdays 09:00 {zone}"
    )

    async def is_saved() -> bool:
        return await chosen(bot) == saved

    await until(is_saved)

    async def redrawn() -> str:
        home = shown(await bot.home(BEN))
        return home if "You get it as a direct message, and no mention" in home else ""

    home = await until(redrawn)
    assert f"20:00-08:00 {zone}" in home
    assert f"Every weekday at 09:00 {zone}, next " in home
    assert await chosen(bot, seed.ANN.id) == DEFAULTS


async def test_an_alert_comes_as_a_direct_message_with_a_claim_that_counts(bot: BotHarness) -> None:
    await bot.home(BEN)  # says which are the direct messages
    (answer,) = await bot.say("preferences message", user=BEN)
    assert answer["seen_by"] == BEN
    assert await bot.deliver(interested()) == 200
    card = await bot.public_message("is interested")
    assert f"<@{BEN}>" not in shown(card)
    channel = bot.slack.workspace.direct(BEN).id

    async def direct() -> dict[str, Any] | None:
        found = [one for one in await bot.messages(channel) if "is interested" in one["text"]]
        return found[0] if found else None

    message = await until(direct)
    await bot.control("click", channel=channel, ts=message["ts"], text="Claim", user=BEN, wait=10)

    async def claimed() -> bool:
        return "Claimed by @ben" in shown(await bot.public_message("is interested"))

    await until(claimed)


async def test_preferences_are_erased_by_command_and_are_for_guests_too(bot: BotHarness) -> None:
    await bot.say("preferences nothing quiet 20:00-08:00", user=seed.GUS.id)
    assert (await chosen(bot, seed.GUS.id)).notify == "nothing"
    (answer,) = await bot.say("preferences forget", user=seed.GUS.id)
    assert "Your preferences were erased" in shown(answer)
    assert await chosen(bot, seed.GUS.id) == DEFAULTS
    (answer,) = await bot.say("preferences", user=seed.GUS.id)
    assert "the message mentions you" in shown(answer)


async def test_home_names_each_digests_zone_and_next_time(bot: BotHarness) -> None:
    await bot.say("digest weekdays at 09:00 Europe/Berlin", user=BEN)

    async def drawn() -> str:
        home = shown(await bot.home(BEN))
        return home if "Every weekday at 09:00 Europe/Berlin, next " in home else ""

    assert "#outreach-alerts" in await until(drawn)
