"""`outreach mcp` in its own process, driven by the official SDK's client."""

from __future__ import annotations

import json
import os
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


def test_missing_package_is_named(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.commands.mcp.find_spec", lambda _name: None)
    run = shell.run("mcp")
    assert run.code == 1
    assert "pip install 'outreach-ops[mcp]'" in run.err
    assert run.out == ""
