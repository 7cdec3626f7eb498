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
from tests.bot.harness import CHANNEL, HASTE, BotHarness, bot_inside, interested, open_harness
from tests.waiting import until

ROLES = f"""
[roles]
operator = ["{seed.GROUPS[0].id}", "{seed.GUS.id}"]
[roles.commands]
resume = ["{seed.DEV.id}"]
[roles.channels]
{seed.SALES} = "reader"
{seed.PRIVATE} = ["pause"]
"""


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


async def click(bot: BotHarness, message: dict[str, Any], text: str, **more: Any) -> list[dict[str, Any]]:
    """Press a button of a message, and return what the bot says then."""
    at = {"channel": message["channel"], "ts": message["ts"], "text": text, "user": seed.BEN.id, "wait": 5}
    return list((await bot.control("click", **{**at, **more}))["answers"])


async def test_a_domain_shows_unknown_values_as_unknown(served: BotWithService) -> None:
    name = next(s["name"] for s in await served.sequences() if s["status"] == "active")
    bounced = {"event": "lead.bounced", "lead": {"email": "x@y.example"}, "sequence": name}
    assert await served.bot.deliver(json.dumps({**bounced, "inbox": "sam@mail.example"}).encode()) == 200

    async def seen() -> dict[str, Any] | None:
        (question,) = await served.bot.say("pause domain:mail.example")
        return question if "that used mail.example" in question["text"] else None

    question = await until(seen)
    shown = json.dumps(question, ensure_ascii=False)
    assert "doesn't list the sequences of a domain" in shown
    assert name in shown
    answers = await click(served.bot, question, f"Pause {name}", user=seed.ANN.id)
    assert any(f"{name} paused" in one["text"] for one in answers)


async def test_a_typed_yes_confirms_nothing_in_slack(served: BotWithService) -> None:
    await served.bot.say("add kept@acme.example to " + (await served.sequences())[0]["id"])
    (question,) = await served.bot.say("remove kept@acme.example --yes")
    assert question["seen_by"] == seed.ANN.id
    assert "“--yes” isn't expected here" in question["text"]


async def test_roles_by_group_user_command_and_channel_and_a_refusal_that_says_who_can(
    served: BotWithService, bot: BotHarness, tmp_path: Path
) -> None:
    sequence = (await served.sequences())[0]["id"]
    bot.config(ROLES)
    async with open_harness(tmp_path / "b") as other:
        other.environ |= {key: bot.environ[key] for key in ("OUTREACH_BASE_URL", "OUTREACH_API_KEY")}
        other.environ["OUTREACH_CONFIG"] = bot.environ["OUTREACH_CONFIG"]
        async with bot_inside(other, pace=HASTE):

            async def found(line: str, user: str, channel: str = CHANNEL) -> str:
                return json.dumps(await other.say(line, user=user, channel=channel), ensure_ascii=False)

            assert " paused" in await found(f"pause {sequence}", seed.BEN.id)
            refused = await found(f"pause {sequence}", seed.CLEO.id)
            assert "don't have permission" in refused
            assert "@sales-aes" in refused
            assert "@gus" in refused
            assert "@dev" in await found(f"resume {sequence}", seed.BEN.id)
            assert "is sending again" in await found(f"resume {sequence}", seed.DEV.id)
            await found(f"pause {sequence}", seed.GUS.id)

            async def paused_by_gus() -> bool:
                return any(" paused · @gus" in one["text"] for one in await other.messages())

            assert await until(paused_by_gus)
            assert "don't have permission" in await found(f"pause {sequence}", seed.BEN.id, seed.SALES)
            assert "The settings don't allow it in this channel" in await found(
                f"add a@b.example to {sequence}", seed.BEN.id, seed.PRIVATE
            )
            assert "Can change" in await found("whoami", seed.CLEO.id)
            assert "pause SEQUENCE" not in await found("help all", seed.CLEO.id)


async def test_the_bot_is_mentioned_in_a_thread_and_answers_there(served: BotWithService) -> None:
    assert await served.bot.deliver(interested(1)) == 200
    await served.bot.until_posted(1)
    card = (await served.bot.messages())[0]
    text = f"<@{seed.BOT.id}> whoami"
    await served.bot.control("message", text=text, channel=CHANNEL, thread_ts=card["ts"], user=seed.BEN.id)

    async def answered() -> list[dict[str, Any]]:
        known = await served.bot.messages()
        return [one for one in known if one.get("thread_ts") == card["ts"] and "You are ben" in one["text"]]

    assert await until(answered)


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

    assert len(await until(greeted)) == 1


async def test_a_channel_is_named_by_its_name(served: BotWithService) -> None:
    (answer,) = await served.bot.say("subscribe lead.bounced #sales")
    assert served.bot.running is not None
    known = await served.bot.running.store.records.subscriptions("default", seed.SALES)
    assert [one.event for one in known] == ["lead.bounced"], answer


async def test_a_form_refuses_what_is_wrong_and_then_does_what_it_says(served: BotWithService) -> None:
    sequence = next(s for s in await served.sequences() if s["status"] == "active")
    assert "Open form" not in json.dumps(await served.bot.say("help add", user=seed.GUS.id))
    (answer,) = await served.bot.say("help add", user=seed.BEN.id)
    await click(served.bot, answer, "Open form")
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
    (answer,) = await click(served.bot, {"channel": CHANNEL, "ts": ts}, "Old")
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


async def test_doctor_says_what_a_missing_scope_is_for(served: BotWithService) -> None:
    await served.bot.control("scopes", remove=["chat:write.public"])
    (answer,) = await served.bot.say("doctor")
    shown = json.dumps(answer)
    assert "without chat:write.public it posts only in channels it was invited to" in shown
    await served.bot.control("scopes", remove=["usergroups:read"])
    (answer,) = await served.bot.say("doctor")
    assert "usergroups:read (use user groups" in json.dumps(answer)
