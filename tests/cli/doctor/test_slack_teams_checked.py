"""The doctor where several Slack workspaces installed the bot: each is checked with its own token."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cli.doctor import slack, slack_trial
from cli.doctor.finding import Finding
from sandbox.slack import seed
from shared.domain.card import Tone
from shared.settings import load
from tests.bot.slack.oauth import FIRST, SECOND, Installed, oauth_bot, oauth_harness


@pytest.fixture
async def agency(tmp_path: Path) -> AsyncIterator[Installed]:
    async with oauth_harness(tmp_path) as bot:
        bot.environ["OUTREACH_ALERT_CHANNEL"] = f"{FIRST}/{seed.ALERTS}"
        rules = f'[roles.channels]\n"{FIRST}/C0TYPO0001" = "reader"\n"{FIRST}/{seed.SALES}" = "reader"\n'
        bot.config(f'[routes]\nfallback = "T0NOBODY01/{seed.ALERTS}"\n{rules}')
        await bot.control("settings", messages_per_second=0)
        async with oauth_bot(bot) as running:
            await running.browser.install(FIRST)
            await running.teams.allow(FIRST, "default")
            yield running


async def examined(agency: Installed) -> dict[str, Finding]:
    settings = load(environ=agency.bot.environ)
    return {finding.check: finding async for finding in slack.examine(settings)}


async def tried(agency: Installed, named: str) -> dict[str, Finding]:
    settings = load(environ=agency.bot.environ)
    return {finding.check: finding async for finding in slack_trial.trial(settings, named)}


async def test_channels_and_cards_are_checked_in_the_team_that_they_belong_to(agency: Installed) -> None:
    found = await examined(agency)
    assert found[f"Slack channel {FIRST}/{seed.ALERTS}"].found == "#outreach-alerts takes messages"
    assert found[f"Slack cards in {seed.TEAM.name}"].tone is Tone.GOOD
    typo = found[f"Slack channel {FIRST}/C0TYPO0001"]
    assert (typo.tone, typo.found) == (Tone.WARN, "[roles.channels] names a channel that the bot can't see")
    assert f"Slack channel {FIRST}/{seed.SALES}" not in found
    stranger = found[f"Slack channel T0NOBODY01/{seed.ALERTS}"]
    assert (stranger.tone, stranger.found) == (Tone.BAD, "T0NOBODY01 hasn't installed the bot")


async def test_an_alert_channel_without_access_to_its_alerts_is_found(agency: Installed) -> None:
    await agency.browser.install(SECOND)
    await agency.teams.allow(SECOND, "default")
    agency.bot.config_workspaces(
        {
            "acme": ("http://127.0.0.1:9/v1", "key", f"{SECOND}/{seed.SALES}"),
            "default": ("http://127.0.0.1:9/v1", "key", ""),
        }
    )
    found = (await examined(agency))["Alerts of acme"]
    assert (found.tone, found.fix) == (Tone.BAD, f"outreach slack-workspaces grant {SECOND} @acme")


async def test_a_message_is_tried_out_in_the_one_team_or_the_named_one(agency: Installed) -> None:
    assert {one.tone for one in (await tried(agency, "#sales")).values()} == {Tone.GOOD}
    await agency.browser.install(SECOND)
    (unclear,) = (await tried(agency, "#sales")).values()
    assert "several Slack workspaces installed the bot" in unclear.found
    found = await tried(agency, f"{SECOND}/#pipeline")
    assert {one.tone for one in found.values()} == {Tone.GOOD}
    assert len(found) == 4
    assert {one.tone for one in (await tried(agency, f"{SECOND}/{seed.SALES}")).values()} == {Tone.GOOD}
    (missing,) = (await tried(agency, f"{SECOND}/#outreach-alerts")).values()
    assert missing.found == "The bot can't see #outreach-alerts"
    (stranger,) = (await tried(agency, "T0NOBODY01/#sales")).values()
    assert "hasn't installed the bot" in stranger.found
