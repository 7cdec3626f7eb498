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
from shared.settings.channels import named_channels
from shared.text.sanitize import visible

if TYPE_CHECKING:
    from bot.slack.directory import UserDirectory
    from bot.slack.web_api import SlackError, WebApi

NETWORK = "Check the network, SLACK_API_URL and the proxy."
UPDATE = "Update the app from manifest.yml and install it again."
NOT_VALIDATED = frozenset(
    [
        "unknown_method",
        "method_deprecated",
        "feature_not_enabled",
        "not_allowed_token_type",
        "invalid_auth",
        "not_authed",
        "token_expired",
        "missing_scope",
    ]
)
"""Slack's words for a manifest that it hasn't looked at."""


def import_bot() -> None:
    """Import what the checks take from the bot, which is most of it; not on an event loop."""
    for name in ("bot.app", "bot.slack.directory", "bot.slack.manifest", "bot.slack.permissions"):
        import_module(name)


async def examine(settings: Settings) -> AsyncIterator[Finding]:
    """Token, scopes, manifest, every channel, the rotas, and the way in."""
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
            yield await manifest_validity(slack)
        for finding in (*await _channels(api, settings), *await rotas(api, settings)):
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
        return bad(check, visible(str(error)), fix=fix if error.status else NETWORK)
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
        word = "; ".join(f"without {scope} {SPARE[scope]}" for scope in missing)
        return doubtful(check, word, fix=f"{UPDATE}{invited}")
    lacks = [f"{scope} ({SCOPES[scope]})" for scope in missing if scope not in SPARE]
    return bad(check, f"missing: {'; '.join(lacks)}", fix=UPDATE)


async def manifest_validity(slack: SlackSettings) -> Finding:
    """Have Slack validate the manifest, which takes an app configuration token alone.

    Source: docs.slack.dev/reference/methods/apps.manifest.validate.
    """
    from bot.slack.manifest import manifest
    from bot.slack.web_api import SlackError, open_web_api

    check, token = "Slack manifest", slack.config_token.get_secret_value() if slack.config_token else ""
    try:
        async with open_web_api(token, base_url=slack.api_url or "") as api:
            await api.call("apps.manifest.validate", retry=True, manifest=json.dumps(manifest()))
    except SlackError as error:
        return _not_valid(check, error)
    return good(check, "Slack accepts manifest.yml")


def _not_valid(check: str, error: SlackError) -> Finding:
    if error.code in NOT_VALIDATED or not error.status:
        fix = "Set SLACK_CONFIG_TOKEN to an app configuration token from api.slack.com/apps. It is valid for 12 hours."
        return doubtful(check, f"not checked: {visible(str(error))}", fix=fix)
    problem = ", ".join(error.details) or "it doesn't say why"
    return bad(check, visible(f"{error}: {problem}"), fix="Run `make docs`, or report it.")


async def _channels(api: WebApi, settings: Settings) -> list[Finding]:
    """Every channel of the settings: can the bot post there, or at least, does it exist."""
    from bot.app import set_channels
    from bot.slack.directory import UserDirectory

    posted_to = set_channels(settings)
    own = {name: place for place, name in named_channels(settings) if name}
    directory = UserDirectory(api)
    takes = [await _channel(directory, name) for name in sorted(own.keys() & posted_to)]
    limited = [await _limit(api, own[name], name) for name in sorted(own.keys() - posted_to)]
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


async def _channel(directory: UserDirectory, channel: str) -> Finding:
    """A channel of the settings, as the bot looks at it when it starts."""
    check, place = f"Slack channel {channel}", await directory.find_place(channel)
    if place.refusal:
        return bad(check, visible(place.refusal.replace(f"<#{channel}>", channel)), fix=place.fix)
    if place.note:
        return doubtful(check, visible(place.note), fix="Try again.")
    return good(check, f"#{visible(await directory.channel_name(channel) or channel)} takes messages")


async def rotas(api: WebApi, settings: Settings) -> list[Finding]:
    """Check that each person in a rota is there, and may claim what they get."""
    from bot.slack.directory import UserDirectory

    directory = UserDirectory(api, groups=settings.roles.groups)
    named = {person: rota.name for rota in settings.routes.rotas.values() for person in rota.people}
    found = [await _member(directory, settings, person, named[person]) for person in sorted(named)]
    if wrong := list(filter(None, found)):
        return wrong
    passed = f"Slack knows everyone in it ({len(named)}), and they can claim replies"
    return [good("Rota", passed)] if named else []


async def _member(directory: UserDirectory, settings: Settings, person: str, rota: str) -> Finding | None:
    from bot.slack import permissions
    from shared.commands import Role

    known = await directory.find(person)
    table = "[routes.rota]" if rota == "routes" else f"[routes.channels.{rota}.rota]"
    if not known.is_known:
        near = await directory.nearest(person)
        hint = f"Did you mean {near}?" if near else "Copy the id from the profile's menu in Slack."
        return bad("Rota", f"{table} names {person}, whom Slack doesn't know", fix=hint)
    who = f"{table} names {person} (@{visible(known.name)})"
    if known.is_deleted:
        return bad("Rota", f"{who}, whose account is deactivated", fix="Remove them.")
    rules = settings.roles
    placed = permissions.with_role(known, rules=rules, channel="")
    if not permissions.may(placed, CLAIM, needed=Role.OPERATOR, rules=rules):
        return bad("Rota", f"{who}, who can't claim replies", fix="Remove them, or allow it in [roles].")
    return None


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
