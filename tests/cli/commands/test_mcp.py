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
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Of the protocol with a handshake."""


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
    assert spoken == (REVISIONS[-1] if mode == "legacy" else mode)
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


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


CLIENT = {"name": "an older client", "version": "1"}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
NO_MESSAGES = ('{"jsonrpc": "2.0", "id": 8, "meth', "[]", "[" * 20_000, "x" * (LONGEST_LINE_BYTES + 9))


@pytest.mark.parametrize(
    "revision", [REVISIONS[0], *(pytest.param(one, marks=pytest.mark.e2e) for one in REVISIONS[1:])]
)
async def test_every_revision_is_served_whatever_stands_between_its_messages(
    shell: Shell, revision: str
) -> None:
    del shell  # its settings are in the environment
    messages = (
        request(1, "initialize", protocolVersion=revision, capabilities={}, clientInfo=CLIENT),
        INITIALIZED,
        request(2, "tools/list"),
        request(3, "tools/call", name="whoami", arguments={}),
        request(4, "tools/call", name="pause", arguments={"words": "all", "confirm": True}),
        request(5, "tools/obey"),
    )
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=-1, stdout=-1, env=dict(os.environ), cwd=ROOT, limit=2**20
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers: dict[int, Any] = {}
    try:
        for message in messages:
            odd = NO_MESSAGES if message is INITIALIZED else ()
            process.stdin.write("".join(f"{line}\n" for line in (json.dumps(message), *odd)).encode())
            while "id" in message and message["id"] not in answers:
                async with asyncio.timeout(60):
                    answer = json.loads(await process.stdout.readline())
                answers[answer.get("id")] = answer
        process.stdin.close()
        async with asyncio.timeout(30):
            assert await process.wait() == 0
        assert await process.stdout.read() == b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert answers[1]["result"]["protocolVersion"] == revision
    assert answers[1]["result"]["serverInfo"]["name"] == "outreach"
    assert "quoted_from_outside" in answers[1]["result"]["instructions"]
    assert {tool["name"] for tool in answers[2]["result"]["tools"]} >= {"status", "replies"}
    assert not answers[3]["result"].get("isError")
    summary, data = answers[3]["result"]["content"]
    assert "whoami" in summary["text"]
    # A client without structured content reads it here.
    assert json.loads(data["text"])["command"] == "whoami"
    assert answers[4]["result"]["isError"]
    # JSON-RPC's code for a method that there isn't: https://www.jsonrpc.org/specification
    assert answers[5]["error"]["code"] == -32601
