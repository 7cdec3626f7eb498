"""Checks with Slack whether a channel named in a shell exists and accepts posts, as the bot does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from shared.operations.context import UNCHECKED, Place
from shared.settings import Settings
from shared.text.slack_ids import split_id

if TYPE_CHECKING:
    from bot.slack.web_api import WebApi

WITH_TEAM = "Write it with its Slack workspace, like T0123456789/C0123456789."


def place_finder(settings: Settings) -> Callable[[str], Awaitable[Place]]:
    """How a command finds a channel; without a token the answer says that it wasn't checked."""

    async def find(channel: str) -> Place:
        slack, team = settings.slack, split_id(channel)[0]
        if slack.client_id and not team:
            refusal = f"{channel} may be in any Slack workspace"
            return Place(channel=channel, error="no_team", refusal=refusal, fix=WITH_TEAM)
        if not (slack.client_id or slack.bot_token):
            return Place(channel=channel, note=f"{UNCHECKED} Set SLACK_BOT_TOKEN to have it checked.")
        from bot.slack.directory import UserDirectory

        async with _web_api(settings) as api:
            return await UserDirectory(api.of_team(team) if team else api).find_place(channel)

    return find


@asynccontextmanager
async def _web_api(settings: Settings) -> AsyncIterator[WebApi]:
    from bot.slack.teams import Teams
    from bot.slack.web_api import open_web_api
    from bot.store.db.engine import Database
    from bot.store.slack_teams import SlackTeams
    from bot.store.webhooks import SecretCipher

    slack, base = settings.slack, settings.slack.api_url or ""
    if not slack.client_id:
        async with open_web_api(
            slack.bot_token.get_secret_value() if slack.bot_token else "", base_url=base
        ) as api:
            yield api
        return
    database = Database(settings.database)
    try:
        installed = SlackTeams(database, SecretCipher(settings.secret_keys), client_id=slack.client_id)
        async with open_web_api("", base_url=base, token_of=Teams(installed).token) as api:
            yield api
    finally:
        await database.aclose()
