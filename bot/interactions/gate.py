"""Lets pass what Slack sends for the bot's own workspace, and each request once."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog
from slack_bolt.async_app import AsyncAck
from slack_bolt.response import BoltResponse

from bot.interactions.lifecycle import Lifecycle
from bot.slack.directory import UserDirectory
from bot.slack.web_api import SlackError, WebApi
from shared.records.records import RecordsUnavailable
from shared.store.slack_limits import SlackEvents

ANSWERED_WITHIN = 1.0
"""Seconds for Slack, or the database, to say what decides; an acknowledgement may take three."""

_HANDED_OUT = {"token", "response_url"}
"""These parts of a request say nothing that it asks for."""

Next = Callable[[], Awaitable[BoltResponse]]

log = structlog.get_logger("gate")


class RequestGate:
    """Stands before all listeners, over HTTP and in Socket Mode."""

    def __init__(
        self, slack: WebApi, directory: UserDirectory, taken: SlackEvents, lifecycle: Lifecycle
    ) -> None:
        self._slack, self._directory, self._taken = slack, directory, taken
        self._lifecycle = lifecycle

    async def admit(self, body: Mapping[str, Any], ack: AsyncAck, next_: Next) -> BoltResponse:
        """Go on, or acknowledge and do nothing: what comes again comes for nothing, over all processes and restarts.

        Events about the app or a channel are handled here and acknowledged when they are done: what a crash interrupts,
        Slack sends again, and handling one twice does no harm. Listeners come too late for that: before an event's
        listener runs, Bolt has acknowledged it. Other events, commands, clicks and forms are taken before they are
        handled, so that none is answered twice.

        https://docs.slack.dev/apis/events-api/#retries
        """
        if await self._is_foreign(body) and not await self._is_of_outsider(body):
            log.warning("a request of another Slack workspace did nothing")
            return await ack()
        name = _name_of(body)
        event = body.get("event") or {} if body.get("type") == "event_callback" else {}
        handle = self._lifecycle.handler(str(event.get("type") or "")) if event else None
        if name and not await self._is_new(self._taken.is_new(name) if handle else self._taken.take(name)):
            log.info("request repeated")
            return await ack()
        if handle is None or not name:
            return await next_()
        await handle(event)
        await self._taken.take(name)
        return await ack()

    async def _is_new(self, look: Awaitable[bool]) -> bool:
        try:
            return await asyncio.wait_for(look, ANSWERED_WITHIN)
        except (RecordsUnavailable, TimeoutError):
            return True

    async def _is_foreign(self, body: Mapping[str, Any]) -> bool:
        """True if the request names another team or organization than the bot's.

        Ids of people are unique within a team only
        (https://docs.slack.dev/reference/objects/user-object).
        """
        if not names_others(body, self._slack.identity):
            return False
        # The workspace may have joined an organization since.
        with contextlib.suppress(SlackError):
            await self._slack.call("auth.test", seconds=ANSWERED_WITHIN)
        return names_others(body, self._slack.identity)

    async def _is_of_outsider(self, body: Mapping[str, Any]) -> bool:
        """True if Slack knows the person as one from elsewhere, who may look where the settings say so.

        A shared channel brings such requests (https://docs.slack.dev/apis/slack-connect). With the id of
        one of our own people it is a mistake or a forgery.
        """
        try:
            person = await asyncio.wait_for(self._directory.find(_person(body)), ANSWERED_WITHIN)
        except TimeoutError:
            return False
        return person.is_known and person.is_outsider


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


def names_others(body: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
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


def _person(body: Mapping[str, Any]) -> str:
    event, user = body.get("event") or {}, body.get("user") or {}
    return str(body.get("user_id") or user.get("id") or event.get("user") or "")
