"""`outreach mcp` in its own process: by the official SDK's client, and as the bytes that older clients send."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

import pytest

from cli.commands.mcp import LONGEST_LINE_BYTES
from tests.cli.conftest import PROGRAM, ROOT, Shell

COMMAND = (*PROGRAM, "mcp")


@pytest.fixture(scope="module")
def mcp() -> ModuleType:
    """The SDK, which takes a second of each process that imports it, and keeps the stderr of that moment."""
    return importlib.import_module("mcp")


@asynccontextmanager
async def connected(mcp: ModuleType, mode: str) -> AsyncIterator[Any]:
    """A client of a server of its own, which has the environment of the test."""
    command, *words = COMMAND
    server = mcp.StdioServerParameters(command=command, args=words, env=dict(os.environ), cwd=ROOT)
    async with mcp.Client(server, mode=mode) as client:
        yield client


@pytest.mark.parametrize("mode", [pytest.param("legacy", marks=pytest.mark.e2e), "2026-07-28"])
async def test_a_client_lists_tools_and_reads_and_changes_nothing(
    mcp: ModuleType, shell: Shell, mode: str
) -> None:
    async with connected(mcp, mode) as client:
        spoken = client.protocol_version
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        found = await client.call_tool("sequences", {"words": "active"})
        refused = await client.call_tool("pause", {"words": "all"})
    assert spoken == ("2025-11-25" if mode == "legacy" else mode)
    assert "pause" not in listed
    hints = listed["status"].annotations
    assert hints is not None
    assert hints.read_only_hint
    assert not found.is_error
    assert {row["status"] for row in found.structured_content["rows"]} == {"active"}
    summary, data = found.content
    assert (summary.type, data.type) == ("text", "text")
    assert json.loads(data.text) == found.structured_content
    assert refused.is_error
    assert "can only read" in refused.structured_content["problem"]["why"]


OLDER = "2024-11-05"
CLIENT = {"name": "an older client", "version": "1"}
MESSAGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("initialize", {"protocolVersion": OLDER, "capabilities": {}, "clientInfo": CLIENT}),
    ("tools/list", {}),
    ("tools/call", {"name": "whoami", "arguments": {}}),
    ("tools/call", {"name": "pause", "arguments": {"words": "all", "confirm": True}}),
)
NO_MESSAGES = (
    b'{"jsonrpc": "2.0", "id": 8, "meth',
    b"[]",
    b"[" * 20_000,
    b"\xff",
    b"x" * (LONGEST_LINE_BYTES + 9),
)


async def test_an_older_client_is_served_whatever_stands_between_its_messages(shell: Shell) -> None:
    del shell  # its settings are in the environment
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=-1, stdout=-1, env=dict(os.environ), cwd=ROOT, limit=2**20
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers: dict[int, Any] = {}
    try:
        for number, (method, params) in enumerate(MESSAGES):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            lines = [json.dumps(message).encode()]
            if method == "initialize":
                lines += [b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', *NO_MESSAGES]
            process.stdin.write(b"".join(line + b"\n" for line in lines))
            while number not in answers:
                async with asyncio.timeout(60):
                    answer = json.loads(await process.stdout.readline())
                answers[answer.get("id")] = answer.get("result")
        process.stdin.close()
        async with asyncio.timeout(30):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    welcome, listed, read, refused = (answers[number] for number in range(len(MESSAGES)))
    assert (welcome["protocolVersion"], welcome["serverInfo"]["name"]) == (OLDER, "outreach")
    assert "quoted_from_outside" in welcome["instructions"]
    assert {tool["name"] for tool in listed["tools"]} >= {"status", "replies"}
    # A client without structured content reads it here.
    assert json.loads(read["content"][1]["text"])["command"] == "whoami"
    assert refused["isError"]
