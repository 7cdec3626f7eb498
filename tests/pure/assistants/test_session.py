"""What an assistant may call, and its calls under trouble: it reads, changes nothing, and each call is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from cli.console.resources import open_context
from shared.assistants import session
from shared.assistants.quoting import answer
from shared.assistants.session import (
    LONGEST_TEXT,
    ONLY_READING,
    Assistant,
    CallError,
    Outcome,
    WouldChangeError,
    read_call,
    reading_only,
    tools,
)
from shared.commands import COMMANDS, Invocation, UsageError, parse
from shared.commands.base import CommandContext, Question, Result
from shared.commands.run import run
from shared.settings import Settings, load
from tests.kit import Account
from tests.pure.assistants.test_quoting import unquoted


@dataclass
class Opened:
    """An assistant's context on an account, and what was recorded there."""

    settings: Settings
    context: CommandContext

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        return await Assistant(self.settings, {"default": self.context}).call(name, arguments)

    async def recorded(self) -> list[tuple[str, str]]:
        entries = await self.context.records.audit("default")
        return [(entry.result, str(entry.effect)) for entry in entries]


@pytest.fixture
async def opened(account: Account, tmp_path: Path, no_idle_waiting: None) -> AsyncIterator[Opened]:
    environ = {**account.environ, "OUTREACH_DATABASE_URL": f"sqlite:///{tmp_path}/bot.db"}
    settings = load(environ=environ | {"OUTREACH_DNS_ENABLED": "false"})
    async with open_context(settings, settings.workspace()) as context:
        yield Opened(settings, context)


async def test_a_service_that_hangs_ends_with_the_calls_time(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(_: Invocation, _context: CommandContext) -> Result:
        await asyncio.Event().wait()
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr(session, "run_command", hang)
        patch.setattr(session, "CALL_SECONDS", 0.05)
        found = await opened.call("status", {})
    assert found.failed
    assert "takes too long" in found.summary
    assert await opened.recorded() == [("failed: took too long", "failed")]
    # The call that hung holds nothing that the next one needs.
    assert not (await opened.call("status", {})).failed


async def test_a_service_that_refuses_is_told_with_what_to_do(opened: Opened, account: Account) -> None:
    account.answer("GET /sequences", {"error": {"message": "revoked"}}, status=401)
    found = await opened.call("sequences", {})
    assert found.failed
    assert found.content
    assert [effect for _, effect in await opened.recorded()] == ["failed"]


async def test_an_error_of_ours_is_recorded_and_tells_nothing(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def break_(_: Invocation, _context: CommandContext) -> Result:
        raise KeyError("the-key-of-somebody")

    monkeypatch.setattr(session, "run_command", break_)
    found = await opened.call("status", {})
    assert found.failed
    assert "the-key-of-somebody" not in str(found)
    assert await opened.recorded() == [("failed: KeyError", "failed")]


async def test_without_the_database_nothing_is_answered(account: Account, tmp_path: Path) -> None:
    # An answer that stands in no log would be a reading that nobody can account for.
    (tmp_path / "file").touch()
    database = {"OUTREACH_DATABASE_URL": f"sqlite:///{tmp_path}/file/bot.db"}
    settings = load(environ={**account.environ, **database})
    async with open_context(settings, settings.workspace()) as context:
        found = await Opened(settings, context).call("sequences", {})
    assert found.failed
    assert "every call is recorded" in found.summary


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("pause", {"words": "all"}), ("guardrails", {"words": "off"}), ("undo", {})],
)
async def test_a_change_is_refused_and_recorded(
    opened: Opened, account: Account, tool: str, arguments: dict[str, object]
) -> None:
    found = await opened.call(tool, arguments)
    assert (found.failed, found.summary) == (True, ONLY_READING)
    assert await opened.recorded() == [("refused: it would change something", "refused")]
    # Refused before anything is read: a change that can't be made must cost the service no request.
    assert account.asked() == []


async def test_what_is_not_named_as_reading_counts_as_a_change(opened: Opened) -> None:
    context = reading_only(opened.context)
    records = context.records
    for act in ("pause_sequence", "add_leads", "remove_lead", "create_webhook", "aclose"):
        with pytest.raises(WouldChangeError):
            getattr(context.client, act)
    changes: list[Any] = [records.set_timer, records.subscribe, records.record, records.take_undo]
    changes += [records.give_up_channel, records.guardrails.switch_off, records.guardrails.add_rule]
    changes += [records.domains.watch, records.turns.leave, records.changes.begin]
    for change in changes:
        with pytest.raises(WouldChangeError):
            await change("C0SALES002")


async def test_each_reading_example_reads_alone_and_has_its_own_fields(
    opened: Opened, account: Account
) -> None:
    """A field that was renamed would be quoted for ever, without anybody noticing."""
    context = replace(reading_only(opened.context), pages_searched=5)
    for command in COMMANDS.values():
        lines = [line for line in command.examples if not parse(line).changes]
        # Here no channel is open that `subscriptions` could mean.
        lines = [f"{line} C0SALES002" if line == "subscriptions" else line for line in lines]
        for line in () if command.slack_only else lines:
            done = await run(parse(line), context)
            assert not isinstance(done, Question)
            rows = answer(command, done)["rows"]
            keys = {text for row in rows for text in unquoted(row)}
            is_listed = command.verb in {"status", "sequences", "inboxes", "stats", "leads", "whoami"}
            assert (
                not (rows and is_listed) or {*command.own_fields} - {"event", "paused_until", "id"} <= keys
            ), line
    assert {request.partition(" ")[0] for request in account.asked()} == {"GET"}
    assert await opened.recorded() == []


CHANGING = {"pause", "resume", "add", "remove", "subscribe", "unsubscribe", "undo", "away", "back", "doctor"}


def test_only_tools_that_read_are_offered() -> None:
    offered = {tool["name"] for tool in tools()}
    assert offered >= {"status", "replies", "guardrails", "audit"}
    assert not offered & CHANGING


@pytest.mark.parametrize("tool", [*tools()], ids=lambda tool: str(tool["name"]))
def test_each_example_fits_its_schema_and_means_its_line(tool: Any) -> None:
    name, schema = tool["name"], tool["input_schema"]
    Draft202012Validator.check_schema(schema)
    for line, example in zip(COMMANDS[name].examples, schema["examples"], strict=True):
        Draft202012Validator(schema).validate(example)
        assert read_call(name, example).arguments == parse(line).arguments
    assert read_call(name, {**schema["examples"][0], "workspace": "acme"}).workspace == "acme"


async def test_calls_that_fit_no_command_are_refused_and_recorded(opened: Opened) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        # No argument says yes in a person's place.
        ("pause", {"words": "sq_1", "confirm": True}),
        ("pause", {"words": ["sq_1"]}),
        ("sequences", {"workspace": "acme paused"}),
        ("status", {"words": "sq_1"}),
        ("no-such-tool", {}),
        ("lead", {"words": "x" * (LONGEST_TEXT + 1)}),
    ]
    for name, arguments in calls:
        assert (await opened.call(name, arguments)).failed, name
    assert await opened.recorded() == [("refused: not a valid call", "refused")] * len(calls)


@given(name=st.sampled_from(sorted(COMMANDS)), words=st.text(max_size=60))
def test_any_words_are_of_the_command_that_was_called_or_refused(name: str, words: str) -> None:
    try:
        meant = read_call(name, {"words": words})
    except (CallError, UsageError):
        return
    # Words that begin another command must not become it, or a reading tool could change something.
    assert type(meant.arguments) is COMMANDS[name]
