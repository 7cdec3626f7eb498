"""One person's assistant: the tools that it is offered, and the calls that it makes.

Each call is bounded in time and number, and in the audit log; where that can't be written, nothing is answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, Protocol

from shared.api.errors import OutreachError
from shared.assistants import quoting
from shared.assistants.dry_run import WouldChangeError
from shared.assistants.gate import Busy, Gate
from shared.assistants.limits import exceeded
from shared.assistants.tools import PROPOSAL, CallError, Tool, read_call, read_proposal, tools
from shared.commands import Command, Invocation, UsageError
from shared.commands.result import Problem, Result
from shared.domain.card import Card
from shared.operations import error_card
from shared.records.audit import Actor, AuditEntry, Effect
from shared.records.records import Records, RecordsUnavailable
from shared.settings import Changes, Settings, UnknownWorkspace

CALL_SECONDS = 30.0
"""For a call, however slow the service is."""
LONGEST_NAME = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a call came to, as structured content."""

    content: Mapping[str, Any]
    summary: str
    """Words of ours alone."""
    card: Card | None = None
    """What people would be shown."""
    failed: bool = False

    @property
    def texts(self) -> tuple[str, str]:
        """The summary, and the content as JSON for clients of revisions without structured content."""
        return self.summary, json.dumps(self.content, ensure_ascii=False)


Run = Callable[[Invocation], Awaitable[Result]]
"""Carries out a command that reads, with the checks that a typed one has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A change that waits for the person: what they were asked, and the ids by which its result is asked for."""

    ids: tuple[str, ...]
    card: Card


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a proposal stands."""

    state: Literal["waiting for confirmation", "confirmed", "declined", "expired"]
    result: str = ""
    """What the person was told of it."""


class Proposals(Protocol):
    """Asks a person to confirm what their assistant proposes."""

    async def propose(self, invocation: Invocation) -> Proposed | Result:
        """Check a change as if it were to be made, and ask; a `Result` says why there is nothing to ask."""

    async def look(self, proposal: str) -> Standing | None:
        """How a proposal to this person stands; None: there is none of this id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """In whose name an assistant calls, and where that is written down."""

    actor: Actor
    """With `via`."""
    records: Records
    now: Callable[[], datetime]
    settings: Settings
    """With the workspaces that they may see."""

    @property
    def key(self) -> str:
        return self.actor.id or self.actor.name

    def workspace(self, named: str | None) -> str:
        """Where a call is recorded: in the workspace that it names, if it may be known."""
        with contextlib.suppress(UnknownWorkspace):
            return self.settings.workspace(named).name
        return self.settings.workspace(None).name


