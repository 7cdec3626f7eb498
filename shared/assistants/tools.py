"""Tools for assistants, made from the table of commands: what they take, and what they say of themselves. Pure.

What a model sends is untrusted. It is read into the arguments' dataclass, written as the line that a person would type, and
parsed again: a tool can ask for nothing that a person could not have typed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from shared.commands import COMMANDS, Command, Invocation, UsageError, parse, render
from shared.commands.base import Arguments

LARGEST_CALL = 8_000
"""Characters of a call's arguments as JSON."""
LONGEST_TEXT, MOST_ITEMS = 500, 50
"""Bounds of the schemas: characters of a text, entries of a list."""
WORKSPACE = "workspace"
"""The argument of every tool that names the workspace."""

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One command as an assistant sees it."""

    name: str
    summary: str
    description: str
    schema: Schema


class CallError(Exception):
    """A call that makes no sense; the message says what to do."""


def tools() -> tuple[Tool, ...]:
    """The tools that an assistant is offered: the commands that read, and those that do with some arguments."""
    return tuple(_tool(command) for command in COMMANDS.values() if is_offered(command))


def is_offered(command: Command) -> bool:
    return command.assistants and (command.reads or not command.changes)


def _tool(command: Command) -> Tool:
    limit = " Only reading is allowed here." if command.changes else ""
    return Tool(
        name=command.name,
        summary=command.summary,
        description=f"{command.summary}. Typed by a person as: {command.synopsis}.{limit}",
        schema=input_schema(command),
    )


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(COMMANDS[name].arguments)


@cache
def input_schema(command: Command) -> Schema:
    """The JSON schema of a command's arguments, with the examples of its help."""
    schema = _adapter(command.name).json_schema()
    schema["properties"][WORKSPACE] = {
        "type": "string",
        "description": "The name of the workspace, if there are several. Default: the usual one.",
    }
    schema["examples"] = [_given(parse(line).arguments) for line in command.examples]
    closed: Schema = _bounded(schema)
    return closed


def _given(arguments: Arguments) -> Any:
    return _adapter(arguments.verb).dump_python(arguments, mode="json", exclude_defaults=True)


def _bounded(schema: Any) -> Any:
    """The same with closed objects, bounded texts and lists, and without titles, which repeat the names."""
    if isinstance(schema, list):
        return [_bounded(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    bounded = {
        name: value if name == "examples" else _bounded(value)
        for name, value in schema.items()
        if name != "title" or not isinstance(value, str)
    }
    kind = bounded.get("type")
    if kind == "object":
        bounded.setdefault("additionalProperties", False)
    elif kind == "string" and not {"enum", "const", "format"} & bounded.keys():
        bounded.setdefault("maxLength", LONGEST_TEXT)
    elif kind == "array":
        bounded.setdefault("maxItems", MOST_ITEMS)
    return bounded


def read_call(name: str, given: Mapping[str, Any]) -> Invocation:
    """What a call asks for, as if a person had typed it. Raises `CallError`."""
    command = COMMANDS.get(name)
    if command is None or not command.assistants:
        raise CallError("Unknown tool. List the tools to see their names.")
    arguments, workspace = _read(command, given)
    try:
        invocation = parse(render(arguments, workspace=workspace))
    except UsageError as error:
        raise CallError(str(error)) from None
    except (ValueError, KeyError, TypeError, AttributeError):  # of a value that `write` has no words for
        raise CallError(_misfit(command)) from None
    meant = invocation.arguments
    if type(meant) is not type(arguments) or invocation.workspace != workspace:
        raise CallError(_misfit(command))
    return invocation


def _read(command: Command, given: Mapping[str, Any]) -> tuple[Arguments, str | None]:
    try:
        size = len(json.dumps(given))
    except (ValueError, TypeError, RecursionError):
        raise CallError("The arguments are not JSON.") from None
    if size > LARGEST_CALL:
        raise CallError(f"The arguments are too long: {size:,} characters. The limit is {LARGEST_CALL:,}.")
    values = dict(given)
    workspace = values.pop(WORKSPACE, None)
    if not isinstance(workspace, str | None):
        raise CallError("The workspace is a name.")
    if unknown := sorted(values.keys() - (input_schema(command)["properties"].keys() - {WORKSPACE})):
        raise CallError(f"Unknown argument {unknown[0][:60]!r}. {_takes(command)}")
    adapter = _adapter(command.name)
    try:
        arguments: Arguments = adapter.validate_python(values)
    except (ValueError, RecursionError):
        raise CallError(_misfit(command)) from None
    if unknown := sorted(_unknown(values, adapter.dump_python(arguments, mode="json"))):
        raise CallError(f"Unknown argument {unknown[0][:60]!r}. {_takes(command)}")
    return arguments, workspace or None


def _unknown(given: Any, read: Any) -> Iterator[str]:
    """The keys, at any depth, that were not read: pydantic passes over them in a dataclass."""
    if isinstance(given, Mapping) and isinstance(read, Mapping):
        for key, value in given.items():
            if key not in read:
                yield str(key)
            else:
                yield from _unknown(value, read[key])


def _misfit(command: Command) -> str:
    return f"These arguments don't fit {command.name}. {_takes(command)}"


def _takes(command: Command) -> str:
    names = ", ".join(input_schema(command)["properties"])
    return f"It takes: {names}."
