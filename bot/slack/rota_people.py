"""The people in rotas: their names, and whether they are members still.

Read regularly and kept, so that no alert waits for Slack. Who isn't known can take turns.
"""

from __future__ import annotations

from collections.abc import Iterable

from bot.slack.directory import UserDirectory
from bot.slack.permissions import Person
from bot.slack.web_api import WebApi

EVERY = 120.0
"""Seconds between two readings."""


class RotaPeople:
    """`refresh` regularly; `name` and `is_gone` answer at once, from what was read."""

    def __init__(self, slack: WebApi, people: Iterable[str]) -> None:
        self._directory = UserDirectory(slack)
        self._people = sorted(set(people))
        self._known: dict[str, Person] = {}

    async def refresh(self) -> None:
        """Ask Slack about everybody, one after the other: its limit is a hundred a minute."""
        for person in self._people:
            found = await self._directory.find(person)
            if found.is_known:
                self._known[person] = found
            else:
                self._known.pop(person, None)

    def name(self, person: str) -> str:
        """Answer with the name as it is shown; empty where Slack doesn't tell."""
        return self._known[person].name if person in self._known else ""

    def is_gone(self, person: str) -> bool:
        """Whether the person was deactivated, is a guest, or is of another organization."""
        return person in self._known and not self._known[person].is_member
