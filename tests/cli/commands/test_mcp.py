"""`outreach mcp` in its own process, driven by the official SDK's client."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types
import pytest
from mcp import Client, StdioServerParameters
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION

from tests.cli.conftest import PROGRAM, ROOT, Shell


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
    assert "can only read" in found.structured_content["problem"]["why"]


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
