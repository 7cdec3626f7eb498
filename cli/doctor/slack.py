"""Checks Slack's tokens, the scopes and the channels."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from cli.doctor import rotas
from cli.doctor.finding import PATIENCE, Finding, bad, doubtful, good
from shared.settings import Settings, SlackSettings
from shared.settings.channels import named_channels
from shared.text.network_errors import describe_network_error
from shared.text.sanitize import visible

if TYPE_CHECKING:
    from bot.slack.web_api import WebApi


def import_bot() -> None:
    """Import what the checks of Slack take from the bot, which is most of it; not on an event loop."""
    for name in ("bot.app", "bot.slack.directory", "cli.doctor.slack_checks"):
        import_module(name)


async def examine(settings: Settings) -> AsyncIterator[Finding]:
    """Token, scopes, every alert channel, and the way in."""
    slack = settings.slack
    if slack.bot_token is None:
        return
    client = _client(slack, slack.bot_token.get_secret_value())
    answer, finding = await _asked(
        "Slack token", client.auth_test(), fix="Set SLACK_BOT_TOKEN to the app's xoxb-… token."
    )
    yield finding or good("Slack token", f"{_text(answer, 'user')} in {_text(answer, 'team')}")
    if answer is None:
        return
    from bot.slack.web_api import open_web_api  # late, and before in `import_bot`
    from cli.doctor import slack_checks

    yield scopes(answer.headers.get("x-oauth-scopes"))
    if slack.config_token is not None:
        yield await slack_checks.app_manifest(client, slack.config_token.get_secret_value())
    async with open_web_api(slack.bot_token.get_secret_value(), base_url=slack.api_url or "") as api:
        for place in (*await _channels(api, settings), *await rotas.people(api, settings)):
            yield place
    yield await _way_in(slack)
    if slack.app_token is not None:
        yield await _connection(settings)


def scopes(granted: str | None) -> Finding:
    """Check that the token has all scopes of the manifest."""
    from bot.slack.manifest import SCOPES, SPARE

    if granted is None:
        return doubtful(
            "Slack scopes", "Slack didn't list them", fix="Compare the app's scopes with manifest.yml."
        )
    held = {scope.strip() for scope in granted.split(",")} - {""}
    missing, unused = sorted(set(SCOPES) - held), sorted(held - set(SCOPES))
    if not missing:
        spare = f"; unused: {visible(', '.join(unused))}" if unused else ""
        return good("Slack scopes", f"all {len(SCOPES)} granted{spare}")
    fix = "Update the app from manifest.yml and install it again."
    if set(missing) <= set(SPARE):
        invited = " Or invite the bot to its channels." if "chat:write.public" in missing else ""
        word = "; ".join(f"without {scope} {SPARE[scope]}" for scope in missing)
        return doubtful("Slack scopes", word, fix=f"{fix}{invited}")
    lacks = [f"{scope} ({SCOPES[scope]})" for scope in missing if scope not in SPARE]
    return bad("Slack scopes", f"missing: {'; '.join(lacks)}", fix=fix)


async def _channels(api: WebApi, settings: Settings) -> list[Finding]:
    """Every channel of the settings."""
    from bot.app import set_channels

    told = set_channels(settings)
    own = {name: place for place, name in named_channels(settings) if name}
    limited = [await _limit(api, own[name], name) for name in sorted(own.keys() - told)]
    takes = [await _channel(api, name) for name in sorted(own.keys() & told)]
    return [*takes, *filter(None, limited)]


async def _limit(api: WebApi, place: str, channel: str) -> Finding | None:
    """A doubt about a channel that the settings only set rules for: these hold nowhere if its id is wrong."""
    from bot.slack.web_api import SlackError

    try:
        await api.read("conversations.info", channel=channel)
    except SlackError as error:
        if error.code == "channel_not_found":
            fix = "Check the id in the channel's details. If the channel is private, invite the bot to have it checked."
            return doubtful(
                f"Slack channel {channel}", f"{place} names a channel that the bot can't see", fix=fix
            )
    return None


async def _channel(api: WebApi, channel: str) -> Finding:
    """A channel of the settings, as the bot looks at it when it starts."""
    from bot.slack.directory import UserDirectory

    directory = UserDirectory(api)
    check, place = f"Slack channel {channel}", await directory.find_place(channel)
    if place.refusal:
        return bad(check, visible(place.refusal.replace(f"<#{channel}>", channel)), fix=place.fix)
    if place.note:
        return doubtful(check, visible(place.note), fix="Try again.")
    return good(check, f"#{visible(await directory.channel_name(channel) or channel)} takes messages")


async def _way_in(slack: SlackSettings) -> Finding:
    if slack.app_token is None:
        if slack.signing_secret is None:
            fix = "Set SLACK_SIGNING_SECRET, or SLACK_APP_TOKEN for Socket Mode."
            return bad("Slack requests", "their signature can't be checked", fix=fix)
        return good("Slack requests", "arrive over HTTP and are checked with the signing secret")
    client = _client(slack, slack.app_token.get_secret_value())
    opening = client.apps_connections_open(app_token=slack.app_token.get_secret_value())
    fix = "SLACK_APP_TOKEN must be an xapp-… token with connections:write. Turn on Socket Mode in the app."
    _, finding = await _asked("Slack Socket Mode", opening, fix=fix)
    return finding or good("Slack Socket Mode", "a connection can be opened")


async def _connection(settings: Settings) -> Finding:
    check, own = "Slack connection", f"{settings.details_url}/readyz"
    try:
        timeout = aiohttp.ClientTimeout(total=PATIENCE)
        async with aiohttp.ClientSession(timeout=timeout) as http, http.get(own) as answer:
            info = (await answer.json())["socket_mode"]
            return connection(check, info)
    except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError):
        return doubtful(check, "unknown: no bot is running here", fix="Start it: outreach bot")


def connection(check: str, info: Mapping[str, Any] | str) -> Finding:
    """The `socket_mode` of a bot's /readyz as a finding."""
    if isinstance(info, str):
        return bad(check, "the running bot has no app token", fix="Start it again: outreach bot")
    if info["connected"]:
        last = f" (last reason: {visible(str(info['last_loss']))})" if info["rebuilds"] else ""
        word = f"last message {info['last_message_age']} s ago, reconnected {info['rebuilds']}×{last}"
        return good(check, word)
    return bad(check, visible(str(info["trouble"])), fix="The bot keeps retrying. See its log.")


def _client(slack: SlackSettings, token: str) -> AsyncWebClient:
    from bot.slack.proxy import proxy_for  # late, and before in `import_bot`

    client = AsyncWebClient(token=token, base_url=slack.api_url or AsyncWebClient.BASE_URL, timeout=PATIENCE)
    client.proxy = proxy_for(client.base_url)
    return client


async def _asked(check: str, call: Awaitable[Any], *, fix: str) -> tuple[Any, Finding | None]:
    try:
        return await call, None
    except SlackApiError as refusal:
        return None, bad(
            check, f"Slack returned {visible(str(refusal.response.get('error', 'no')))}", fix=fix
        )
    except (TimeoutError, SlackClientError, aiohttp.ClientError, OSError) as fault:
        word = f"Slack can't be reached: {describe_network_error(fault)}"
        return None, bad(check, word, fix="Check the network, SLACK_API_URL and the proxy.")


def _text(answer: Any, name: str) -> str:
    return visible(str(answer.get(name) or "?")) if answer is not None else "?"
