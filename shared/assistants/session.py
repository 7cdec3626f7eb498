"""One person's assistant: the tools that it is offered, and the calls that it makes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from shared.api.errors import OutreachError
from shared.assistants import quoting
from shared.assistants.tools import CallError, Tool, is_offered, read_call, tools
from shared.commands import Command, Invocation
from shared.commands.result import Problem, Result
from shared.operations import error_card
from shared.records.records import RecordsUnavailable
from shared.settings import UnknownWorkspace


class Changes(StrEnum):
    """What an assistant may do beside reading."""

    NEVER = "never"
    CONFIRM = "confirm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a call came to, as structured content."""

    content: Mapping[str, Any]
    summary: str
    """Words of ours alone."""
    failed: bool = False

    @property
    def texts(self) -> tuple[str, str]:
        """The summary, and the content as JSON for clients of revisions without structured content."""
        return self.summary, json.dumps(self.content, ensure_ascii=False)


Run = Callable[[Invocation], Awaitable[Result]]
"""Carries out a command that reads, with the checks that a typed one has."""


class AssistantSession:
    """The tools of one person, and their calls."""

    def __init__(
        self,
        run: Run,
        *,
        changes: Changes = Changes.NEVER,
        allowed: Callable[[Command], bool] = lambda _: True,
    ) -> None:
        self._run, self._changes, self._allowed = run, changes, allowed

    def tools(self) -> tuple[Tool, ...]:
        return tools(changes=self._changes is Changes.CONFIRM, allowed=self._allowed)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Carry out a call; whatever goes wrong is told as an outcome."""
        try:
            invocation = read_call(name, arguments)
        except CallError as error:
            return failure(str(error))
        if not is_offered(invocation.command, changes=self._changes is Changes.CONFIRM) or invocation.changes:
            return failure(CHANGES_ARE_OFF)
        return await self._read(invocation)

    async def _read(self, invocation: Invocation) -> Outcome:
        try:
            result = await self._run(invocation)
        except (OutreachError, RecordsUnavailable, UnknownWorkspace) as error:
            result = Result(card=error_card(error), problem=Problem(text="failed"))
        return outcome(invocation.command, result)


CHANGES_ARE_OFF = (
    'Assistants may only read here. An administrator can set changes = "confirm" under [mcp], so that they may propose '
    "changes."
)


def outcome(command: Command, result: Result) -> Outcome:
    content = quoting.answer(command, result)
    return Outcome(content=content, summary=quoting.summary(command, result), failed=result.refused)


def failure(text: str) -> Outcome:
    """A refusal in words of ours, before any command."""
    return Outcome(content={"problem": {"why": text}}, summary=text, failed=True)