class AssistantSession:
    """The tools of one person, and their calls."""

    def __init__(
        self,
        caller: Caller,
        run: Run,
        *,
        gate: Gate,
        proposals: Proposals | None = None,
        allowed: Callable[[Command], bool] = lambda _: True,
        seconds: float = CALL_SECONDS,
    ) -> None:
        """`proposals`: None where nobody could confirm; whether they are wanted, the settings say."""
        self._caller, self._run, self._gate = caller, run, gate
        wanted = caller.settings.mcp.changes is Changes.CONFIRM
        self._proposals = proposals if wanted else None
        self._allowed, self._seconds = allowed, seconds
        self._writing: set[asyncio.Task[None]] = set()

    @property
    def in_slack(self) -> bool:
        """Whether what is answered is shown in Slack."""
        return self._caller.actor.face == "slack"

    def tools(self) -> tuple[Tool, ...]:
        return tools(changes=self._proposals is not None, allowed=self._allowed)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Carry out a call; whatever goes wrong is told as an outcome."""
        try:
            with self._gate.enter(self._caller.key) as under_way:
                return await self._counted(name, arguments, under_way)
        except Busy:
            return failure("Too many calls at once. Wait for the others to end, then try again.")
        except RecordsUnavailable:
            return failure(
                "The bot's database isn't available, and every call is recorded there. Try again later."
            )

    async def _counted(self, name: str, arguments: Mapping[str, Any], under_way: int) -> Outcome:
        used = await self._caller.records.assistant_usage(self._caller.actor, self._caller.now())
        limits = self._caller.settings.mcp
        if reason := exceeded(used, limits, change=False, under_way=under_way):
            return failure(reason)
        try:
            if name == PROPOSAL and self._proposals:
                return await self._look(read_proposal(arguments), self._proposals)
            invocation = read_call(name, arguments)
        except CallError as error:
            await self._record(None, "refused: not a valid call", "refused", line=name[:LONGEST_NAME])
            return misread(error)
        if not invocation.changes:
            return await self._carry_out(invocation, self._run)
        reason = (
            exceeded(used, limits, change=True, under_way=under_way) if self._proposals else CHANGES_ARE_OFF
        )
        if reason or self._proposals is None:
            await self._record(invocation, f"refused: {reason}", "refused")
            return failure(reason)
        return await self._carry_out(invocation, self._proposals.propose)

    async def _look(self, proposal: str, proposals: Proposals) -> Outcome:
        found = await proposals.look(proposal)
        await self._record(None, found.state if found else "unknown", "read", line=f"{PROPOSAL} {proposal}")
        if found is None:
            return failure("There is no such proposal to this person.")
        content: dict[str, Any] = {"proposal": proposal, "state": found.state}
        if found.result:
            content["result"] = quoting.quote(found.result)
        return Outcome(content=content, summary=f"{proposal}: {found.state}. {quoting.NOTICE}")

    async def _carry_out(
        self, invocation: Invocation, act: Callable[[Invocation], Awaitable[Proposed | Result]]
    ) -> Outcome:
        """Read, or propose a change: one whose end isn't known counts as proposed, since its card may be there."""
        unknown: Effect = "proposed" if invocation.changes else "failed"
        try:
            async with asyncio.timeout(self._seconds):
                result = await act(invocation)
        except TimeoutError:
            await self._record(invocation, "failed: took too long", unknown)
            return failure("The outreach service takes too long. Try again in a moment.")
        except asyncio.CancelledError:
            self._record_later(invocation, "cancelled", unknown if invocation.changes else "read")
            raise
        except UsageError as error:
            await self._record(invocation, "refused: not a valid call", "refused")
            return misread(error)
        except WouldChangeError:  # a reading that would have written something
            await self._record(invocation, "refused: it would change something", "refused")
            return failure(CHANGES_ARE_OFF)
        except (OutreachError, RecordsUnavailable, UnknownWorkspace) as error:
            await self._record(invocation, f"failed: {type(error).__name__}", "failed")
            return outcome(invocation.command, Result(card=error_card(error), problem=Problem(text="failed")))
        except Exception as error:  # an error of ours; the client is told no more than that
            await self._record(invocation, f"failed: {type(error).__name__}", unknown)
            raise
        if isinstance(result, Proposed):
            await self._record(invocation, f"waiting for confirmation: {', '.join(result.ids)}", "proposed")
            return waiting(invocation.command, result)
        refused = f"refused: {result.problem.text}" if result.problem else ""
        rows = f"read {len(result.rows):,} rows"
        await self._record(invocation, refused or rows, "refused" if refused else "read")
        return outcome(invocation.command, result)

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
        """Of a call that was cancelled, which can wait for nothing."""
        task = asyncio.ensure_future(self._record(invocation, result, effect))
        self._writing.add(task)
        task.add_done_callback(self._written)

    def _written(self, task: asyncio.Task[None]) -> None:
        self._writing.discard(task)
        if not task.cancelled():
            task.exception()  # the client is gone, and nobody can be told


CHANGES_ARE_OFF = (
    'Assistants may only read here. An administrator can set changes = "confirm" under [mcp], so that they may propose '
    "changes."
)


def outcome(command: Command, result: Result) -> Outcome:
    content = quoting.answer(command, result)
    summary = quoting.summary(command, result)
    return Outcome(content=content, summary=summary, card=result.card, failed=result.refused)


def misread(error: Exception) -> Outcome:
    """The refusal of a call, which may repeat what was in it."""
    why = {"problem": {"why": quoting.quote(str(error))}}
    return Outcome(content=why, summary=f"The call was refused. {quoting.NOTICE}", failed=True)


def waiting(command: Command, proposed: Proposed) -> Outcome:
    """What a model is told of a change that it proposed."""
    content = {
        **quoting.answer(command, Result(card=proposed.card)),
        "state": "waiting for confirmation",
        "proposals": list(proposed.ids),
    }
    summary = (
        f"{command.name}: waiting for confirmation. Nothing has changed, and only the person can confirm it. "
        f"{PROPOSAL} tells the result. {quoting.NOTICE}"
    )
    return Outcome(content=content, summary=summary, card=replace(proposed.card, buttons=()))


def failure(text: str) -> Outcome:
    """A refusal in words of ours, before any command."""
    return Outcome(content={"problem": {"why": text}}, summary=text, failed=True)
