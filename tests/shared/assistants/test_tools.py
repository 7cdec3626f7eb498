"""Tools made from the table of commands, and the reading of what a model sends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from shared.assistants.tools import LARGEST_CALL, CallError, input_schema, read_call, tools
from shared.commands import COMMANDS, parse

EVERY_LINE = [line for command in COMMANDS.values() if command.assistants for line in command.examples]


def test_only_tools_that_read_are_offered() -> None:
    offered = {tool.name for tool in tools()}
    assert offered >= {"status", "replies", "guardrails", "audit"}
    changing = {"pause", "resume", "add", "remove", "subscribe", "unsubscribe", "digest", "undo"}
    assert not offered & changing
    assert not offered & {"away", "back", "doctor"}


@pytest.mark.parametrize("line", EVERY_LINE)
def test_each_example_fits_its_schema_and_means_its_line(line: str) -> None:
    meant = parse(line)
    command = meant.command
    schema = input_schema(command)
    Draft202012Validator.check_schema(schema)
    example = schema["examples"][command.examples.index(line)]
    Draft202012Validator(schema).validate(example)
    assert read_call(command.name, example).arguments == meant.arguments


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("pause", {"target": ["sq_1"], "confirm": True}),
        ("pause", {"target": ["all"], "confirmed": True}),
        ("pause", {"target": ["sq_1"], "until": {"day": "monday", "evil": 1}}),
        ("pause", {"target": "sq_1"}),
        ("pause", {"target": ["sq_1"], "duration": "forever"}),
        ("pause", {}),
        ("pause", {"target": ["sq_1"], "workspace": ["acme"]}),
        ("replies", {"period": {"name": "whenever"}}),
        ("replies", {"page": {"$gt": 0}}),
        ("subscribe", {"events": []}),
        ("subscribe", {"events": ["no.such.event"]}),
        ("guardrails", {"act": "explode"}),
        ("guardrails", {"act": "list", "rule": "pause sequence"}),
        ("status", {"target": ["sq_1"]}),
        ("no-such-tool", {}),
        ("", {}),
        ("lead", {"who": "x" * (LARGEST_CALL + 1)}),
    ],
)
def test_calls_that_fit_no_command_are_refused(name: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(CallError):
        read_call(name, arguments)


def test_deeply_nested_arguments_are_refused() -> None:
    nested: Any = {}
    for _ in range(100_000):
        nested = {"until": nested}
    with pytest.raises(CallError):
        read_call("pause", nested)


@pytest.mark.parametrize("name", ["@globex", "sq_1 @globex", "sq_1 for 2h @globex"])
def test_a_workspace_is_named_by_its_argument_alone(name: str) -> None:
    meant = read_call("pause", {"target": [name]})
    assert meant.workspace is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
FIELDS = sorted({name for c in COMMANDS.values() if c.assistants for name in input_schema(c)["properties"]})


@given(
    name=st.sampled_from(sorted(COMMANDS)),
    arguments=st.dictionaries(st.sampled_from([*FIELDS, "confirmed"]), JSON, max_size=4),
)
def test_any_json_is_a_command_that_could_be_typed_or_is_refused(
    name: str, arguments: dict[str, Any]
) -> None:
    try:
        meant = read_call(name, arguments)
    except CallError:
        return
    assert meant.command is COMMANDS[name]
    assert parse(meant.line).arguments == meant.arguments
