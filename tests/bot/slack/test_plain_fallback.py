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
from tests.bot.harness import TRANSPORTS, BotHarness
from tests.bot.interactions.alert_bot import open_bot
from tests.kit.waiting import until

EVERYTHING = ["header", "rich_text", "context", "actions", "data_table"]


@pytest.fixture(params=TRANSPORTS)
async def bot(request: pytest.FixtureRequest, remote: Remote, tmp_path: Path) -> AsyncIterator[BotHarness]:
    """A bot that is reached over HTTP or by Socket Mode, in a workspace that will know few blocks."""
    async with open_bot(tmp_path, request.param, OUTREACH_BASE_URL=remote.url) as opened:
        await opened.control("manifest", **manifest())
        yield opened


def kinds(message: dict[str, Any]) -> list[str]:
    return [block["type"] for block in message.get("blocks", ())]


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
