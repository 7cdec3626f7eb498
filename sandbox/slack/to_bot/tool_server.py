"""Slack's assistant as a client of an app's tools: the Model Context Protocol over HTTP, each request signed by Slack.

Written from the protocol's documents and not with an SDK, so that it is a second reading of both.
https://docs.slack.dev/ai/slackbot-mcp-client, https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

import aiohttp

from sandbox.slack.state.errors import InvalidActionError
from sandbox.slack.state.model import Json
from sandbox.slack.to_bot.delivery import Delivery, signature_headers

REVISION = "2025-11-25"
CAPABILITIES: Json = {
    "extensions": {"io.slack/block-kit": {"mimeTypes": ["application/vnd.slack.blocks+json"]}}
}
SECONDS = 60.0
"""After which Slack gives a call up."""
MOST_PAGES = 20
_IDS = itertools.count(1)
"""Over all servers: two requests that are alike would have one signature."""
SESSION = "Mcp-Session-Id"


class ToolServerError(Exception):
    """The server can't be reached, refuses, or answers what is no answer; the message says which."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True, eq=False)
class ToolServer:
    """The tools of one app, for one person; `address` is where its manifest says, on the host of its requests."""

    delivery: Delivery
    user: str
    team: str
    enterprise: str = ""
    revision: str = REVISION
    session: str = ""
    server: Json = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Raises `InvalidActionError`: the app declares no server, may not be called, or has no address."""
        settings = self.delivery.settings
        if not settings.tool_server:
            raise InvalidActionError("no app has mcp_servers in its manifest")
        if "mcp:connect" not in settings.scopes:
            raise InvalidActionError("missing_scope: mcp:connect")
        if settings.request_url is None:
            raise InvalidActionError("the app has no address: set request_url")
        return urljoin(settings.request_url, urlsplit(settings.tool_server).path)

    async def open(self) -> Json:
        """Agree on a revision, and say that blocks can be shown; answers what the server says of itself."""
        info = {"name": "slackbot", "version": "1.0"}
        given = {"protocolVersion": self.revision, "capabilities": CAPABILITIES, "clientInfo": info}
        self.server = await self._ask("initialize", given)
        self.revision = str(self.server.get("protocolVersion") or self.revision)
        await self._send({"jsonrpc": "2.0", "method": "notifications/initialized"}, name="initialized")
        return self.server

    async def tools(self) -> list[Json]:
        """All tools, page by page."""
        found: list[Json] = []
        cursor: Json = {}
        for _ in range(MOST_PAGES):
            page = await self._asked("tools/list", cursor)
            found += page.get("tools") or []
            if not page.get("nextCursor"):
                break
            cursor = {"cursor": page["nextCursor"]}
        return found

    async def call(self, name: str, arguments: Json) -> Json:
        return await self._asked("tools/call", {"name": name, "arguments": arguments})

    async def _asked(self, method: str, params: Json) -> Json:
        if not self.server:
            await self.open()
        try:
            return await self._ask(method, params)
        except ToolServerError as error:
            if error.status != 404 or not self.session:
                raise
        self.session = ""  # the server has forgotten it: the protocol has clients begin again
        await self.open()
        return await self._ask(method, params)

    async def _ask(self, method: str, params: Json) -> Json:
        who = {"user_id": self.user, "team_id": self.team, "enterprise_id": self.enterprise or None}
        number = next(_IDS)
        asked = {**params, "_meta": {"slack": who}}
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": asked}
        name = f"{method} {params['name']}" if method == "tools/call" else method
        answers = await self._send(body, name=name)
        answer = next((one for one in answers if isinstance(one, dict) and one.get("id") == number), None)
        if answer is None:
            raise ToolServerError(f"{method}: no answer")
        if error := answer.get("error"):
            raise ToolServerError(f"{method}: {error.get('message') if isinstance(error, dict) else error}")
        result = answer.get("result")
        return result if isinstance(result, dict) else {}

    async def _send(self, body: Json, *, name: str) -> list[Any]:
        """Send one message; answers the messages that came back."""
        started, problem = time.perf_counter(), None
        status: int | None = None
        answers: list[Any] = []
        try:
            async with asyncio.timeout(SECONDS):
                status, answers = await self._post(json.dumps(body).encode())
        except TimeoutError:
            problem = "no answer within 60 seconds"
        except (aiohttp.ClientError, OSError, ValueError) as error:
            problem = f"can't be reached: {type(error).__name__}"
        if problem is None and (status is None or not 200 <= status < 300):
            problem = f"HTTP {status}"
        self.delivery.traffic.record(
            "tools",
            name[:120],
            at=self.delivery.clock.now(),
            ms=(time.perf_counter() - started) * 1000,
            ok=problem is None,
            status=status,
            error=problem,
            app=self.delivery.app.id,
            request=body,
            answer=answers,
        )
        if problem:
            raise ToolServerError(problem, status=status)
        return answers

    async def _post(self, body: bytes) -> tuple[int, list[Any]]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
            **({"MCP-Protocol-Version": self.revision} if self.server else {}),
            **({SESSION: self.session} if self.session else {}),
            **signature_headers(body, secret=self.delivery.credentials.signing_secret, now=time.time()),
        }
        session = self.delivery.requests.session
        async with session.post(self.address, data=body, headers=headers, allow_redirects=False) as response:
            text = await response.text(errors="replace")
            self.session = response.headers.get(SESSION, self.session)
            if not 200 <= response.status < 300:
                return response.status, [text[:500]]
            if response.content_type == "text/event-stream":
                return response.status, _events(text)
            return response.status, [json.loads(text)] if text else []


def _events(text: str) -> list[Any]:
    """The messages of a stream of server-sent events."""
    found = []
    for event in text.replace("\r\n", "\n").split("\n\n"):
        lines = [line.removeprefix("data:").strip() for line in event.split("\n") if line.startswith("data:")]
        if data := "\n".join(lines):
            found.append(json.loads(data))
    return found
