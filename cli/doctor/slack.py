"""Checks Slack's tokens, the scopes, the channels and the people of rotas.

It imports most of the bot, so it is imported late and not on an event loop: a second of imports, ten on a busy
machine, would use up the time that the other checks have.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection
from typing import Any

from bot.app import set_channels
from bot.slack.directory import UserDirectory
from bot.slack.manifest import SCOPES, SPARE
from bot.slack.permissions import Standing
from bot.slack.web_api import SlackError, open_web_api
from cli.doctor.run import PATIENCE_SECONDS, Finding, bad, doubtful, good
from shared.settings import CLAIM, Settings, SlackSettings
from shared.text.sanitize import visible

NETWORK = "Check the network, SLACK_API_URL and the proxy."
UPDATE = "Update the app from manifest.yml and install it again."


async def examine(settings: Settings) -> list[Finding]:
    """Token, scopes, every channel, the rotas, and the way in."""
    slack = settings.slack
    if slack.bot_token is None:
        return []
    async with open_web_api(slack.bot_token.get_secret_value(), base_url=slack.api_url or "") as api:
        fix = "Set SLACK_BOT_TOKEN to the app's xoxb-… token."
        if refusal := await _refusal("Slack token", api.call("auth.test", seconds=PATIENCE_SECONDS), fix=fix):
            # With this token, all other checks would fail for the same reason.
            return [refusal]
        who, where = (visible(str(api.identity.get(name) or "?")) for name in ("user", "team"))
        directory = UserDirectory(api, groups=settings.roles.groups)
        return [
            good("Slack token", f"{who} in {where}"),
            scopes(api.scopes),
            *[await _channel(directory, channel) for channel in sorted(set_channels(settings))],
            *[
                await _rota(directory, settings, person, rota.name)
                for rota in settings.routes.rotas.values()
                for person in rota.people
            ],
            await _way_in(slack),
        ]


async def _refusal(check: str, call: Awaitable[Any], *, fix: str) -> Finding | None:
    """The failure of a call to Slack as a finding; None if it succeeded."""
    try:
        await call
    except SlackError as error:
        details = f": {', '.join(error.details)}" if error.details else ""
        return bad(check, visible(f"{error}{details}"), fix=fix if error.status else NETWORK)
    return None


def scopes(held: Collection[str]) -> Finding:
    """Check that the token has all scopes of the manifest."""
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


async def _channel(directory: UserDirectory, channel: str) -> Finding:
    """A channel of the settings, as the bot looks at it when it starts."""
    check, place = f"Slack channel {channel}", await directory.find_place(channel)
    if place.refusal:
        return bad(check, visible(place.refusal.replace(f"<#{channel}>", channel)), fix=place.fix)
    if place.note:
        return doubtful(check, visible(place.note), fix="Try again.")
    return good(check, f"#{visible(await directory.channel_name(channel) or channel)} takes messages")


async def _rota(directory: UserDirectory, settings: Settings, person: str, name: str) -> Finding:
    """Check that a person in a rota is there, and may claim what they get."""
    rules, member = settings.roles, await directory.find(person)
    table = "[routes.rota]" if name == "routes" else f"[routes.channels.{name}.rota]"
    who = f"{table} names {person}"
    if not member.is_known:
        fix = "Copy the id from the profile's menu in Slack."
        return bad("Rota", f"{who}, whom Slack doesn't know", fix=fix)
    who = f"{who} (@{visible(member.name)})"
    if member.is_deleted or not Standing(person=member, rules=rules).may(CLAIM):
        why = "whose account is deactivated" if member.is_deleted else "who can't claim replies"
        return bad("Rota", f"{who}, {why}", fix="Remove them, or see [roles].")
    return good("Rota", f"{who}, who can claim replies")


async def _way_in(slack: SlackSettings) -> Finding:
    if slack.app_token is not None:
        fix = (
            "SLACK_APP_TOKEN must be an xapp-… token with connections:write. Turn on Socket Mode in the app."
        )
        async with open_web_api(slack.app_token.get_secret_value(), base_url=slack.api_url or "") as api:
            opening = api.call("apps.connections.open", seconds=PATIENCE_SECONDS)
            refusal = await _refusal("Slack Socket Mode", opening, fix=fix)
        return refusal or good("Slack Socket Mode", "a connection can be opened")
    if slack.signing_secret is None:
        fix = "Set SLACK_SIGNING_SECRET, or SLACK_APP_TOKEN for Socket Mode."
        return bad("Slack requests", "their signature can't be checked", fix=fix)
    return good("Slack requests", "arrive over HTTP and are checked with the signing secret")
