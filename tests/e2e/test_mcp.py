"""`outreach mcp` in its own process: by the official SDK's client, and as the bytes that older clients send."""

from __future__ import annotations

import importlib
import json
import os
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

import pytest

from tests.e2e.conftest import PROGRAM, ROOT
from tests.kit import Account, Shell

pytestmark = pytest.mark.usefixtures("real_time")

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


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_client_lists_tools_and_reads_and_changes_nothing(
    mcp: ModuleType, account: Account, shell: Shell, mode: str
) -> None:
    shell.use(account.environ)
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


async def test_a_message_without_an_end_is_not_kept_in_memory(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    async with shell.start("mcp", stdin=PIPE) as process:
        _, errors = await process.communicate(b"x" * 1_100_000)
    assert (process.returncode, errors) == (1, b"outreach: a message has more than 1,000,000 bytes\n")
