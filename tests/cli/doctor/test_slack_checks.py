"""The doctor has Slack check the manifest, and tries a message out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.manifest import SCOPES
from cli.doctor import slack_checks, slack_trial
from cli.doctor.finding import Finding
from cli.doctor.slack import scopes
from sandbox.slack import seed
from sandbox.slack.web_api.methods import METHODS
from shared.domain.card import Tone
from shared.settings import load
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


async def tried(bot: BotHarness, channel: str) -> dict[str, Finding]:
    settings = load(environ=bot.environ)
    return {finding.check: finding async for finding in slack_trial.trial(settings, channel)}


async def test_the_manifest_is_checked_with_a_configuration_token_alone(
    bot: BotHarness, client: AsyncWebClient
) -> None:
    token = bot.slack.announcement["slack_config_token"]
    assert (await slack_checks.app_manifest(client, token)).tone is Tone.GOOD
    for other in (bot.environ["SLACK_BOT_TOKEN"], "xoxe.xoxp-expired"):
        found = await slack_checks.app_manifest(client, other)
        assert found.tone is Tone.WARN
        assert "SLACK_CONFIG_TOKEN" in found.fix


async def test_a_message_is_posted_updated_found_and_deleted(bot: BotHarness) -> None:
    found = await tried(bot, "#outreach-alerts")
    assert [finding.tone for finding in found.values()] == [Tone.GOOD] * 4, found
    assert await bot.messages() == []


@pytest.mark.parametrize(
    ("channel", "check", "fix"),
    [
        ("#outreach-alert", "Slack post", "outreach-alerts"),
        (seed.OUTSIDE, "Slack post", "/invite @outreach"),
        (seed.ARCHIVED, "Slack post", "Unarchive"),
    ],
)
async def test_a_trial_that_fails_says_where_and_what_to_do(
    bot: BotHarness, channel: str, check: str, fix: str
) -> None:
    found = await tried(bot, channel)
    assert found[check].tone is Tone.BAD
    assert fix in f"{found[check].found} {found[check].fix}"


async def test_a_message_that_cannot_be_read_back_is_deleted_all_the_same(bot: BotHarness) -> None:
    await bot.control("scopes", remove=["channels:join", "channels:history"])
    found = await tried(bot, "general")
    assert found["Slack read back"].tone is Tone.BAD
    assert found["Slack delete"].tone is Tone.GOOD
    assert await bot.messages(seed.GENERAL) == []


async def test_a_trial_in_an_older_workspace_leaves_nothing_behind(bot: BotHarness) -> None:
    await bot.control("settings", refused_blocks=["data_visualization", "data_table"])
    found = await tried(bot, seed.ALERTS)
    assert [finding.tone for finding in found.values()] == [Tone.GOOD] * 4, found
    assert await bot.messages() == []


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


def test_the_shell_shows_the_result_of_a_trial(shell: Any, sandbox: dict[str, Any]) -> None:
    shell.set("SLACK_BOT_TOKEN", sandbox["slack_bot_token"])
    shell.set("SLACK_SIGNING_SECRET", sandbox["slack_signing_secret"])
    shell.set("SLACK_API_URL", sandbox["slack_api_url"])
    result = shell.run("doctor", "--post", "#outreach-alerts", "--json")
    steps = [one for one in result.data if one["check"].startswith("Slack ")]
    assert [one["status"] for one in steps] == ["passed"] * 4
