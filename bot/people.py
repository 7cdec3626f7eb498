"""Who clicks and types: Slack's users.info, kept for a while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import aiohttp
import structlog
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot import metrics
from bot.roles import Person

KEPT = 600.0
"""Seconds that an answer is believed."""
MOST = 5_000
TIMEOUT = 5

log = structlog.get_logger("people")


class People:
    """`find` a person by Slack's user id."""

    def __init__(self, client: AsyncWebClient, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client, self._clock = client, clock
        self._known: dict[str, tuple[float, Person]] = {}
        self._team = ""

    async def find(self, user: str, *, name: str = "") -> Person:
        """The person; when Slack does not answer, the last that was known, or one who may change nothing."""
        at, person = self._known.get(user, (0.0, None))
        if person is not None and self._clock() - at < KEPT:
            return person
        try:
            person = await asyncio.wait_for(self._ask(user), TIMEOUT)
        except (SlackApiError, SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as error:
            log.warning("user unknown", user=user, error=type(error).__name__)
            return person or Person(id=user, name=name or user, is_known=False)
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[user] = (self._clock(), person)
        return person

    async def _ask(self, user: str) -> Person:
        if not self._team:
            metrics.SLACK_CALLS.labels("auth.test").inc()
            self._team = str((await self._client.auth_test()).get("team_id") or "")
        metrics.SLACK_CALLS.labels("users.info").inc()
        answer = await self._client.users_info(user=user)
        return Person.from_user(answer["user"], team=self._team)
