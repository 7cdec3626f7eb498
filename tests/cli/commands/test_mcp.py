"""`outreach mcp` in its own process, driven by the official SDK's client."""

from __future__ import annotations

import asyncio
import json
import os
import select
import shlex
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION

from tests.cli.conftest import PROGRAM, ROOT, Shell
from tests.waiting import until


@asynccontextmanager
async def connected(**options: Any) -> AsyncIterator[Client]:
    """A client of a server of its own, which has the environment of the test."""
    command, *words = (*PROGRAM, "mcp")
    server = StdioServerParameters(command=command, args=words, env=dict(os.environ), cwd=ROOT)
    async with Client(server, **options) as client:
        yield client


async def test_a_client_lists_tools_and_reads(shell: Shell) -> None:
    async with connected() as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "pause" not in listed
        hints = listed["status"].annotations
        assert hints is not None
        assert hints.read_only_hint
        found = await client.call_tool("sequences", {"status": "active"})
    assert not found.is_error
    assert {row["status"] for row in found.structured_content["rows"]} == {"active"}


async def test_a_change_is_refused(shell: Shell) -> None:
    async with connected() as client:
        found = await client.call_tool("pause", {"target": ["all"]})
    assert found.is_error
    assert "changes" in found.structured_content["problem"]["why"]


@pytest.mark.parametrize("mode", ["legacy", LATEST_MODERN_VERSION])
async def test_old_and_new_revisions_are_served(shell: Shell, mode: str) -> None:
    async with connected(mode=mode) as client:
        spoken = client.protocol_version
        found = await client.call_tool("whoami", {})
    assert spoken == (HANDSHAKE_PROTOCOL_VERSIONS[-1] if mode == "legacy" else mode)
    summary, data = found.content
    assert isinstance(summary, mcp_types.TextContent)
    assert isinstance(data, mcp_types.TextContent)
    assert json.loads(data.text) == found.structured_content
    assert not found.is_error


async def test_a_client_reads_a_page_and_fills_in_a_prompt(shell: Shell) -> None:
    async with connected() as client:
        listed = {str(page.uri): page for page in (await client.list_resources()).resources}
        (content,) = (await client.read_resource("outreach-docs:///guardrails.md")).contents
        named = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
        filled = await client.get_prompt("paused-domain", {"domain": "mail.acme.com"})
    assert listed["outreach-docs:///guardrails.md"].title == "Guardrails"
    assert isinstance(content, mcp_types.TextResourceContents)
    assert content.text.startswith("# Guardrails")
    assert sorted(named) == ["morning-review", "paused-domain", "weekly-client-summary"]
    assert isinstance(filled.messages[0].content, mcp_types.TextContent)
    assert "mail.acme.com" in filled.messages[0].content.text


async def test_a_page_or_prompt_that_does_not_exist_is_refused(shell: Shell) -> None:
    async with connected() as client:
        with pytest.raises(MCPError, match="no such page"):
            await client.read_resource("outreach-docs:///../outreach.toml")
        with pytest.raises(MCPError, match="a sending domain"):
            await client.get_prompt("paused-domain", {"domain": "not a domain"})


HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2024-11-05",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def test_half_huge_and_odd_messages_end_nothing(shell: Shell) -> None:
    with shell.start("mcp", stdin=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        listing = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}}
        unknown = {"jsonrpc": "2.0", "id": 6, "method": "no/such/method", "params": {}}
        huge = {**listing, "id": 5, "params": {"x": "x" * 3_000_000}}
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        lines = (HELLO, ready, '{"jsonrpc": "2.0", "id": 1, "met', "[]", "[" * 20_000, huge, unknown, listing)
        for line in lines:
            process.stdin.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
        process.stdin.flush()
        answers = {}
        while 7 not in answers:
            answer = json.loads(process.stdout.readline())
            answers[answer.get("id")] = answer
        assert 5 not in answers
        assert "error" in answers[6]
        assert answers[7]["result"]["tools"]
        process.stdin.close()
        assert process.wait(30) == 0
        assert process.stdout.read() == ""


