"""Tools made from the table of commands, and the reading of what a model sends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from shared.assistants.tools import LONGEST_TEXT, CallError, read_call, tools
from shared.commands import COMMANDS, parse


def test_only_tools_that_read_are_offered() -> None:
    offered = {tool.name for tool in tools()}
    assert offered >= {"status", "replies", "guardrails", "audit"}
    changing = {"pause", "resume", "add", "remove", "subscribe", "unsubscribe", "digest", "undo"}
    assert not offered & changing
    assert not offered & {"away", "back", "doctor"}


@pytest.mark.parametrize("tool", tools(), ids=lambda tool: str(tool.name))
def test_each_example_fits_its_schema_and_means_its_line(tool: Any) -> None:
    Draft202012Validator.check_schema(tool.schema)
    for line, example in zip(COMMANDS[tool.name].examples, tool.schema["examples"], strict=True):
        Draft202012Validator(tool.schema).validate(example)
        assert read_call(tool.name, example).arguments == parse(line).arguments
    assert read_call(tool.name, {**tool.schema["examples"][0], "workspace": "acme"}).workspace == "acme"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        # No argument says yes in a person's place.
        ("pause", {"words": "sq_1", "confirm": True}),
        ("pause", {"words": ["sq_1"]}),
        ("pause", {}),
        ("sequences", {"workspace": ["acme"]}),
        ("sequences", {"workspace": "acme paused"}),
        ("status", {"words": "sq_1"}),
        ("no-such-tool", {}),
        ("", {}),
        ("lead", {"words": "x" * (LONGEST_TEXT + 1)}),
    ],
)
def test_calls_that_fit_no_command_are_refused(name: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(CallError):
        read_call(name, arguments)


@given(name=st.sampled_from(sorted(COMMANDS)), words=st.text(max_size=60))
def test_any_words_are_of_the_command_that_was_called_or_refused(name: str, words: str) -> None:
    try:
        meant = read_call(name, {"words": words})
    except CallError:
        return
    # Words that begin another command must not become it, or a reading tool could change something.
    assert meant.command is COMMANDS[name]
