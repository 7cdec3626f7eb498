"""Checks Slack's tokens, the scopes, the manifest, the channels and the people of rotas.

What it takes from the bot is imported late, and by `import_bot` before the first request: a second of imports, ten
on a busy machine, would use up the time that the other checks have.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Collection, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import aiohttp

from cli.doctor.finding import PATIENCE, Finding, bad, doubtful, good
from shared.settings import CLAIM, Settings, SlackSettings
from shared.text.sanitize import visible

if TYPE_CHECKING:
    from bot.slack.directory import UserDirectory

NETWORK = "Check the network, SLACK_API_URL and the proxy."
UPDATE = "Update the app from manifest.yml and install it again."


def import_bot() -> None:
    """Import what the checks take from the bot, which is most of it; not on an event loop."""
    for name in ("bot.app", "bot.slack.directory", "bot.slack.manifest", "bot.slack.permissions"):
        import_module(name)


async def examine(settings: Settings) -> AsyncIterator[Finding]:
    """Token, scopes, manifest, every channel, the rotas, and the way in."""
    from bot.app import set_channels
    from bot.slack.directory import UserDirectory
    from bot.slack.web_api import open_web_api

    slack = settings.slack
    if slack.bot_token is None:
        return
    async with open_web_api(slack.bot_token.get_secret_value(), base_url=slack.api_url or "") as api:
        fix = "Set SLACK_BOT_TOKEN to the app's xoxb-… token."
        if refusal := await _refusal("Slack token", api.check(seconds=PATIENCE), fix=fix):
            yield refusal
            return
        who, where = (visible(str(api.identity.get(name) or "?")) for name in ("user", "team"))
        yield good("Slack token", f"{who} in {where}")
        yield scopes(api.scopes)
        if slack.config_token is not None:
            yield await _manifest(slack)
        directory = UserDirectory(api, groups=settings.roles.groups)
        for channel in sorted(set_channels(settings)):
            yield await _channel(directory, channel)
        async for finding in _rotas(directory, settings):
            yield finding
    yield await _way_in(slack)
    if slack.app_token is not None:
        yield await _connection(settings)


async def _refusal(check: str, call: Awaitable[Any], *, fix: str) -> Finding | None:
    """What went wrong with a call to Slack; None if nothing did."""
    from bot.slack.web_api import SlackError

    try:
        await call
    except SlackError as error:
        details = f": {', '.join(error.details)}" if error.details else ""
        return bad(check, visible(f"{error}{details}"), fix=fix if error.status else NETWORK)
    return None


def scopes(held: Collection[str]) -> Finding:
    """Check that the token has all scopes of the manifest."""
    from bot.slack.manifest import SCOPES, SPARE

    check = "Slack scopes"
    if not held:
        return doubtful(check, "Slack didn't list them", fix="Compare the app's scopes with manifest.yml.")
    missing, unused = sorted({*SCOPES} - {*held}), sorted({*held} - {*SCOPES})
    if not missing:
        spare = f"; unused: {visible(', '.join(unused))}" if unused else ""
        return good(check, f"all {len(SCOPES)} granted{spare}")
    if {*missing} <= {*SPARE}:
        invited = " Or invite the bot to its channels." if "chat:write.public" in missing else ""
        effects = "; ".join(f"without {scope} {SPARE[scope]}" for scope in missing)
        return doubtful(check, effects, fix=f"{UPDATE}{invited}")
    lacks = [f"{scope} ({SCOPES[scope]})" for scope in missing if scope not in SPARE]
    return bad(check, f"missing: {'; '.join(lacks)}", fix=UPDATE)


async def _manifest(slack: SlackSettings) -> Finding:
    """Have Slack validate the manifest, which takes an app configuration token alone.

    Source: docs.slack.dev/reference/methods/apps.manifest.validate.
    """
    from bot.slack.manifest import manifest
    from bot.slack.web_api import open_web_api

    check, token = "Slack manifest", slack.config_token.get_secret_value() if slack.config_token else ""
    async with open_web_api(token, base_url=slack.api_url or "") as api:
        call = api.call("apps.manifest.validate", retry=True, manifest=json.dumps(manifest()))
        fix = "SLACK_CONFIG_TOKEN must be an app configuration token from api.slack.com/apps. It is valid for 12 hours."
        refusal = await _refusal(check, call, fix=fix)
    # A refusal may be about the token, so it is a doubt.
    return (
        doubtful(check, refusal.found, fix=refusal.fix)
        if refusal
        else good(check, "Slack accepts manifest.yml")
    )


async def _channel(directory: UserDirectory, channel: str) -> Finding:
    """A channel of the settings, as the bot looks at it when it starts."""
    check, place = f"Slack channel {channel}", await directory.find_place(channel)
    if place.refusal:
        return bad(check, visible(place.refusal.replace(f"<#{channel}>", channel)), fix=place.fix)
    if place.note:
        return doubtful(check, visible(place.note), fix="Try again.")
    return good(check, f"#{visible(await directory.channel_name(channel) or channel)} takes messages")


async def _rotas(directory: UserDirectory, settings: Settings) -> AsyncIterator[Finding]:
    """Check that each person in a rota is there, and may claim what they get."""
    from bot.slack import permissions
    from shared.commands import Role

    check, rules = "Rota", settings.roles
    people = {person: rota.name for rota in settings.routes.rotas.values() for person in rota.people}
    for person, name in sorted(people.items()):
        member = await directory.find(person)
        table = "[routes.rota]" if name == "routes" else f"[routes.channels.{name}.rota]"
        who = f"{table} names {person}"
        placed = permissions.with_role(member, rules=rules, channel="")
        if not member.is_known:
            fix = "Copy the id from the profile's menu in Slack."
            yield bad(check, f"{who}, whom Slack doesn't know", fix=fix)
        elif member.is_deleted or not permissions.may(placed, CLAIM, needed=Role.OPERATOR, rules=rules):
            why = "whose account is deactivated" if member.is_deleted else "who can't claim replies"
            yield bad(check, f"{who} (@{visible(member.name)}), {why}", fix="Remove them, or see [roles].")
        else:
            yield good(check, f"{who} (@{visible(member.name)}), who can claim replies")


async def _way_in(slack: SlackSettings) -> Finding:
    from bot.slack.web_api import open_web_api

    if slack.app_token is not None:
        fix = (
            "SLACK_APP_TOKEN must be an xapp-… token with connections:write. Turn on Socket Mode in the app."
        )
        async with open_web_api(slack.app_token.get_secret_value(), base_url=slack.api_url or "") as api:
            opening = api.call("apps.connections.open", seconds=PATIENCE)
            refusal = await _refusal("Slack Socket Mode", opening, fix=fix)
        return refusal or good("Slack Socket Mode", "a connection can be opened")
    if slack.signing_secret is None:
        fix = "Set SLACK_SIGNING_SECRET, or SLACK_APP_TOKEN for Socket Mode."
        return bad("Slack requests", "their signature can't be checked", fix=fix)
    return good("Slack requests", "arrive over HTTP and are checked with the signing secret")


async def _connection(settings: Settings) -> Finding:
    check, own = "Slack connection", f"{settings.details_url}/readyz"
    try:
        timeout = aiohttp.ClientTimeout(total=PATIENCE)
        async with aiohttp.ClientSession(timeout=timeout) as http, http.get(own) as answer:
            return connection(check, (await answer.json())["socket_mode"])
    except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError):
        return doubtful(check, "unknown: no bot is running here", fix="Start it: outreach bot")


def connection(check: str, info: Mapping[str, Any] | str) -> Finding:
    """The `socket_mode` of a bot's /readyz as a finding."""
    if isinstance(info, str):
        return bad(check, "the running bot has no app token", fix="Start it again: outreach bot")
    if not info["connected"]:
        return bad(check, visible(str(info["trouble"])), fix="The bot keeps retrying. See its log.")
    last = f" (last reason: {visible(str(info['last_loss']))})" if info["rebuilds"] else ""
    return good(
        check, f"last message {info['last_message_age']} s ago, reconnected {info['rebuilds']}×{last}"
    )
