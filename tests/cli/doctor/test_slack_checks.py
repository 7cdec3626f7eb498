"""The doctor has Slack check the manifest and its scopes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.manifest import SCOPES
from cli.doctor import slack_checks
from cli.doctor.slack import scopes
from sandbox.slack.web_api.methods import METHODS
from shared.domain.card import Tone
from tests.bot.harness import BotHarness, open_harness

ROOT = Path(__file__).parents[3]


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[BotHarness]:
    async with open_harness(tmp_path) as opened:
        await opened.control("settings", messages_per_second=0)
        yield opened


@pytest.fixture
def client(bot: BotHarness) -> AsyncWebClient:
    return AsyncWebClient(token=bot.environ["SLACK_BOT_TOKEN"], base_url=bot.environ["SLACK_API_URL"])


async def test_the_manifest_is_checked_with_a_configuration_token_alone(
    bot: BotHarness, client: AsyncWebClient
) -> None:
    token = bot.slack.announcement["slack_config_token"]
    assert (await slack_checks.app_manifest(client, token)).tone is Tone.GOOD
    for other in (bot.environ["SLACK_BOT_TOKEN"], "xoxe.xoxp-expired"):
        found = await slack_checks.app_manifest(client, other)
        assert found.tone is Tone.WARN
        assert "SLACK_CONFIG_TOKEN" in found.fix


def test_scopes_that_nothing_uses_are_named() -> None:
    found = scopes(",".join([*SCOPES, "files:write"]))
    assert found.tone is Tone.GOOD
    assert "unused: files:write" in found.found


def test_every_method_that_the_bot_calls_is_covered_by_a_scope_of_the_manifest() -> None:
    source = "".join(file.read_text() for file in (ROOT / "bot").rglob("*.py"))
    called = {name for name in METHODS if f'"{name}"' in source}
    assert {"chat.postMessage", "chat.update", "conversations.history", "views.publish"} <= called
    needed = {
        scope for name in called for scope in (METHODS[name].scope, METHODS[name].channel_scope) if scope
    }
    assert needed <= set(SCOPES)
