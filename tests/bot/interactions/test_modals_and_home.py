from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.slack.manifest import manifest
from sandbox.service import Service
from sandbox.slack import seed
from tests.bot.commands.test_slash_commands import BotWithService
from tests.bot.harness import CHANNEL, BotHarness, bot_inside, open_harness
from tests.kit.team import HASTE
from tests.kit.waiting import until


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[BotHarness]:
    async with open_harness(tmp_path) as opened:
        yield opened


@pytest.fixture
async def served(bot: BotHarness) -> AsyncIterator[BotWithService]:
    """A bot that speaks to a service, installed from its manifest."""
    async with Service(speed=0) as service:
        key = next(iter(service.api_keys.values()))
        bot.environ |= {"OUTREACH_BASE_URL": service.base_url, "OUTREACH_API_KEY": key}
        await bot.control("manifest", **manifest())
        async with bot_inside(bot, pace=HASTE):
            yield BotWithService(bot=bot, service=service)


async def test_the_bot_is_written_to_directly(served: BotWithService) -> None:
    response = await served.bot.control("message", text="status", channel="dm", user=seed.BEN.id, wait=5)
    assert "sequences" in json.dumps(response["answers"])
    sequence = next(s for s in await served.sequences() if s["status"] == "active")
    line = f"pause {sequence['id']} reason it's late"
    await served.bot.control("message", text=line, channel="dm", user=seed.BEN.id, wait=5)

    async def is_public() -> list[dict[str, Any]]:
        return [m for m in await served.bot.messages() if f"{sequence['name']} paused" in m["text"]]

    assert "@ben" in json.dumps(await until(is_public))


async def test_the_bot_greets_a_channel_that_it_joins(served: BotWithService) -> None:
    await served.bot.control("members", channel=seed.GENERAL, invite=seed.BOT.id)

    async def greeted() -> list[dict[str, Any]]:
        return [m for m in await served.bot.messages(seed.GENERAL) if "Outreach is ready" in m["text"]]

    (greeting,) = await until(greeted)
    await served.bot.press(greeting, "Subscribe this channel")

    async def subscribed() -> bool:
        return any("now gets" in one["text"] for one in await served.bot.messages(seed.GENERAL))

    assert await until(subscribed)


async def test_a_form_refuses_what_is_wrong_and_then_does_what_it_says(served: BotWithService) -> None:
    sequence = next(s for s in await served.sequences() if s["status"] == "active")
    assert "Open form" not in json.dumps(await served.bot.say("help add", user=seed.GUS.id))
    (answer,) = await served.bot.say("help add", user=seed.BEN.id)
    await served.bot.press(answer, "Open form")
    person = {"user": seed.BEN.id}
    offered = (
        await served.bot.control(
            "options", view=True, action_id="sequence", value=sequence["name"][:8], **person
        )
    )["options"]
    assert sequence["id"] in [one["value"] for one in offered]
    values = {"email": {"text": "no address"}, "sequence": {"sequence": sequence["id"]}}
    response = await served.bot.control("view/submit", values=values, offered=offered, **person)
    assert response["errors"] == {"email": "Enter a valid email address."}
    values["email"] = {"text": "new.lead@acme.example"}
    await served.bot.control("view/submit", values=values, offered=offered, **person)

    async def added() -> bool:
        return any("Added " in message["text"] for message in await served.bot.messages())

    await until(added)


async def test_buttons_and_modals_of_older_versions_are_answered(served: BotWithService) -> None:
    token = served.bot.slack.credentials.bot_token
    old: dict[str, Any] = {
        "channel": CHANNEL,
        "text": "old",
        "blocks": [
            {
                "type": "actions",
                "elements": [
                    {"type": "button", "action_id": "old", "text": {"type": "plain_text", "text": "Old"}}
                ],
            }
        ],
    }
    url = f"{served.bot.slack.announcement['slack_api_url']}chat.postMessage"
    async with served.bot.http.post(url, json=old, headers={"Authorization": f"Bearer {token}"}) as posted:
        ts = (await posted.json())["ts"]
    (answer,) = await served.bot.press({"channel": CHANNEL, "ts": ts}, "Old")
    assert "older version" in answer["text"]
    (gone,) = await served.bot.say("claim al_0000000000")
    assert "no longer stored" in gone["text"]
    (answer,) = await served.bot.say("pause", user=seed.BEN.id)
    opened = (
        await served.bot.control(
            "click", channel=CHANNEL, ts=answer["ts"], text="Open form", user=seed.BEN.id, wait=5
        )
    )["view"]
    for view in served.bot.slack.workspace.views.values():
        if view["id"] == opened["id"]:
            view |= {"callback_id": "of_last_year", "blocks": old["blocks"]}
    response = await served.bot.control("view/submit", user=seed.BEN.id)
    assert "older version" in json.dumps(response["view"])


async def test_doctor_is_for_admins_and_names_what_fails(served: BotWithService) -> None:
    (refused,) = await served.bot.say("doctor", user=seed.BEN.id)
    assert "don't have permission" in refused["text"]
    (answer,) = await served.bot.say("doctor")
    assert "take alerts" in json.dumps(answer)
    await served.bot.control("scopes", remove=["chat:write.public"])
    await served.bot.say("doctor")  # learns that the bot posts only where it was invited
    await served.bot.control("members", channel=CHANNEL, remove=seed.BOT.id)

    async def named() -> bool:
        (answer,) = await served.bot.say("doctor")
        return "/invite @outreach" in json.dumps(answer)

    await until(named)
