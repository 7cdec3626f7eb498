"""The Slack workspaces that installed the bot, cached."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping

from bot.slack.web_api import SlackError
from bot.store.queue.dead_letters import NOT_INSTALLED
from bot.store.slack_teams import SlackTeam, SlackTeams
from shared.records.records import RecordsUnavailable
from shared.text.slack_ids import split_id

FRESH_SECONDS = 5.0
"""How soon a shell or another process is followed: what is allowed there, and installed through another bot."""

READ_WITHIN = 1.0
"""Seconds for the database to say what has changed; a request from Slack must be acknowledged within three."""


class Teams:
    """`find` a team; what changed here is known at once, what changed elsewhere within seconds."""

    def __init__(self, store: SlackTeams, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.store, self._clock = store, clock
        self._known: Mapping[str, SlackTeam] = {}
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()

    async def all(self) -> Mapping[str, SlackTeam]:
        """By id. Raises `RecordsUnavailable` where they were never read; later the last answer counts."""
        async with self._reading:
            if self._clock() - self._read_at >= FRESH_SECONDS:
                try:
                    async with asyncio.timeout(None if self._read_at == float("-inf") else READ_WITHIN):
                        self._known = {team.id: team for team in await self.store.all()}
                except (RecordsUnavailable, TimeoutError):
                    if self._read_at == float("-inf"):
                        raise
                self._read_at = self._clock()
        return self._known

    def forget(self) -> None:
        self._read_at = float("-inf")

    async def find(self, team: str) -> SlackTeam | None:
        return (await self.all()).get(team)

    async def token(self, team: str) -> str:
        """The team's bot token. Raises `SlackError`, in Slack's way of saying it."""
        try:
            found = await self.find(team)
        except RecordsUnavailable as error:
            raise SlackError("the database is not available", sent=False) from error
        if found is None or not found.token:
            raise SlackError(NOT_INSTALLED, status=200)
        return found.token

    async def may_see(self, channel: str, workspaces: Collection[str]) -> bool:
        """Whether the team of a channel may see all these outreach workspaces. Raises `RecordsUnavailable`.

        A team that is not installed is refused when its token is asked for.
        """
        team = await self.find(split_id(channel)[0])
        return team is None or team.workspaces.issuperset(filter(None, workspaces))
