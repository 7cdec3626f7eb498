"""Tools for assistants, made from the table of commands: what they take, and what they say of themselves. Pure.

What a model sends is untrusted: it is the words that a person would type after the command, and is parsed as those are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.commands import COMMANDS, Command, Invocation, UsageError, parse
from shared.frozen import frozen
from shared.text.tokenize import names_workspace

LONGEST_TEXT = 2_000
"""Characters of the words of a call."""
WORDS, WORKSPACE = "words", "workspace"
MISFIT = f"It takes {WORDS} (what a person types after the command) and {WORKSPACE} (a name), both text."


@frozen
class Tool:
    """One command as an assistant sees it."""

    name: str
    summary: str
    description: str
    schema: dict[str, Any]


class CallError(Exception):
    """A call that makes no sense; the message says what to do."""


def tools() -> tuple[Tool, ...]:
    """The tools that an assistant is offered: the commands that read, and those that do with some arguments."""
    return tuple(_tool(command) for command in COMMANDS.values() if is_offered(command))


def is_offered(command: Command) -> bool:
    return command.assistants and (command.reads or not command.changes)


def _tool(command: Command) -> Tool:
    limit = " Only reading is allowed here." if command.changes else ""
    words = f"What a person types after `{command.name}`: {command.usage or 'nothing'}."
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
    return Tool(name=command.name, summary=command.summary, description=description, schema=schema)


def read_call(name: str, given: Mapping[str, Any]) -> Invocation:
    """Read a call as if a person had typed it. Raises `CallError`."""
    command = COMMANDS.get(name)
    if command is None or not command.assistants:
        raise CallError("Unknown tool. List the tools to see their names.")
    if given.keys() - {WORDS, WORKSPACE} or not all(isinstance(value, str) for value in given.values()):
        raise CallError(MISFIT)
    words, workspace = given.get(WORDS, ""), given.get(WORKSPACE, "")
    if len(words) > LONGEST_TEXT or (workspace and not names_workspace(f"@{workspace}")):
        raise CallError(f"These words don't fit {name}. {MISFIT}")
    try:
        return parse(" ".join(filter(None, (name, words, workspace and f"@{workspace}"))))
    except UsageError as error:
        raise CallError(str(error)) from None
