"""Stands before the listeners: lets pass what Slack sends for the bot's own workspace, each request once.

Events about the app and its channels are handled here, so that the bot notices a change at once instead of after the
next failed post.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import structlog

from bot.core import Core
from shared.records import RecordsUnavailable
from shared.settings import Settings
from shared.store.messages import ChannelRefused

ANSWERED_WITHIN = 1.0
"""Seconds for Slack, or the database, to say what decides; an acknowledgement may take three."""
CHECK_SECONDS = 600.0
_HANDED_OUT = {"token", "response_url"}
"""These parts of a request say nothing that it asks for."""
_MOVED = "channel_id_changed"
_NOTED = {"archive", "unarchive", "id_changed", "rename", "left", "app_uninstalled", "tokens_revoked"}
_CURED_BY_PEOPLE = frozenset({"is_archived", "not_in_channel", "channel_not_found"})
_CHANNEL_ID = re.compile(r"[A-Z0-9]{2,30}")
_ENTERPRISES = ("enterprise_id", "team.enterprise_id", "enterprise.id")
_TEAMS = ("team_id", "team.id", "user.team_id", "event.team", "event.user_team", "event.source_team")

log = structlog.get_logger("slack_events")


class RequestGate:
    """Decides about each request, over HTTP and in Socket Mode, and notes in the store what happens to the app and its channels."""

    def __init__(self, core: Core) -> None:
        self._slack, self._directory, self._outbox = core.slack, core.directory, core.outbox
        self._posting, self._taken = core.store.posting, core.store.slack_events
        self._changed, self._set = core.signals.changed, set_channels(core.settings)

    async def admits(self, body: Mapping[str, Any]) -> bool:
        """True for what the listeners are to handle; what comes again comes for nothing, also after a restart.

        Everything is taken before it is handled, so that it is never answered twice; what a crash keeps from being noted
        about a channel, its next post or check shows. https://docs.slack.dev/apis/events-api/#retries
        """
        if await self._is_foreign(body):
            log.warning("a request of another Slack workspace did nothing")
            return False
        if name := _name_of(body):
            # A database that does not answer must not leave the person without a word.
            with contextlib.suppress(RecordsUnavailable, TimeoutError):
                async with asyncio.timeout(ANSWERED_WITHIN):
                    is_new = await self._taken.take(name)
                if not is_new:
                    log.info("request repeated")
                    return False
        event: Mapping[str, Any] = body["event"] if body.get("type") == "event_callback" else {}
        kind = str(event.get("type") or "").removeprefix("channel_").removeprefix("group_")
        if kind in _NOTED:
            await self._note(kind, event)
        return kind not in _NOTED

    async def _is_foreign(self, body: Mapping[str, Any]) -> bool:
        """True if the request names another team or organization than the bot's, and nobody whom Slack knows as from there.

        Ids of people are unique within a team only (https://docs.slack.dev/reference/objects/user-object). A shared
        channel brings requests of people from elsewhere, who may look where the settings say so
        (https://docs.slack.dev/apis/slack-connect); with the id of one of our own people it is a mistake or a forgery.
        While Slack has not said who the bot is, nobody is known, and may change nothing.
        """
        own, enterprises = self._slack.identity, set(read_texts(body, *_ENTERPRISES))
        # A person of the same organization may be of another team.
        named = enterprises or set(read_texts(body, *_TEAMS))
        if not own or named <= {own.get("enterprise_id" if enterprises else "team_id")}:
            return False
        user = read_text(body, "user_id", "user.id", "event.user")
        person = await self._directory.find(user, seconds=ANSWERED_WITHIN)
        return not (person.is_known and person.is_outsider)

    async def _note(self, kind: str, event: Mapping[str, Any]) -> None:
        """Do what an event about the app or a channel asks for."""
        channel = _channel_id(event.get("channel"))
        match kind:
            case "archive":
                await self._close(channel, "is_archived")
            case "unarchive":
                await self.reopen(channel)
            case "id_changed":
                # Settings and subscriptions still name the channel by its old id, so what waits for it waits for them.
                # https://docs.slack.dev/reference/events/channel_id_changed
                moved_to = _channel_id(event.get("new_channel_id"))
                await self._close(_channel_id(event.get("old_channel_id")), _MOVED, moved_to=moved_to)
            case "rename":
                self._directory.forget_channel(channel)
            case "left":  # some public channels the bot can post to all the same
                if event["type"] == "group_left" or not await self._directory.posts_anywhere():
                    await self._close(channel, "not_in_channel")
            case _:
                # Everything waits until the app is installed again. A revocation may be about people's tokens.
                # https://docs.slack.dev/reference/events/tokens_revoked
                if kind == "app_uninstalled" or event["tokens"].get("bot"):
                    log.error("the app was removed from Slack, or its token revoked", event_type=kind)
                    self._outbox.slack_error = kind

    async def check_channels(self) -> None:
        """Ask Slack about the channels of the settings, for what happened while the bot was away.

        A channel that takes nothing and that nothing names any more, because its rule left the settings, is forgotten.
        """
        await self._posting.forget_unused_channels(self._set, errors={*_CURED_BY_PEOPLE, _MOVED})
        broken = await self._posting.broken()
        for channel in sorted(self._set):
            place = await self._directory.find_place(channel)
            if place.error:
                log.warning("a channel of the settings takes no alerts", problem=place.refusal, fix=place.fix)
                await self._close(channel, place.error)
            elif broken.get(channel) in _CURED_BY_PEOPLE:
                await self.reopen(channel)

    async def reopen(self, channel: str) -> None:
        """A channel takes posts again."""
        if channel:
            self._directory.forget_channel(channel)
            await self._posting.open_channel(channel, report=self._outbox.report)
            self._changed()

    async def _close(self, channel: str, error: str, *, moved_to: str = "") -> None:
        if channel:
            await self._directory.channel(channel)  # while Slack still tells it
            used = channel in self._set
            refused = ChannelRefused(error=error, moved_to=moved_to)
            await self._posting.close_channel(channel, refused, report=self._outbox.report, used=used)
            self._changed()


def set_channels(settings: Settings) -> frozenset[str]:
    """The channels that the settings name."""
    alerts = [workspace.alert_channel for workspace in settings.workspaces.values()]
    ruled = [rule.channel for rule in settings.routes.rules]
    return frozenset(filter(None, (*alerts, *ruled, settings.routes.fallback, settings.alerts.escalate_to)))


def read_texts(body: Mapping[str, Any], *paths: str) -> list[str]:
    """The texts at paths like `user.id`, as far as they are there. Raises `TypeError` where one isn't a text."""
    texts = []
    for path in paths:
        value: Any = body
        for name in path.split("."):
            value = value.get(name) if value else None
        if value:
            if not isinstance(value, str):
                raise TypeError(f"{path} isn't a text")
            texts.append(value)
    return texts


def read_text(body: Mapping[str, Any], *paths: str) -> str:
    """The first text at one of the paths; empty where there is none."""
    return next(iter(read_texts(body, *paths)), "")


def _name_of(body: Mapping[str, Any]) -> str:
    """A name that tells a request from all others; empty where it may come twice.

    Events have ids. Each command, click or form has a trigger of its own, so the same words with it are the same request,
    also where someone sends it again within the five minutes for which its signature is valid.
    """
    if read_text(body, "trigger_id"):
        said = {key: value for key, value in body.items() if key not in _HANDED_OUT}
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
    return read_text(body, "event_id")


def _channel_id(channel: object) -> str:
    """The id of a channel, given as such or with its name; empty where it is none."""
    named = channel.get("id") if isinstance(channel, dict) else channel
    return named if isinstance(named, str) and _CHANNEL_ID.fullmatch(named) else ""
