"""An answer is never lost over its looks: where Slack refuses the blocks, the same words come as text. Both transports."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.slack.manifest import manifest
from sandbox.slack import seed
from sandbox.slack.views import top_view
from tests.bot.fake_service import Remote
from tests.bot.harness import TRANSPORTS, BotHarness, interested
from tests.bot.interactions.alert_bot import open_bot
from tests.waiting import until

EVERYTHING = ["header", "rich_text", "context", "actions", "data_table"]


@pytest.fixture(params=TRANSPORTS)
async def bot(request: pytest.FixtureRequest, remote: Remote, tmp_path: Path) -> AsyncIterator[BotHarness]:
    """A bot that is reached over HTTP or by Socket Mode, in a workspace that will know few blocks."""
    async with open_bot(tmp_path, request.param, OUTREACH_BASE_URL=remote.url) as opened:
        await opened.control("manifest", **manifest())
        yield opened


def kinds(message: dict[str, Any]) -> list[str]:
    return [block["type"] for block in message.get("blocks", ())]


async def test_an_alert_whose_blocks_are_refused_is_posted_once_as_text(bot: BotHarness) -> None:
    await bot.control("settings", refused_blocks=EVERYTHING)
    assert await bot.deliver(interested(1)) == 200
    assert list((await bot.until_posted(1)).values()) == [1]
    (card,) = await bot.messages()
    assert "Ada 1" in card["text"]
    assert "Yes, call me." in card["text"]
    assert "Claim: `/outreach claim al_" in card["text"]
    line = card["text"].partition("Claim: `/outreach ")[2].partition("`")[0]
    await bot.say(line, user=seed.BEN.id)

    async def claimed() -> bool:
        return "claimed by @ben" in (await bot.messages())[0]["text"]

    await until(claimed)
    assert list((await bot.posted()).values()) == [1]


async def test_home_and_modals_are_plain_where_their_blocks_are_refused(bot: BotHarness) -> None:
    await bot.control("settings", refused_blocks=EVERYTHING)
    assert kinds(await bot.home(seed.ANN.id)) == ["section"]
    modal = (await bot.control("shortcut", callback_id="status", wait=10))["view"]
    assert set(kinds(modal)) == {"section"}


async def test_a_form_is_answered_as_text_where_the_blocks_of_an_answer_are_refused(bot: BotHarness) -> None:
    (help_pause,) = await bot.say("help pause")
    button = {"channel": help_pause["channel"], "ts": help_pause["ts"], "text": "Open form"}
    await bot.control("click", wait=10, **button)
    await bot.control("settings", refused_blocks=EVERYTHING)
    menu = {"view": True, "action_id": "sequence", "value": ""}
    offered = (await bot.control("options", **menu))["options"]
    values = {"sequence": {"sequence": offered[0]["value"]}}
    submitted = await bot.control("view/submit", values=values, offered=offered)
    assert submitted["errors"] == {}

    async def answered() -> bool:
        return "paused" in json.dumps(top_view(bot.slack.workspace, seed.ANN.id))

    await until(answered)


async def test_home_shows_a_placeholder_the_first_time_and_then_itself(bot: BotHarness) -> None:
    await bot.control("home/open")

    async def published(count: int) -> list[dict[str, Any]] | None:
        found = [one["request"]["view"] for one in await traffic(bot) if one["name"] == "views.publish"]
        return found if len(found) >= count else None

    first, whole = await until(lambda: published(2))
    assert "Loading" in json.dumps(first)
    assert "Loading" not in json.dumps(whole)
    await bot.control("home/open")
    assert "Loading" not in json.dumps((await until(lambda: published(3)))[2])


async def traffic(bot: BotHarness) -> list[dict[str, Any]]:
    async with bot.http.get(f"{bot.slack.origin}/control/traffic") as answer:
        return list((await answer.json())["exchanges"])
