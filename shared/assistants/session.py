"""One person's assistant: the tools that it is offered, and the calls that it makes. It can only read.

Each call is bounded in time and is in the audit log; where that can't be written, nothing is answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from shared.api.errors import OutreachError
from shared.assistants import quoting
from shared.assistants.reading import WouldChangeError
from shared.assistants.tools import CallError, read_call
from shared.commands import Command, Invocation, UsageError
from shared.commands.base import Problem, Result
from shared.commands.errors import error_card
from shared.frozen import frozen
from shared.records.audit import Actor, AuditEntry, Effect
from shared.records.records import RecordsUnavailable
from shared.settings import Settings, UnknownWorkspace

if TYPE_CHECKING:
    from shared.store.history import Records

CALL_SECONDS = 30.0
"""Seconds that a call may take, however slow the service is."""
LONGEST_NAME = 60
ONLY_READING = "Assistants can only read. A person makes changes, with a command of their own."


@frozen
class Outcome:
    """The result of a call, as structured content."""

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


@frozen
class Caller:
    """The person in whose name an assistant calls, and where the calls are recorded."""

    actor: Actor
    """The person, with `via` naming the assistant."""
    records: Records
    now: Callable[[], datetime]
    settings: Settings

    def workspace(self, named: str | None) -> str:
        """The workspace in which a call is recorded: the one that it names, if there is one."""
        with contextlib.suppress(UnknownWorkspace):
            return self.settings.workspace(named).name
        return self.settings.workspace(None).name


class AssistantSession:
    """The calls of one person."""

    def __init__(self, caller: Caller, run: Run, *, seconds: float = CALL_SECONDS) -> None:
        self._caller, self._run, self._seconds = caller, run, seconds
        self._writing: set[asyncio.Task[None]] = set()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Carry out a call; whatever goes wrong is told as an outcome."""
        try:
            try:
                invocation = read_call(name, arguments)
            except CallError as error:
                await self._record(None, "refused: not a valid call", "refused", line=name[:LONGEST_NAME])
                return misread(error)
            try:
                answered, result, effect = await self._carry_out(invocation)
            except asyncio.CancelledError:
                self._record_later(invocation, "cancelled", "read")
                raise
            except Exception as error:  # an error of ours; the client is told no more than that
                await self._record(invocation, f"failed: {type(error).__name__}", "failed")
                raise
            await self._record(invocation, result, effect)
        except RecordsUnavailable:
            return failure(
                "The bot's database isn't available, and every call is recorded there. Try again later."
            )
        else:
            return answered

    async def _carry_out(self, invocation: Invocation) -> tuple[Outcome, str, Effect]:
        """The outcome, and what the audit log says of it."""
        changes = failure(ONLY_READING), "refused: it would change something"
        # Before anything is read: a refused change costs the service no request.
        if invocation.changes:
            return *changes, "refused"
        try:
            async with asyncio.timeout(self._seconds):
                result = await self._run(invocation)
        except TimeoutError:
            text = "The outreach service takes too long. Try again in a moment."
            return failure(text), "failed: took too long", "failed"
        except UsageError as error:
            return misread(error), "refused: not a valid call", "refused"
        except WouldChangeError:  # also a reading that would have written something
            return *changes, "refused"
        except (OutreachError, RecordsUnavailable, UnknownWorkspace) as error:
            failed = Result(error_card(error), problem=Problem("failed"))
            return outcome(invocation.command, failed), f"failed: {type(error).__name__}", "failed"
        problem = result.problem
        told = f"refused: {problem.text}" if problem else f"read {len(result.rows):,} rows"
        return outcome(invocation.command, result), told, "refused" if problem else "read"

    async def _record(
        self, invocation: Invocation | None, result: str, effect: Effect, *, line: str = ""
    ) -> None:
        caller = self._caller
        entry = AuditEntry(
            at=caller.now(),
            actor=caller.actor,
            workspace=caller.workspace(invocation.workspace if invocation else None),
            command=invocation.line if invocation else line,
            result=result,
            effect=effect,
        )
        await caller.records.record(entry)

    def _record_later(self, invocation: Invocation, result: str, effect: Effect) -> None:
        """Record a call that was cancelled, which can wait for nothing."""
        task = asyncio.ensure_future(self._record(invocation, result, effect))
        self._writing.add(task)
        task.add_done_callback(self._written)

    def _written(self, task: asyncio.Task[None]) -> None:
        self._writing.discard(task)
        if not task.cancelled():
            task.exception()  # the client is gone, and nobody can be told


def outcome(command: Command, result: Result) -> Outcome:
    content = quoting.answer(command, result)
    return Outcome(content=content, summary=quoting.summary(command, result), failed=result.refused)


def misread(error: Exception) -> Outcome:
    """The refusal of a call, which may repeat what was in it."""
    why = {"problem": {"why": quoting.quote(str(error))}}
    return Outcome(content=why, summary=f"The call was refused. {quoting.NOTICE}", failed=True)


def failure(text: str) -> Outcome:
    """A refusal in words of ours, before any command."""
    return Outcome(content={"problem": {"why": text}}, summary=text, failed=True)
