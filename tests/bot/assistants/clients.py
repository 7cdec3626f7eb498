"""A bot with `/mcp`, and the official SDK's client as the assistants that use it."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import time
from collections.abc import AsyncIterator, Generator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from sandbox.service import Service
from sandbox.slack.state import seed
from shared.commands.table import Role
from shared.records.audit import AuditEntry
from tests.bot.harness import HASTE, BotHarness, bot_inside, open_harness

_numbers = itertools.count(1)
"""No two calls are the same bytes: a request that comes twice is refused."""


class Signing(httpx2.Auth):
    """Signs each request as Slack does."""

    requires_request_body = True

    def __init__(self, secret: str) -> None:
        self.secret = secret

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        request.headers.update(signed(request.content, secret=self.secret))
        yield request


def signed(body: bytes, *, secret: str, at: int | None = None) -> dict[str, str]:
    stamp = str(at or int(time.time()))  # noqa: TID251 # the SDK compares it with the machine's clock
    base = b":".join((b"v0", stamp.encode(), body))
    value = "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": value}


@dataclass(kw_only=True)
class Assistants:
    """A bot, and clients of its `/mcp`."""

    bot: BotHarness

    @property
    def secret(self) -> str:
        return str(self.bot.slack.announcement["slack_signing_secret"])

    @asynccontextmanager
    async def connected(self, auth: httpx2.Auth, *, mode: str = "legacy") -> AsyncIterator[Client]:
        async with (
            httpx2.AsyncClient(auth=auth) as http,
            Client(streamable_http_client(f"{self.bot.url}/mcp", http_client=http), mode=mode) as client,
        ):
            yield client

    async def ask(
        self, user: str, tool: str, arguments: dict[str, Any] | None = None, *, team: str = seed.TEAM.id
    ) -> CallToolResult:
        """Call a tool as Slack's assistant does for this person."""
        async with self.connected(Signing(self.secret)) as client:
            meta: Any = {**slack(user, team), "call": next(_numbers)}
            return await client.call_tool(tool, arguments or {}, meta=meta)

    async def token(self, **given: Any) -> str:
        assert self.bot.running is not None
        options = {"role": Role.READER, "workspaces": ["default"], "created_by": "ann", "seconds": 60.0}
        secret, _ = await self.bot.running.store.assistant_tokens.create("reports", **{**options, **given})
        return secret

    async def post(self, body: Any, headers: dict[str, str]) -> int:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        plain = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        async with self.bot.http.post(
            f"{self.bot.url}/mcp", data=content, headers={**plain, **headers}
        ) as answer:
            await answer.read()
            return answer.status

    async def told(self, user: str) -> list[dict[str, Any]]:
        """The person's direct messages with the bot."""
        return await self.bot.messages(self.bot.slack.workspace.world.direct(user).id)

    async def audit(self) -> list[AuditEntry]:
        assert self.bot.running is not None
        return list(await self.bot.running.store.records.audit("default"))


def slack(user: str, team: str = seed.TEAM.id) -> dict[str, Any]:
    return {"slack": {"user_id": user, "team_id": team}}


def call(user: str = seed.BEN.id, *, team: Any = seed.TEAM.id, tool: str = "sequences") -> dict[str, Any]:
    meta = {"slack": {"user_id": user, "team_id": team}}
    params = {"name": tool, "arguments": {}, "_meta": meta}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


class Bearer(httpx2.Auth):
    def __init__(self, secret: str) -> None:
        self.secret = secret

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        request.headers["Authorization"] = f"Bearer {self.secret}"
        yield request


@asynccontextmanager
async def open_assistants(
    folder: Path, account: str = "", *, settings: str = "", **environ: str
) -> AsyncIterator[Assistants]:
    """A bot whose `/mcp` is enabled, with settings of a file; with an account, the sandbox is its service."""
    async with AsyncExitStack() as stack:
        if account:
            service = await stack.enter_async_context(Service(speed=0, database=account))
            key = next(iter(service.api_keys.values()))
            environ = {"OUTREACH_BASE_URL": service.base_url, "OUTREACH_API_KEY": key, **environ}
        bot = await stack.enter_async_context(open_harness(folder, OUTREACH_MCP_ENABLED="true", **environ))
        if settings:
            bot.config(settings)
        await stack.enter_async_context(bot_inside(bot, pace=HASTE))
        yield Assistants(bot=bot)
