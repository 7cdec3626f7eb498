"""Every revision of the protocol that clients still speak, as the bytes that they send."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tests.cli.conftest import PROGRAM, ROOT, Shell

CLIENT = {"name": "an older client", "version": "1"}


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


@pytest.mark.parametrize("revision", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_a_client_of_any_revision_is_served(shell: Shell, revision: str) -> None:
    """With lines that are no message between them: they are passed over."""
    del shell  # its settings are in the environment
    process = await asyncio.create_subprocess_exec(
        *(*PROGRAM, "mcp"),
        stdin=-1,
        stdout=-1,
        env=dict(os.environ),
        cwd=ROOT,
        limit=2**20,
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
