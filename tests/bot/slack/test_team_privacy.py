"""Two clients of an agency in two Slack workspaces: neither learns of the other's channels."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.slack import teams as slack_teams
from sandbox.slack import seed
from tests.bot.fake_service import open_remote
from tests.bot.harness import interested
from tests.bot.slack.oauth import FIRST, SECOND, Installed, oauth_bot, oauth_harness
from tests.bot.slack.test_teams import ALERTS_OF_FIRST, text_of
from tests.waiting import until


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a shell changes is seen with the next request."""
    monkeypatch.setattr(slack_teams, "FRESH_SECONDS", 0.0)


@pytest.fixture
async def agency(tmp_path: Path) -> AsyncIterator[Installed]:
    """Two clients' workspaces, both allowed in both Slack workspaces; alerts of both have a channel in the first."""
    async with open_remote("Q3 founders") as service, oauth_harness(tmp_path) as bot:
        bot.config_workspaces({"acme": service.place(ALERTS_OF_FIRST), "globex": service.place("")})
        async with oauth_bot(bot) as running:
            for team in (FIRST, SECOND):
                await running.browser.install(team)
                await running.teams.allow(team, "acme")
            yield running


async def test_status_names_broken_channels_of_the_own_team_alone(agency: Installed) -> None:
    await agency.control("channel", team=FIRST, channel=seed.ALERTS, archived=True)
    await agency.bot.deliver(interested(1), path="/acme")

    async def shown() -> bool:
        return "Channels that reject posts" in text_of(await agency.say("status @acme", team=FIRST))

    await until(shown)
    assert "reject posts" not in text_of(await agency.say("status @acme"))


async def test_doctor_tells_nothing_of_another_teams_alert_channel(agency: Installed) -> None:
    answer = text_of(await agency.say("doctor @acme", user="eva"))
    assert "outreach-alerts" not in answer
    assert seed.ALERTS not in answer


async def test_audit_hides_another_teams_channels(agency: Installed) -> None:
    await agency.say("subscribe reply.interested #sales @acme", team=FIRST)
    own = text_of(await agency.say("audit @acme", team=FIRST))
    assert "subscribe reply.interested #sales @acme · #sales" in own
    other = text_of([{"blocks": one["blocks"]} for one in await agency.say("audit @acme")])
    assert "another Slack workspace" in other
    assert [word for word in (FIRST, "sales", seed.SALES) if word in other] == []


async def test_open_replies_link_to_cards_of_the_own_team_alone(agency: Installed) -> None:
    await agency.bot.deliver(interested(1), path="/acme")

    async def linked() -> bool:
        return "archives/" in text_of(await agency.say("open @acme", team=FIRST))

    await until(linked)
    answer = text_of(await agency.say("open @acme"))
    assert "Ada 1" in answer
    assert "archives/" not in answer


async def test_a_channel_that_fails_is_told_in_no_other_team(tmp_path: Path) -> None:
    async with open_remote("Q3 founders") as service, oauth_harness(tmp_path) as bot:
        second = f"{SECOND}/C0NORTH001"
        bot.config_workspaces({"acme": service.place(ALERTS_OF_FIRST), "globex": service.place(second)})
        async with oauth_bot(bot) as agency:
            for team, name in ((FIRST, "acme"), (SECOND, "globex")):
                await agency.browser.install(team)
                await agency.teams.allow(team, name)
            await agency.control("channel", team=FIRST, channel=seed.ALERTS, archived=True)
            await agency.bot.deliver(interested(1), path="/acme")
            assert agency.bot.running is not None
            leases = agency.bot.running.store.leases

            async def broken() -> bool:
                return ALERTS_OF_FIRST in await leases.broken()

            await until(broken)
            await asyncio.sleep(0.2)  # in which a note would have come
            assert not agency.texts("C0NORTH001")
