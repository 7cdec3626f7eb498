"""Asks Slack for the ids and names of channels that a shell names, and whether they accept posts, as the bot does."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from cli.console.exit_codes import Refused
from cli.console.resources import log_to_stderr
from shared.commands import Invocation
from shared.commands.base import InChannel
from shared.commands.run import UNCHECKED, Place
from shared.domain.card import Card, Tone
from shared.settings import Settings

if TYPE_CHECKING:
    from bot.slack.web_api import WebApi

MENTION = re.compile(r"<#([^>]+)>")
COMMAND = re.compile(r"(: unsubscribe .*)(#\S+)$")
"""A command to type, in which a shell would take the channel for a comment."""


def place_finder(settings: Settings) -> Callable[[str], Awaitable[Place]]:
    """Return the finder of channels; without a token its answer says that nothing was checked."""

    async def find(channel: str) -> Place:
        if not settings.slack.bot_token:
            return Place(channel=channel, note=f"{UNCHECKED} Set SLACK_BOT_TOKEN to have it checked.")
        from bot.slack.directory import UserDirectory

        async with open_web_api(settings) as api:
            return await UserDirectory(api).find_place(channel)

    return find


async def with_channel_id(invocation: Invocation, settings: Settings) -> Invocation:
    """The line with the id of the channel that it names, as the database has it; raises `Refused` for an unknown one."""
    named = invocation.arguments
    if not isinstance(named, InChannel) or not named.channel.startswith("#") or not settings.slack.bot_token:
        return invocation
    from bot.slack.directory import UserDirectory

    async with open_web_api(settings) as api:
        place = await UserDirectory(api).locate(named.channel)
    if place.refusal:
        raise Refused(Card(title=place.refusal, text=(place.fix,), tone=Tone.WARN))
    named = replace(named, channel=place.channel)
    return replace(invocation, arguments=named, line=named.line)


async def with_channel_names(card: Card, settings: Settings) -> Card:
    """The card with channels as `#name`, or as ids where Slack doesn't tell, and never as Slack's markup."""
    from bot.blockkit import channel_names
    from bot.slack.directory import UserDirectory

    found = channel_names.channels_in(card)
    if found and settings.slack.bot_token:
        async with open_web_api(settings) as api:
            directory = UserDirectory(api)
            known = {channel: await directory.channel_name(channel) for channel in found}
            names = {channel: f"#{name}" for channel, name in known.items() if name}
        card = channel_names.with_channel_names(card, names)
    return channel_names.changed(card, lambda text: COMMAND.sub(r"\1'\2'", MENTION.sub(r"\1", text)))


@asynccontextmanager
async def open_web_api(settings: Settings) -> AsyncIterator[WebApi]:
    from bot.slack import web_api

    log_to_stderr()
    slack = settings.slack
    token = slack.bot_token.get_secret_value() if slack.bot_token else ""
    async with web_api.open_web_api(token, base_url=slack.api_url or "") as api:
        yield api
