"""Every command over HTTP against the sandbox service, with settings, budget and client as the faces open them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from sandbox.service import Service
from shared.api import OutreachClient
from shared.commands import COMMANDS, parse
from shared.commands.base import Act
from shared.commands.errors import error_card
from shared.commands.run import CommandContext, carry_out, open_client, run
from shared.domain.card import Tone
from shared.domain.snapshot import SOURCES, take_snapshot
from shared.history import History
from shared.records.audit import Actor
from shared.records.records import RecordsUnavailable
from shared.settings import Need, Settings, load
from tests.clock import moment
from tests.shared.doubles import MemoryRecords, NoPacing, Said, facts, said


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    async with Service(speed=0) as running:
        yield running


@pytest.fixture
def settings(service: Service, own_state: None) -> Settings:
    environ = {
        "OUTREACH_BASE_URL": service.base_url,
        "OUTREACH_API_KEY": service.api_keys["acme"],
        "OUTREACH_RATE": "10",
    }
    return load(environ=environ, needs=(Need.API,))


@pytest.fixture
async def context(settings: Settings) -> AsyncIterator[CommandContext]:
    workspace = settings.workspace()
    async with open_client(settings, workspace) as client:
        yield CommandContext(
            workspace=workspace,
            client=client,
            actor=Actor(name="ann", face="slack", channel="C1"),
            records=MemoryRecords(),
            now=moment,
        )


@pytest.fixture
async def unpaced_context(context: CommandContext, service: Service) -> AsyncIterator[CommandContext]:
    """A context whose requests wait for no turn, at a service that counts none."""
    async with httpx.AsyncClient(verify=False) as control:
        (await control.put(f"{service.control_url}/limiter", json={"form": "off"})).raise_for_status()
    key = context.workspace.api_key.get_secret_value()
    async with OutreachClient(base_url=service.base_url, api_key=key, pacer=NoPacing()) as client:
        yield replace(context, client=client)


async def say(context: CommandContext, line: str) -> Said:
    return said(await run(parse(line), context))


async def test_reading_commands_answer_with_the_documents_words(unpaced_context: CommandContext) -> None:
    sequences = await say(unpaced_context, "sequences")
    assert sequences.data
    assert all(
        isinstance(row["steps"], int) and row["status"] in {"active", "paused"} for row in sequences.data
    )
    inboxes = await say(unpaced_context, "inboxes")
    assert inboxes.data
    assert all(isinstance(row["health_score"], int | float) for row in inboxes.data)
    for grouping in ("sequence", "step", "variant", "inbox"):
        stats = await say(unpaced_context, f"stats by {grouping} 7d")
        assert stats.data
        assert all(isinstance(row["sends"], int) for row in stats.data)
    by_label = facts(await say(unpaced_context, "status"))
    assert "Service" not in by_label, "it is reachable"
    assert "active" in by_label["Sequences"]
    leads = await say(unpaced_context, "leads interested")
    assert leads.data
    assert {row["status"] for row in leads.data} == {"interested"}


async def test_a_sequence_is_paused_by_name_and_undone_by_the_button(context: CommandContext) -> None:
    active = (await say(context, "sequences active")).data or ()
    one = active[0]
    card = await say(context, f'pause "{one["name"]}" for 2h reason too many bounces')
    assert card.tone is Tone.GOOD
    assert one["id"] in {row["id"] for row in (await say(context, "sequences paused")).data or ()}
    undo = card.buttons[0].action
    assert isinstance(undo, Act)
    assert (await carry_out(undo, context)).card.title == f"{one['name']} is active again"
    assert one["id"] in {row["id"] for row in (await say(context, "sequences active")).data or ()}


async def test_a_lead_is_added_found_and_removed(context: CommandContext) -> None:
    sequence = ((await say(context, "sequences")).data or ())[0]["id"]
    added = await say(context, f'add ann.new@example.org to {sequence} first_name="Ann Marie" plan=pro')
    assert added.tone is Tone.GOOD
    again = await say(context, f"add ann.new@example.org to {sequence}")
    assert again.tone is Tone.WARN
    found = await say(context, "lead ann.new@example.org")
    assert facts(found)["plan"] == "pro"
    question = await say(context, "remove ann.new@example.org")
    assert question.question
    act = question.question.choices[0].act
    assert (await carry_out(act, context)).card.tone is Tone.GOOD
    assert (await carry_out(act, context)).card.tone is Tone.WARN


async def test_no_command_of_the_table_fails_without_being_understood(
    unpaced_context: CommandContext,
) -> None:
    searching = {"lead", "remove"}  # a page at a time, at the service's pace; they have their own test
    for command in (known for name, known in COMMANDS.items() if name not in searching):
        for line in command.examples:
            card = await say(unpaced_context, line)
            assert card.title
            assert card.question or all(parse(button.line) for button in card.buttons)


async def test_another_workspaces_key_sees_nothing_of_this(
    service: Service, settings: Settings, context: CommandContext
) -> None:
    environ = {"OUTREACH_BASE_URL": service.base_url, "OUTREACH_API_KEY": service.api_keys["globex"]}
    other = load(environ=environ)
    async with open_client(other, other.workspace()) as client:
        theirs = {s.id for s in await client.list_sequences()}
    ours = {row["id"] for row in (await say(context, "sequences")).data or ()}
    assert not ours & theirs


async def test_a_wrong_key_is_a_card_that_says_so(service: Service, own_state: None) -> None:
    settings = load(environ={"OUTREACH_BASE_URL": service.base_url, "OUTREACH_API_KEY": "wrong"})
    workspace = settings.workspace()
    async with open_client(settings, workspace) as client:
        context = CommandContext(
            workspace=workspace,
            client=client,
            actor=Actor(name="ann"),
            records=None,
            now=moment,
        )
        by_label = facts(await say(context, "status"))
        assert by_label["Service"].startswith("not available")
        with pytest.raises(Exception, match="key") as caught:
            await say(context, "sequences")
        assert "API key" in error_card(caught.value).title
        with pytest.raises(RecordsUnavailable):
            await say(context, "open")


async def test_a_snapshot_of_the_service_is_whole_and_can_be_kept(
    context: CommandContext, settings: Settings
) -> None:
    taken = await take_snapshot(context.client, "default", now=context.now())
    assert all(taken.reading(source).value is not None for source in SOURCES.values())
    async with History(settings.history_database) as history:
        await history.add(taken, now=context.now())
        again = await history.snapshot_at("default", context.now())
    assert again == taken