def test_missing_package_is_named(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.commands.mcp.find_spec", lambda _name: None)
    run = shell.run("mcp")
    assert run.code == 1
    assert "pip install 'outreach-ops[mcp]'" in run.err
    assert run.out == ""


class Terminal:
    """A terminal that a server of its own is started from, while its stdin and stdout have the protocol."""

    def __init__(self) -> None:
        self.master, slave = os.openpty()
        self.path, self._slave = os.ttyname(slave), slave

    async def read_until(self, words: str) -> str:
        shown = ""

        def waiting() -> bool:
            nonlocal shown
            while select.select([self.master], [], [], 0)[0]:
                shown += os.read(self.master, 4096).decode()
            return words in shown

        await until(waiting)
        return shown

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def close(self) -> None:
        os.close(self.master)
        os.close(self._slave)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    opened = Terminal()
    yield opened
    opened.close()


@asynccontextmanager
async def at_terminal(terminal: Terminal) -> AsyncIterator[Client]:
    """A client of a server whose controlling terminal this is: the first that the leader of a session opens."""
    program = " ".join(map(shlex.quote, (*PROGRAM, "mcp")))
    words = ["-c", f"exec 3<>{terminal.path}; exec {program} 3>&-"]
    server = StdioServerParameters(command="/bin/sh", args=words, env=dict(os.environ), cwd=ROOT)
    async with Client(server) as client:
        yield client


async def standing(client: Client, proposal: str) -> dict[str, Any]:
    found = await client.call_tool("proposal_result", {"proposal": proposal})
    content: dict[str, Any] = found.structured_content
    return content


@pytest.mark.parametrize(("typed", "state"), [("yes", "confirmed"), ("no", "declined"), ("", "declined")])
async def test_the_terminal_confirms_what_is_proposed(
    shell: Shell, terminal: Terminal, typed: str, state: str
) -> None:
    shell.set("OUTREACH_MCP_CHANGES", "confirm")
    sequence = (await asyncio.to_thread(lambda: shell.run("sequences", "active", "--json").data))[0]
    async with at_terminal(terminal) as client:
        terminal.type("yes\n")  # before there is a question
        asked = await client.call_tool("pause", {"target": [sequence["id"]]})
        (name,) = asked.structured_content["proposals"]
        shown = await terminal.read_until("Type yes")
        assert "Your assistant proposes: pause" in shown
        assert (await standing(client, name))["state"] == "waiting for confirmation"
        terminal.type(f"{typed}\n")

        async def answered() -> dict[str, Any] | None:
            found = await standing(client, name)
            return found if found["state"] != "waiting for confirmation" else None

        assert (await until(answered))["state"] == state
    ids = {one["id"] for one in await asyncio.to_thread(paused, shell)}
    assert (sequence["id"] in ids) is (state == "confirmed")
    if state == "confirmed":
        changes = await asyncio.to_thread(lambda: shell.run("audit", "--json").data)
        assert next(one["via"] for one in changes if "is paused" in one["result"]) == "assistant"
        undone = await asyncio.to_thread(lambda: shell.run("undo", "--yes"))
        assert undone.code == 0


def paused(shell: Shell) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shell.run("sequences", "paused", "--json").data
    return found


async def test_without_a_terminal_a_proposal_is_refused(shell: Shell) -> None:
    shell.set("OUTREACH_MCP_CHANGES", "confirm")
    async with connected() as client:
        assert "pause" in {tool.name for tool in (await client.list_tools()).tools}
        found = await client.call_tool("sequences", {"status": "active"})
        sequence = found.structured_content["rows"][0]["id"]
        asked = await client.call_tool("pause", {"target": [sequence]})
        after = await client.call_tool("sequences", {"status": "active"})
    assert asked.is_error
    assert "no terminal" in json.dumps(asked.structured_content)
    assert sequence in {row["id"] for row in after.structured_content["rows"]}


def test_tokens_are_shown_once_listed_revoked_and_audited(shell: Shell) -> None:
    made = shell.run("mcp", "token", "create", "reports", "--expires", "7d", "--json").data[0]
    listed = shell.run("mcp", "token", "list", "--json").data
    assert [(one["id"], one["name"], one["role"], one["workspaces"]) for one in listed] == [
        (made["id"], "reports", "reader", ["default"])
    ]
    assert made["token"] not in json.dumps(listed)
    assert shell.run("mcp", "token", "revoke", made["id"]).code == 0
    assert shell.run("mcp", "token", "revoke", made["id"]).code == 1
    assert "revoked" in shell.run("mcp", "token", "list").out
    lines = {one["command"] for one in shell.run("audit", "--json").data}
    assert {f"mcp token create {made['id']} --role reader", f"mcp token revoke {made['id']}"} <= lines


@pytest.mark.parametrize(
    "words",
    [
        ("token",),
        ("token", "create"),
        ("token", "create", "x", "--expires", "900d"),
        ("token", "create", "x" * 61),
    ],
)
def test_tokens_that_make_no_sense_are_wrong_usage(shell: Shell, words: tuple[str, ...]) -> None:
    assert shell.run("mcp", *words).code == 2
