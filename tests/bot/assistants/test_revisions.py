"""Every revision of the protocol that clients still speak, as the bytes that they send: over HTTP, and on stdio."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tests.bot.assistants.clients import Assistants, open_assistants
from tests.cli.conftest import PROGRAM, ROOT

CLIENT = {"name": "an older client", "version": "1"}
STRUCTURED = "2025-06-18"
"""The first revision with structured content."""


def initialize(revision: str) -> dict[str, Any]:
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
CALL = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "whoami", "arguments": {}}}
PAUSE = {
    "jsonrpc": "2.0",
    "id": 4,
    "method": "tools/call",
    "params": {"name": "pause", "arguments": {"target": ["all"], "confirm": True}},
}
UNKNOWN = {"jsonrpc": "2.0", "id": 5, "method": "tools/obey", "params": {}}


def check(answers: dict[int, Any], revision: str) -> None:
    """The answers to all of them, as this revision has them."""
    assert answers[1]["result"]["protocolVersion"] == revision
    assert answers[1]["result"]["serverInfo"]["name"] == "outreach"
    assert "quoted_from_outside" in answers[1]["result"]["instructions"]
    assert {tool["name"] for tool in answers[2]["result"]["tools"]} >= {"status", "replies"}
    assert not answers[3]["result"].get("isError")
    summary, data = answers[3]["result"]["content"]
    assert "whoami" in summary["text"]
    assert json.loads(data["text"])["command"] == "whoami", (
        "a client without structured content reads it here"
    )
    assert answers[4]["result"]["isError"]
    assert answers[5]["error"]["code"] == -32601


@pytest.fixture
async def assistants(tmp_path: Path, account: str) -> AsyncIterator[Assistants]:
    async with open_assistants(tmp_path, account) as opened:
        yield opened


@pytest.mark.parametrize("revision", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_a_client_of_any_revision_is_served_over_http(assistants: Assistants, revision: str) -> None:
    headers = {
        "Authorization": f"Bearer {await assistants.token()}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    answers: dict[int, Any] = {}
    for message in (initialize(revision), INITIALIZED, LIST, CALL, PAUSE, UNKNOWN):
        url, body = f"{assistants.bot.url}/mcp", json.dumps(message).encode()
        async with assistants.bot.http.post(url, data=body, headers=headers) as answer:
            assert answer.status == (202 if message is INITIALIZED else 200)
            if message is not INITIALIZED:
                one = json.loads(await answer.text())
                answers[one["id"]] = one
        if revision >= STRUCTURED:
            headers["MCP-Protocol-Version"] = revision
    check(answers, revision)


@pytest.mark.parametrize("revision", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_a_client_of_any_revision_is_served_on_stdio(assistants: Assistants, revision: str) -> None:
    """With lines that are no message between them: they are passed over."""
    environ = {"PATH": os.environ["PATH"], **assistants.bot.environ}
    process = await asyncio.create_subprocess_exec(
        *(*PROGRAM, "mcp"), stdin=-1, stdout=-1, stderr=sys.stderr, env=environ, cwd=ROOT, limit=2**20
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers: dict[int, Any] = {}
    try:
        for message in (initialize(revision), INITIALIZED, LIST, CALL, PAUSE, UNKNOWN):
            process.stdin.write(json.dumps(message).encode() + b"\n")
            if message is INITIALIZED:
                process.stdin.write(b'{"jsonrpc": "2.0", "id": 9, "meth\n')
            while "id" in message and message["id"] not in answers:
                async with asyncio.timeout(60):
                    one = json.loads(await process.stdout.readline())
                answers[one.get("id")] = one
        process.stdin.close()
        async with asyncio.timeout(30):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    check(answers, revision)
