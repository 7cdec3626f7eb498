"""`outreach mcp` in its own process, driven by the official SDK's client."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types
import pytest
from mcp import Client, MCPError, StdioServerParameters
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


def test_missing_package_is_named(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.commands.mcp.find_spec", lambda _name: None)
    run = shell.run("mcp")
    assert run.code == 1
    assert "pip install 'outreach-ops[mcp]'" in run.err
    assert run.out == ""
