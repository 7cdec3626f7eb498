"""What an assistant may call, and its calls under trouble: it reads, changes nothing, and each call is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from shared.assistants import session
from shared.assistants.session import (
    LONGEST_TEXT,
    ONLY_READING,
    Assistant,
    CallError,
    WouldChangeError,
    read_call,
    reading_only,
    tools,
)
from shared.commands import COMMANDS, Invocation, UsageError, parse
from shared.commands.base import Result
from shared.commands.run import CommandContext, run
from shared.settings import Settings
from tests.shared.harness import DOWN, CommandHarness

Act = Callable[[Invocation, CommandContext], Awaitable[Result]]


def assistant(harness: CommandHarness, *, seconds: float = 60.0) -> Assistant:
    return Assistant(Settings(), {"default": harness.context}, seconds=seconds)


@pytest.fixture
def does(monkeypatch: pytest.MonkeyPatch) -> Callable[[Act], None]:
    """Replace what a call carries out."""
    return lambda act: monkeypatch.setattr(session, "run_command", act)


async def test_a_service_that_hangs_ends_with_the_calls_time(
    harness: CommandHarness, does: Callable[[Act], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(_: Invocation, _context: CommandContext) -> Result:
        await asyncio.Event().wait()
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr(session, "run_command", hang)
        found = await assistant(harness, seconds=0.05).call("status", {})
    assert found.failed
    assert "takes too long" in found.summary
    assert [(one.result, one.effect) for one in await harness.entries()] == [
        ("failed: took too long", "failed")
    ]
    # The call that hung holds nothing that the next one needs.
    assert not (await assistant(harness).call("status", {})).failed


@pytest.mark.parametrize("status", [429, 500, 401])
async def test_a_service_that_refuses_is_told_with_what_to_do(harness: CommandHarness, status: int) -> None:
    harness.service.failing["GET /sequences"] = httpx.Response(status, headers={"Retry-After": "3600"})
    found = await assistant(harness).call("sequences", {})
    assert found.failed
    assert found.content
    (entry,) = await harness.entries()
    assert entry.effect == "failed"


async def test_an_error_of_ours_is_recorded_and_tells_nothing(
    harness: CommandHarness, does: Callable[[Act], None]
) -> None:
    async def break_(_: Invocation, _context: CommandContext) -> Result:
        raise KeyError("the-key-of-somebody")

    does(break_)
    found = await assistant(harness).call("status", {})
    assert found.failed
    assert "the-key-of-somebody" not in str(found)
    assert [one.result for one in await harness.entries()] == ["failed: KeyError"]


async def test_without_the_database_nothing_is_answered(harness: CommandHarness) -> None:
    # An answer that stands in no log would be a reading that nobody can account for.
    harness.records = DOWN
    found = await assistant(harness).call("status", {})
    assert found.failed
    assert "every call is recorded" in found.summary


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("pause", {"words": "all"}), ("guardrails", {"words": "off"}), ("undo", {})],
)
async def test_a_change_is_refused_and_recorded(
    harness: CommandHarness, tool: str, arguments: dict[str, object]
) -> None:
    found = await assistant(harness).call(tool, arguments)
    assert (found.failed, found.summary) == (True, ONLY_READING)
    (entry,) = await harness.entries()
    assert (entry.effect, entry.result) == ("refused", "refused: it would change something")
    # Refused before anything is read: a change that can't be made must cost the service no request.
    assert harness.service.requests == []


async def test_a_reading_that_would_write_is_refused(
    harness: CommandHarness, does: Callable[[Act], None]
) -> None:
    async def write(_: Invocation, context: CommandContext) -> Result:
        await context.client.pause_sequence("sq_1")
        raise AssertionError

    does(write)
    found = await assistant(harness).call("status", {})
    assert (found.failed, found.summary) == (True, ONLY_READING)
    assert [one.effect for one in await harness.entries()] == ["refused"]


CHANGING = {"pause", "resume", "add", "remove", "subscribe", "unsubscribe", "digest", "guardrails", "undo"}


def test_a_method_of_the_client_that_is_not_named_counts_as_a_change(harness: CommandHarness) -> None:
    client = reading_only(harness.context).client
    for name in ("pause_sequence", "resume_sequence", "add_leads", "remove_lead", "create_webhook", "aclose"):
        with pytest.raises(WouldChangeError):
            getattr(client, name)


READING = [
    line
    for command in COMMANDS.values()
    for line in command.examples
    if command.assistants and not parse(line).changes
]


@pytest.mark.parametrize("line", READING)
async def test_no_reading_command_writes_anything(harness: CommandHarness, line: str) -> None:
    await run(parse(line), reading_only(harness.context))
    assert {one.method for one in harness.service.requests} <= {"GET"}
    assert await harness.entries() == []
    assert await harness.timers() == []


def test_only_tools_that_read_are_offered() -> None:
    offered = {tool.name for tool in tools()}
    assert offered >= {"status", "replies", "guardrails", "audit"}
    assert not offered & ({*CHANGING, "away", "back", "doctor"} - {"guardrails", "digest"})


@pytest.mark.parametrize("tool", [*tools()], ids=lambda tool: str(tool.name))
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
async def test_calls_that_fit_no_command_are_refused_and_recorded(
    harness: CommandHarness, name: str, arguments: dict[str, Any]
) -> None:
    assert (await assistant(harness).call(name, arguments)).failed
    assert [one.result for one in await harness.entries()] == ["refused: not a valid call"]


@given(name=st.sampled_from(sorted(COMMANDS)), words=st.text(max_size=60))
def test_any_words_are_of_the_command_that_was_called_or_refused(name: str, words: str) -> None:
    try:
        meant = read_call(name, {"words": words})
    except (CallError, UsageError):
        return
    # Words that begin another command must not become it, or a reading tool could change something.
    assert meant.command is COMMANDS[name]
