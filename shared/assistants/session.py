"""One person's assistant: the tools that it is offered, and the calls that it makes. It can only read.

Tools are the commands of the table. What a model sends is untrusted: it is the words that a person would type after the
command, and is parsed as those are. Each call is bounded in time and is in the audit log; where that can't be written,
nothing is answered.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

from shared.api.client import OutreachClient
from shared.assistants.quoting import NOTICE, answer, quote, summary
from shared.commands import COMMANDS, Command, Invocation, UsageError, parse
from shared.commands.base import CommandContext, Question, Result
from shared.commands.errors import error_card
from shared.commands.run import run as run_command
from shared.records import ASSISTANT, AuditEntry, Effect, RecordsUnavailable
from shared.settings import Settings, UnknownWorkspace
from shared.store import Store
from shared.store.db.engine import Database
from shared.text.tokenize import names_workspace

CALL_SECONDS = 30.0
"""Seconds that a call may take, however slow the service is."""
LONGEST_NAME, LONGEST_TEXT = 60, 2_000
"""Characters of a tool's name in the audit log, and of the words of a call."""
WORDS, WORKSPACE = "words", "workspace"
MISFIT = f"It takes {WORDS} (what a person types after the command) and {WORKSPACE} (a name), both text."
ONLY_READING = "Assistants can only read. A person makes changes, with a command of their own."

CLIENT_READS = "list_sequences list_leads iter_pages iter_leads list_inboxes stats budget counts service_time"
READS = frozenset({"read", *CLIENT_READS.split()})
"""What only reads, of the client and of the database. It is named: what is forgotten counts as a change."""


class CallError(Exception):
    """A call that makes no sense; the message says what to do."""


class WouldChangeError(Exception):
    """The command tried to change something."""


class Outcome(NamedTuple):
    """The result of a call, as structured content; the summary has words of ours alone."""

    content: Mapping[str, Any]
    summary: str
    failed: bool


class Assistant:
    """The calls of one person, in whose contexts, by workspace, the commands run."""

    def __init__(self, settings: Settings, contexts: Mapping[str, CommandContext]) -> None:
        self._settings = settings
        self._own = contexts[settings.default_workspace]
        self._actor = replace(self._own.actor, via=ASSISTANT)
        self._contexts = {
            name: reading_only(replace(context, actor=self._actor)) for name, context in contexts.items()
        }

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Carry out a call; whatever goes wrong is told as an outcome."""
        invocation: Invocation | None = None
        effect: Effect = "refused"
        try:
            invocation = read_call(name, arguments)
            outcome, reason = await self._carry_out(invocation)
            effect = "refused" if outcome.failed else "read"
        except (CallError, UsageError) as error:
            why = {"problem": {"why": quote(str(error))}}  # which may repeat what was in the call
            outcome = Outcome(why, f"The call was refused. {NOTICE}", failed=True)
            reason = "refused: not a valid call"
        except WouldChangeError:
            outcome, reason = _failure(ONLY_READING), "refused: it would change something"
        except TimeoutError:
            outcome = _failure("The outreach service takes too long. Try again in a moment.")
            effect, reason = "failed", "failed: took too long"
        except Exception as error:  # noqa: BLE001 # of an error of ours the client is told no more than that
            failed = Result(error_card(error), problem="failed")
            outcome = _outcome(type(cast("Invocation", invocation).arguments), failed)
            effect, reason = "failed", f"failed: {type(error).__name__}"
        workspace = self._settings.default_workspace
        with contextlib.suppress(UnknownWorkspace):
            workspace = self._settings.workspace(invocation.workspace if invocation else None).name
        entry = AuditEntry(
            at=self._own.now(),
            actor=self._actor,
            workspace=workspace,
            command=invocation.line if invocation else name[:LONGEST_NAME],
            result=reason,
            effect=effect,
        )
        try:
            await self._own.records.record(entry)
        except RecordsUnavailable:
            return _failure(
                "The bot's database isn't available, and every call is recorded there. Try again later."
            )
        return outcome

    async def _carry_out(self, invocation: Invocation) -> tuple[Outcome, str]:
        # Before anything is read: a refused change costs the service no request.
        if invocation.changes:
            raise WouldChangeError
        context = self._contexts[self._settings.workspace(invocation.workspace).name]
        async with asyncio.timeout(CALL_SECONDS):
            done = await run_command(invocation, context)
        # What asks would change something; the one who could confirm it isn't here.
        if isinstance(done, Question):
            raise WouldChangeError
        reason = f"refused: {done.problem}" if done.problem else f"read {len(done.rows):,} rows"
        return _outcome(type(invocation.arguments), done), reason


def _outcome(command: Command, result: Result) -> Outcome:
    return Outcome(answer(command, result), summary(command, result), bool(result.problem))


def _failure(text: str) -> Outcome:
    return Outcome({"problem": {"why": text}}, text, failed=True)


def tools() -> Iterator[dict[str, Any]]:
    """The tools that an assistant is offered: the commands that read, and those that do with some arguments.

    Each has the fields of the protocol's tools: https://modelcontextprotocol.io/specification/2025-06-18/server/tools
    """
    for command in COMMANDS.values():
        if command.slack_only or (command.changes and not command.reads):
            continue
        limit = " Only reading is allowed here." if command.changes else ""
        words = f"What a person types after `{command.verb}`: {command.usage or 'nothing'}."
        workspace = "The name of the workspace, if there are several. Default: the usual one."
        schema = {
            "type": "object",
            "properties": {
                WORDS: {"type": "string", "maxLength": LONGEST_TEXT, "description": words},
                WORKSPACE: {"type": "string", "description": workspace},
            },
            "additionalProperties": False,
            "examples": [{WORDS: line.partition(" ")[2]} for line in command.examples],
        }
        description = f"{command.summary}. Typed by a person as: {command.synopsis}.{limit}"
        named = {"name": command.verb, "title": command.summary}
        yield {**named, "description": description, "input_schema": schema}


def read_call(name: str, given: Mapping[str, Any]) -> Invocation:
    """Read a call as if a person had typed it. Raises `CallError` or `UsageError`."""
    command = COMMANDS.get(name)
    if command is None or command.slack_only:
        raise CallError("Unknown tool. List the tools to see their names.")
    if given.keys() - {WORDS, WORKSPACE} or not all(isinstance(value, str) for value in given.values()):
        raise CallError(MISFIT)
    words, workspace = given.get(WORDS, ""), given.get(WORKSPACE, "")
    if len(words) > LONGEST_TEXT or (workspace and not names_workspace(f"@{workspace}")):
        raise CallError(f"These words don't fit {name}. {MISFIT}")
    return parse(" ".join(filter(None, (name, words, workspace and f"@{workspace}"))))


class _Reading:
    """An object with what only reads alone: a second bar, should a command write without asking."""

    def __init__(self, target: object) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        if name not in READS:
            raise WouldChangeError(name)
        return getattr(self._target, name)


def reading_only(context: CommandContext) -> CommandContext:
    """Return the same context, in which what changes something raises `WouldChangeError` instead."""
    client = cast("OutreachClient", _Reading(context.client))
    database = cast("Database", _Reading(context.records.database))
    return replace(context, client=client, records=Store(database))
