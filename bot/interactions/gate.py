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
from collections.abc import Callable, Collection, Mapping
from typing import Any

import structlog

from bot.delivery.outbox import Outbox
from bot.slack.directory import UserDirectory
from bot.slack.web_api import SlackError, WebApi
from shared.records.records import RecordsUnavailable
from shared.store import Store
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

log = structlog.get_logger("slack_events")


class RequestGate:
    """Decides about each request, over HTTP and in Socket Mode, and notes in the store what happens to the app and its channels.

    `set_channels` are those of the settings; `changed` is called when something may be posted now.
    """

    def __init__(
        self,
        slack: WebApi,
        directory: UserDirectory,
        store: Store,
        outbox: Outbox,
        *,
        set_channels: Collection[str],
        changed: Callable[[], None],
    ) -> None:
        self._slack, self._directory, self._store, self._outbox = slack, directory, store, outbox
        self._set, self._changed, self._taken = set_channels, changed, store.slack_events

    async def admits(self, body: Mapping[str, Any]) -> bool:
        """True for what the listeners are to handle; what comes again comes for nothing, also after a restart.

        An event about the app or a channel is taken when it has been handled: what a crash interrupts, Slack sends
        again, and handling it twice does no harm. Everything else is taken before it is handled, so that it is never
        answered twice. https://docs.slack.dev/apis/events-api/#retries
        """
        if await self._is_foreign(body):
            log.warning("a request of another Slack workspace did nothing")
            return False
        name = _name_of(body)
        is_noted = body.get("type") == "event_callback" and name and _kind(body["event"])
        if name:
            look = self._taken.is_new(name) if is_noted else self._taken.take(name)
            # A database that does not answer must not leave the person without a word.
            with contextlib.suppress(RecordsUnavailable, TimeoutError):
                if not await asyncio.wait_for(look, ANSWERED_WITHIN):
                    log.info("request repeated")
                    return False
        if not is_noted:
            return True
        await self._note(body["event"])
        await self._taken.take(name)
        return False

    async def _is_foreign(self, body: Mapping[str, Any]) -> bool:
        """True if the request names another team or organization than the bot's, and nobody whom Slack knows as from there.

        Ids of people are unique within a team only (https://docs.slack.dev/reference/objects/user-object). A shared
        channel brings requests of people from elsewhere, who may look where the settings say so
        (https://docs.slack.dev/apis/slack-connect); with the id of one of our own people it is a mistake or a forgery.
        """
        if not _names_others(body, self._slack.identity):
            return False
        # The workspace may have joined an organization since.
        with contextlib.suppress(SlackError):
            await self._slack.call("auth.test", seconds=ANSWERED_WITHIN)
        if not _names_others(body, self._slack.identity):
            return False
        event, user = body.get("event") or {}, body.get("user") or {}
        who = str(body.get("user_id") or user.get("id") or event.get("user") or "")
        try:
            person = await asyncio.wait_for(self._directory.find(who), ANSWERED_WITHIN)
        except TimeoutError:
            return True
        return not (person.is_known and person.is_outsider)

    async def _note(self, event: Mapping[str, Any]) -> None:
        """Do what an event about the app or a channel asks for."""
        channel, kind = _channel_id(event.get("channel")), _kind(event)
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
                tokens = event.get("tokens")
                if kind == "app_uninstalled" or (isinstance(tokens, dict) and tokens.get("bot")):
                    log.error("the app was removed from Slack, or its token revoked", event_type=kind)
                    self._outbox.note_lost_token(kind)

    async def check_channels(self) -> None:
        """Ask Slack about the channels of the settings, for what happened while the bot was away.

        A channel that takes nothing and that nothing names any more, because its rule left the settings, is forgotten.
        """
        await self._store.posting.forget_unused_channels(self._set, errors={*_CURED_BY_PEOPLE, _MOVED})
        broken = await self._store.posting.broken()
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
            await self._store.posting.open_channel(channel, report=self._outbox.report)
            self._changed()

    async def _close(self, channel: str, error: str, *, moved_to: str = "") -> None:
        if channel:
            await self._directory.channel_name(channel)  # while Slack still tells it
            used = channel in self._set
            refused = ChannelRefused(error=error, moved_to=moved_to)
            await self._store.posting.close_channel(channel, refused, report=self._outbox.report, used=used)
            self._changed()


def _kind(event: Mapping[str, Any]) -> str:
    """The kind of an event about the app or a channel; empty for all others."""
    kind = str(event.get("type") or "").removeprefix("channel_").removeprefix("group_")
    return kind if kind in _NOTED else ""


def _name_of(body: Mapping[str, Any]) -> str:
    """A name that tells a request from all others; empty where it may come twice.

    Events have ids. Each command, click or form has a trigger of its own, so the same words with it are the same request,
    also where someone sends it again within the five minutes for which its signature is valid.
    """
    if body.get("type") == "event_callback":
        return str(body.get("event_id") or "")
    if not body.get("trigger_id"):
        return ""
    said = {key: value for key, value in body.items() if key not in _HANDED_OUT}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _names_others(body: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """True if a request names a team or an organization that `own`, the bot's `auth.test`, does not.

    False while Slack has not said who the bot is: then nobody is known, and may change nothing. A person
    of the same organization may be of another team.
    """
    if not own:
        return False
    event, user = body.get("event") or {}, body.get("user") or {}
    team, enterprise = body.get("team") or {}, body.get("enterprise") or {}
    teams = {body.get("team_id"), team.get("id"), user.get("team_id")}
    teams |= {event.get(name) for name in ("team", "user_team", "source_team")}
    enterprises = {body.get("enterprise_id"), team.get("enterprise_id"), enterprise.get("id")}
    enterprises -= {None, ""}
    if enterprises:
        return enterprises != {own.get("enterprise_id")}
    return bool(teams - {None, "", own.get("team_id")})


def _channel_id(channel: object) -> str:
    """The id of a channel, given as such or with its name; empty where it is none."""
    named = channel.get("id") if isinstance(channel, dict) else channel
    return named if isinstance(named, str) and _CHANNEL_ID.fullmatch(named) else ""
