"""Runs a line for somebody: who they are, what their channels are called, and whose answers are still under way."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from bot.blockkit.channel_names import channels_in, with_channel_names
from bot.commands.answer import Answer
from bot.commands.dispatch import CommandDispatcher
from bot.slack.directory import UserDirectory
from bot.slack.permissions import Person
from shared.domain.card import Card

KNOWN_WITHIN = 1.5
"""Seconds for Slack to identify a person before a form is opened: its trigger expires after three."""
MOST_NAMED = 20
"""Channels of one answer that Slack is asked about."""


class Performer:
    """What all listeners do once they know who, where and what."""

    def __init__(self, dispatcher: CommandDispatcher, directory: UserDirectory) -> None:
        self._dispatcher, self._directory = dispatcher, directory
        self._busy: set[asyncio.Task[Any]] = set()

    async def drain(self, seconds: float) -> None:
        if self._busy:
            await asyncio.wait(self._busy, timeout=seconds)

    @contextlib.contextmanager
    def track(self) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        try:
            yield
        finally:
            self._busy.discard(task)

    async def perform(
        self,
        line: str,
        user: str,
        *,
        name: str,
        channel: str,
        channel_name: str = "",
        progress: Callable[[int], None] | None = None,
    ) -> Answer:
        person = await self._directory.find(user, name=name)
        return await self.perform_for(
            person, line, channel=channel, channel_name=channel_name, progress=progress
        )

    async def perform_for(
        self,
        person: Person,
        line: str,
        *,
        channel: str,
        channel_name: str = "",
        progress: Callable[[int], None] | None = None,
    ) -> Answer:
        line = await self._directory.with_channels(line)
        answer = await self._dispatcher.perform(line, person, channel=channel, progress=progress)
        return await self._with_channel_names(answer, {channel: channel_name})

    async def _with_channel_names(self, answer: Answer, names: Mapping[str, str]) -> Answer:
        """The answer with its channels by name; `names` are those that Slack has just told."""
        unknown = [channel for channel in channels_in(answer.card) if not names.get(channel)][:MOST_NAMED]
        found = await asyncio.gather(*(self._directory.channel_name(channel) for channel in unknown))
        names = {**names, **dict(zip(unknown, found, strict=True))}
        return replace(answer, card=with_channel_names(answer.card, names))

    async def form_refusal(self, verb: str, user: str, *, channel: str) -> Card | None:
        """Why a person can't open a form: it shows workspaces and sequences."""
        try:
            person = await asyncio.wait_for(self._directory.find(user), KNOWN_WITHIN)
        except TimeoutError:
            person = Person(id=user, name=user, is_known=False)
        return await self._dispatcher.may_fill_in(verb, person, channel=channel)
