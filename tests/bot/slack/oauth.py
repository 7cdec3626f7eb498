"""A bot that Slack workspaces install by OAuth, and what a browser does for it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.app import Bot
from bot.http.oauth_pages import COOKIE
from bot.slack.manifest import manifest
from bot.store.slack_teams import SlackTeams
from bot.store.webhooks import SecretCipher
from sandbox.slack import seed
from shared import settings as shared_settings
from tests.bot.harness import HASTE, BotHarness, bot_inside, open_harness

FIRST, SECOND = seed.TEAM.id, seed.NORTHWIND.id
KEY = "a-key-of-the-tests-that-is-long-enough"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A page as a browser got it."""

    status: int
    text: str
    location: str = ""
    state: str = ""
    """The value of the state's cookie that came with it."""
    cookie: str = ""
    headers: dict[str, str]


@dataclass(kw_only=True)
class Browser:
    """A browser at the bot's pages, with at most one cookie."""

    bot: BotHarness
    state: str = ""

    async def visit(self, url: str) -> Visit:
        cookies = {"Cookie": f"{COOKIE}={self.state}"} if self.state else {}
        url = url if url.startswith("http") else f"{self.bot.url}{url}"
        async with self.bot.http.get(url, allow_redirects=False, headers=cookies) as answer:
            given = answer.headers.get("Set-Cookie", "")
            state = given.partition(";")[0].partition("=")[2]
            return Visit(
                status=answer.status,
                text=await answer.text(),
                location=answer.headers.get("Location", ""),
                state=state,
                cookie=given,
                headers=dict(answer.headers),
            )

    async def begin(self) -> str:
        """Open the install page; answers the address at Slack."""
        page = await self.visit("/slack/install")
        assert page.status == 302, page.text
        self.state = page.state
        return page.location

    async def decide(self, at_slack: str, *, team: str = SECOND, decision: str = "allow") -> str:
        """Press a button at Slack; answers the path that Slack leads back to."""
        form = {"team": team, "decision": decision}
        async with self.bot.http.post(at_slack, data=form, allow_redirects=False) as answer:
            assert answer.status == 302, await answer.text()
            return answer.headers["Location"]

    async def install(self, team: str = SECOND) -> Visit:
        return await self.visit(await self.decide(await self.begin(), team=team))


@dataclass(kw_only=True)
class Installed:
    """The bot, and its two Slack workspaces."""

    bot: BotHarness
    browser: Browser
    teams: SlackTeams

    async def control(self, act: str, /, *, team: str = SECOND, **body: Any) -> dict[str, Any]:
        url = f"{self.bot.slack.workspaces.by_id[team].origin}/control/{act}"
        async with self.bot.http.post(url, json=body) as answer:
            payload: dict[str, Any] = await answer.json()
            assert payload.pop("ok"), payload
            return payload

    async def say(self, text: str, *, team: str = SECOND, **more: Any) -> list[dict[str, Any]]:
        who = (
            {"user": "nia", "channel": "pipeline"} if team == SECOND else {"user": "ann", "channel": "sales"}
        )
        done = await self.control(
            "command", team=team, text=f"/outreach {text}", **{"wait": 15, **who, **more}
        )
        return list(done["answers"])

    def texts(self, channel: str, *, team: str = SECOND) -> list[str]:
        world = self.bot.slack.workspaces.by_id[team].world
        return [one.text for one in world.channels[channel].messages.values()]


@contextlib.asynccontextmanager
async def oauth_harness(folder: Path, *, database: str = "", **environ: str) -> AsyncIterator[BotHarness]:
    """A bot without a token, whose app Slack knows from its manifest; not started yet."""
    async with open_harness(folder, database=database, **environ) as bot:
        connection = bot.slack.announcement
        bot.environ |= {
            "SLACK_CLIENT_ID": connection["slack_client_id"],
            "SLACK_CLIENT_SECRET": connection["slack_client_secret"],
            "OUTREACH_SECRET_KEY": KEY,
            "OUTREACH_ALERT_CHANNEL": "",
        }
        del bot.environ["SLACK_BOT_TOKEN"]
        await bot.control("manifest", **manifest(f"{bot.url}/slack/events"))
        yield bot


@contextlib.asynccontextmanager
async def oauth_bot(bot: BotHarness) -> AsyncIterator[Installed]:
    async with bot_inside(bot, pace=HASTE) as running:
        yield Installed(bot=bot, browser=Browser(bot=bot), teams=teams_of(bot, running))


def teams_of(bot: BotHarness, running: Bot) -> SlackTeams:
    settings = shared_settings.load(environ=bot.environ)
    cipher = SecretCipher(settings.secret_keys)
    return SlackTeams(running.store.database, cipher, client_id=bot.environ["SLACK_CLIENT_ID"])
