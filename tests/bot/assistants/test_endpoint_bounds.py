"""`/mcp` under load: clients that leave, that never read, and too many of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, cast

import pytest
from mcp_types.version import LATEST_MODERN_VERSION

from bot.assistants import endpoint
from bot.assistants.endpoint import MOST_OPEN, AssistantEndpoint
from bot.assistants.sessions import AssistantSessions
from shared.assistants.session import AssistantSession, Outcome
from shared.assistants.tools import Tool
from tests.waiting import until

OLD = {"mcp-protocol-version": "2025-06-18"}
NEW = {"mcp-protocol-version": LATEST_MODERN_VERSION, "mcp-method": "tools/call", "mcp-name": "status"}


class Hanging:
    """A session whose calls end when they are let."""

    in_slack = False

    def __init__(self) -> None:
        self.begun = self.cancelled = 0
        self.free = asyncio.Event()

    def tools(self) -> tuple[Tool, ...]:
        return ()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        self.begun += 1
        try:
            await self.free.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return Outcome(content={"rows": []}, summary="done")


class OneSession:
    def __init__(self, session: Hanging) -> None:
        self.session = session

    async def of_token(self, _secret: str) -> AssistantSession | None:
        return cast("AssistantSession", self.session)


class Connection:
    """One request to the endpoint, as an ASGI server hands it on."""

    def __init__(self, served: AssistantEndpoint, headers: Mapping[str, str]) -> None:
        self.left = asyncio.Event()
        self.status = 0
        self.reads = True
        params: dict[str, Any] = {"name": "status", "arguments": {}}
        if headers is NEW:
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": LATEST_MODERN_VERSION,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            }
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        self._body: bytes | None = json.dumps(request).encode()
        given = {
            "authorization": "Bearer x",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "host": "127.0.0.1",
            **headers,
        }
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/mcp",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        }
        self.task = asyncio.create_task(served(scope, self._receive, self._send))

    async def _receive(self) -> Mapping[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Mapping[str, Any]) -> None:
        if not self.reads:
            await asyncio.Event().wait()
        if message["type"] == "http.response.start":
            self.status = message["status"]


@pytest.fixture
def hanging() -> Hanging:
    return Hanging()


@pytest.fixture
async def served(hanging: Hanging) -> AsyncIterator[AssistantEndpoint]:
    opened = AssistantEndpoint(cast("AssistantSessions", OneSession(hanging)), signing_secret=None)
    running = asyncio.create_task(opened.run())
    await until(lambda: opened.is_running)
    try:
        yield opened
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


@pytest.mark.parametrize("headers", [OLD, NEW], ids=["old", "new"])
async def test_a_client_that_leaves_ends_its_call(
    served: AssistantEndpoint, hanging: Hanging, headers: Mapping[str, str]
) -> None:
    one = Connection(served, headers)
    await until(lambda: hanging.begun)
    one.left.set()
    await until(lambda: hanging.cancelled)
    await one.task
    assert served.open == 0


@pytest.mark.parametrize("headers", [OLD, NEW], ids=["old", "new"])
async def test_a_client_that_never_reads_is_cut_off(
    served: AssistantEndpoint, hanging: Hanging, headers: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "REQUEST_SECONDS", 0.2)
    hanging.free.set()
    one = Connection(served, headers)
    one.reads = False
    await one.task
    assert served.open == 0
    monkeypatch.undo()
    another = Connection(served, headers)
    await another.task
    assert another.status == 200


async def test_of_a_thousand_requests_so_many_are_open_and_the_others_are_told_to_come_again(
    served: AssistantEndpoint, hanging: Hanging
) -> None:
    many = [Connection(served, OLD) for _ in range(1_000)]
    await until(lambda: sum(one.status == 503 for one in many) == 1_000 - MOST_OPEN)
    assert served.open == MOST_OPEN
    hanging.free.set()
    await asyncio.gather(*(one.task for one in many))
    assert sum(one.status == 200 for one in many) == MOST_OPEN
    assert served.open == 0
