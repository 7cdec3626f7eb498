"""Several workspaces of the service behind one bot: Home, forms, shortcuts and subscriptions mean the right one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.slack.manifest import manifest
from sandbox.service import Service
from sandbox.slack import seed
from tests.bot.harness import CHANNEL, BotHarness, bot_inside, interested, open_harness, sequences_of
from tests.kit.team import HASTE
from tests.kit.waiting import until

BEN = {"user": seed.BEN.id}


@dataclass(kw_only=True)
class Agency:
    """Two clients: acme, whose alerts come to #outreach-alerts, and globex, whose come to #sales."""

    bot: BotHarness
    acme: Service
    globex: Service

    async def sequences(self, service: Service) -> list[dict[str, Any]]:
        return await sequences_of(service, http=self.bot.http)

    async def active(self, service: Service) -> dict[str, Any]:
        return next(one for one in await self.sequences(service) if one["status"] == "active")

    async def is_paused(self, name: str) -> bool:
        """True if acme's sequence is paused."""
        return any(one["id"] == name and one["status"] == "paused" for one in await self.sequences(self.acme))

    async def home(self) -> dict[str, Any]:
        return await self.bot.home(BEN["user"])


def place(service: Service, channel: str) -> tuple[str, str, str]:
    """The address and key of a workspace, and the channel of its alerts."""
    return service.base_url, next(iter(service.api_keys.values())), channel


@pytest.fixture
async def agency(tmp_path: Path) -> AsyncIterator[Agency]:
    """A bot that serves both, installed from its manifest."""
    async with (
        Service(speed=0) as acme,
        Service(speed=0, scenario="empty", seed=3) as globex,
        open_harness(tmp_path) as bot,
    ):
        bot.config_workspaces({"acme": place(acme, CHANNEL), "globex": place(globex, seed.SALES)})
        await bot.control("manifest", **manifest())
        async with bot_inside(bot, pace=HASTE):
            yield Agency(bot=bot, acme=acme, globex=globex)


def shown(view: dict[str, Any]) -> str:
    return json.dumps(view, ensure_ascii=False)


async def test_home_shows_what_is_urgent_everywhere_and_a_line_for_each_workspace(agency: Agency) -> None:
    assert await agency.bot.deliver(interested(1), path="/acme") == 200
    assert await agency.bot.deliver(interested(2), path="/globex") == 200
    await agency.bot.until_posted(2)
    view = shown(await agency.home())
    assert "2 unclaimed replies" in view
    assert "acme · waiting" in view
    assert "Outreach workspaces · 2" in view


async def test_a_form_asks_which_workspace_and_offers_that_ones_sequences(agency: Agency) -> None:
    sequence = await agency.active(agency.acme)
    (answer,) = await agency.bot.say("pause", channel=seed.SALES, **BEN)
    at = {"channel": seed.SALES, "ts": answer["ts"], "text": "Open form"}
    view = (await agency.bot.control("click", **at, **BEN, wait=5))["view"]
    assert view["blocks"][0]["element"]["initial_option"]["value"] == "globex", "the channel's own"
    menu = {"view": True, "action_id": "sequence", "value": sequence["name"][:6], **BEN}
    assert (await agency.bot.control("options", **menu))["options"] == []
    choice = {"view": True, "action_id": "workspace", "value": "acme"}
    await agency.bot.control("click", **choice, **BEN, wait=5)
    offered = (await agency.bot.control("options", **menu))["options"]
    assert sequence["id"] in [one["value"] for one in offered]
    values = {"sequence": sequence["id"], "length": "1h"}
    await agency.bot.control("view/submit", values=values, offered=offered, **BEN)

    await until(lambda: agency.is_paused(sequence["id"]))


async def test_subscriptions_lists_every_workspace_of_a_channel(agency: Agency) -> None:
    await agency.bot.say("subscribe lead.bounced here @globex")
    (answer,) = await agency.bot.say("subscriptions")
    text = shown(answer)
    for words in (
        "unsubscribe bounces @globex",
        "alert_channel of the workspace",
        "Unsubscribe bounces",
    ):
        assert words in text
