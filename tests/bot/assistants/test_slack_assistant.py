"""Slack's assistant, as the stand-in has it, and the bot: tools, cards, and buttons that call tools."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.slack.manifest import manifest
from sandbox.slack.blockkit.tool_blocks import tool_problems
from sandbox.slack.state import seed
from shared.assistants.quoting import NOTICE, QUOTED
from tests.bot.assistants.clients import Assistants, Bearer, open_assistants

READING = [
    "status",
    "sequences",
    "inboxes",
    "stats",
    "leads",
    "replies",
    "audit",
    "whoami",
    "help",
]


@pytest.fixture
async def slackbot(tmp_path: Path, account: str) -> AsyncIterator[Assistants]:
    async with open_assistants(tmp_path, account) as opened:
        await opened.bot.control("manifest", **manifest("https://bot.example.com/slack/events", mcp=True))
        yield opened


def buttons(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if block["type"] == "actions":
            yield from block["elements"]


async def test_slackbot_finds_tools_that_say_they_answer_with_blocks(slackbot: Assistants) -> None:
    tools = (await slackbot.bot.control("tools", user="ben"))["tools"]
    assert {tool["name"] for tool in tools} >= {"status", "replies", "domain"}
    assert all(tool["_meta"] == {"slack": {"supportsBlockKit": True}} for tool in tools)
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools)


@pytest.mark.parametrize("tool", READING)
async def test_every_answer_is_drawn_in_slack_as_the_bot_draws_it(slackbot: Assistants, tool: str) -> None:
    result = (await slackbot.bot.control("tool", user="ben", name=tool))["result"]
    assert not result.get("isError"), result
    blocks = result["_meta"]["slack"]["blocks"]
    assert blocks[0]["type"] == "header"
    assert tool_problems(blocks) == []
    assert result["content"][0]["text"].endswith(NOTICE)


async def test_a_button_of_the_card_calls_the_tool_and_its_card_takes_the_place(slackbot: Assistants) -> None:
    (answer,) = (
        await slackbot.bot.control("message", user="ben", channel="slackbot", text="sequences", wait=10)
    )["answers"]
    (button, *_) = list(buttons(answer["blocks"]))
    assert button["action_id"].startswith("tool:")
    done = await slackbot.bot.control(
        "click", user="ben", channel="slackbot", ts=answer["ts"], action_id=button["action_id"], wait=10
    )
    (changed,) = done["answers"]
    assert changed["ts"] == answer["ts"]
    assert changed["blocks"] != answer["blocks"]


async def test_a_client_outside_slack_gets_no_blocks(slackbot: Assistants) -> None:
    async with slackbot.connected(Bearer(await slackbot.token())) as client:
        found = await client.call_tool("sequences", {})
    assert "slack" not in (found.meta or {})


async def test_guests_and_strangers_are_refused_through_slackbot(slackbot: Assistants) -> None:
    for user in ("gus", "eva"):
        with pytest.raises(AssertionError, match="HTTP 403"):
            await slackbot.bot.control("tool", user=user, name="status")


async def test_a_click_on_a_card_of_slackbot_proposes_a_change_and_confirms_none(
    tmp_path: Path, account: str
) -> None:
    """Slack sends it as a call of the tool, as it sends the model's own."""
    async with open_assistants(tmp_path, account, settings='[mcp]\nchanges = "confirm"\n') as opened:
        await opened.bot.control("manifest", **manifest("https://bot.example.com/slack/events", mcp=True))
        leads = await opened.ask(seed.BEN.id, "leads")
        email = leads.structured_content["rows"][0]["email"][QUOTED]
        say = f"lead {json.dumps({'who': email})}"
        (answer,) = (await opened.bot.control("message", user="ben", channel="slackbot", text=say, wait=20))[
            "answers"
        ]
        (remove,) = [one for one in buttons(answer["blocks"]) if one["action_id"] == "tool:remove"]
        place = {"user": "ben", "channel": "slackbot", "ts": answer["ts"]}
        done = await opened.bot.control("click", **place, action_id=remove["action_id"], wait=20)
        assert done["result"]["structuredContent"]["state"] == "waiting for confirmation"
        assert list(buttons(done["answers"][0]["blocks"])) == []
        again = await opened.ask(seed.BEN.id, "lead", {"who": email})
        assert again.structured_content["rows"][0]["email"] == {QUOTED: email}
        assert {one.effect for one in await opened.audit()} <= {"read", "proposed"}
