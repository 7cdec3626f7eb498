"""`/mcp` of a running bot, with the official SDK's client: who gets in, and what they see."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult
from mcp_types.version import LATEST_MODERN_VERSION

from sandbox.service import Service
from sandbox.slack.state import seed
from shared.commands.table import Role
from shared.records.audit import AuditEntry
from tests.bot.harness import BotHarness, bot_inside, open_harness

MODES = ("legacy", LATEST_MODERN_VERSION)


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
    """A bot with `/mcp`, and clients of it."""

    bot: BotHarness
    service: Service

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
            return await client.call_tool(tool, arguments or {}, meta=slack(user, team))  # type: ignore[arg-type]

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
async def open_assistants(folder: Path, account: str, *, settings: str = "") -> AsyncIterator[Assistants]:
    async with Service(speed=0, database=account) as service:
        key = next(iter(service.api_keys.values()))
        where = {
            "OUTREACH_BASE_URL": service.base_url,
            "OUTREACH_API_KEY": key,
            "OUTREACH_MCP_ENABLED": "true",
        }
        async with open_harness(folder, **where) as bot:
            if settings:
                bot.config(settings)
            async with bot_inside(bot):
                yield Assistants(bot=bot, service=service)


@pytest.fixture
async def assistants(tmp_path: Path, account: str) -> AsyncIterator[Assistants]:
    async with open_assistants(tmp_path, account) as opened:
        yield opened


async def test_mcp_is_off_by_default(bot: BotHarness) -> None:
    async with bot.http.post(f"{bot.url}/mcp", json=call()) as answer:
        assert answer.status == 404


@pytest.mark.parametrize("mode", MODES)
async def test_a_person_of_slack_reads(assistants: Assistants, mode: str) -> None:
    async with assistants.connected(Signing(assistants.secret), mode=mode) as client:
        listed = await client.list_tools(meta=slack(seed.BEN.id))  # type: ignore[arg-type]
        found = await client.call_tool("sequences", {}, meta=slack(seed.BEN.id))  # type: ignore[arg-type]
    names = {tool.name for tool in listed.tools}
    assert "sequences" in names
    assert "pause" not in names
    assert not found.is_error
    assert found.structured_content["rows"]


async def test_each_call_is_in_the_audit_with_the_person_and_via_assistant(assistants: Assistants) -> None:
    await assistants.ask(seed.BEN.id, "sequences", {"status": "active"})
    await assistants.ask(seed.BEN.id, "no-such-tool")
    await assistants.ask(seed.BEN.id, "pause", {"target": ["all"]})
    entries = await assistants.audit()
    assert [(one.command, one.effect) for one in entries] == [
        ("pause all", "refused"),
        ("no-such-tool", "refused"),
        ("sequences active", "read"),
    ]
    assert {(one.actor.name, one.actor.id, one.actor.via) for one in entries} == {
        ("ben", seed.BEN.id, "assistant")
    }


async def test_the_audit_command_shows_what_assistants_read_apart(assistants: Assistants) -> None:
    await assistants.ask(seed.BEN.id, "sequences")
    (shown,) = await assistants.bot.say("audit", user=seed.ANN.id)
    text = json.dumps(shown, ensure_ascii=False)
    assert "Assistant" in text
    assert "for @ben: sequences" in text


@pytest.mark.parametrize(
    ("user", "team"),
    [
        (seed.GUS.id, seed.TEAM.id),  # a guest
        (seed.EVA.id, seed.TEAM.id),  # of another organization, whatever the team says
        (seed.BEN.id, seed.NORTHWIND.id),  # of another team
        ("U0NOBODY99", seed.TEAM.id),
    ],
)
async def test_only_full_members_of_the_own_team_get_in(assistants: Assistants, user: str, team: str) -> None:
    body = json.dumps(call(user, team=team)).encode()
    assert await assistants.post(body, signed(body, secret=assistants.secret)) == 403
    assert await assistants.audit() == []


async def test_forged_late_repeated_and_odd_requests_are_refused(assistants: Assistants) -> None:
    body = json.dumps(call()).encode()
    good = signed(body, secret=assistants.secret)
    assert await assistants.post(body, {}) == 401
    assert await assistants.post(body, signed(body, secret="another")) == 401
    assert await assistants.post(body + b" ", good) == 401
    late = int(good["X-Slack-Request-Timestamp"]) - 301
    assert await assistants.post(body, signed(body, secret=assistants.secret, at=late)) == 401
    assert await assistants.post(body, good) == 200
    assert await assistants.post(body, good) == 401
    for odd in (b"{", b"[]", b"[" * 5_000, json.dumps(call(team=None)).encode()):
        assert await assistants.post(odd, signed(odd, secret=assistants.secret)) == 400
    assert await assistants.post(b"\xff", {**good}) == 401
    assert await assistants.post(b"x" * 70_000, {}) == 413
    assert len(await assistants.audit()) == 1


async def test_a_signed_request_that_names_nobody_lists_tools_and_calls_none(assistants: Assistants) -> None:
    async with assistants.connected(Signing(assistants.secret)) as client:
        assert (await client.list_tools()).tools
        found = await client.call_tool("sequences", {})
    assert found.is_error
    assert "who asks" in json.dumps(found.structured_content)


@pytest.mark.parametrize("mode", MODES)
async def test_a_token_reads_with_its_role_in_its_workspaces(assistants: Assistants, mode: str) -> None:
    secret = await assistants.token()
    async with assistants.connected(Bearer(secret), mode=mode) as client:
        found = await client.call_tool("sequences", {})
        elsewhere = await client.call_tool("sequences", {"workspace": "globex"})
    assert found.structured_content["rows"]
    assert elsewhere.is_error
    newest = (await assistants.audit())[-1]
    assert (newest.actor.name, newest.actor.face, newest.actor.via) == ("reports", "token", "assistant")


async def test_wrong_expired_and_revoked_tokens_are_refused(assistants: Assistants) -> None:
    assert assistants.bot.running is not None
    tokens = assistants.bot.running.store.assistant_tokens
    good = await assistants.token()
    expired = await assistants.token(seconds=0.0)
    elsewhere = await assistants.token(workspaces=["globex"])
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}

    async def status(secret: str) -> int:
        return await assistants.post(listing, {"Authorization": f"Bearer {secret}"})

    assert await status(good) == 200
    for wrong in (good[:-1], good + "x", expired, elsewhere, "", "outreach_mcp_", "xoxb-1"):
        assert await status(wrong) == 401
    assert await assistants.post(listing, {"Authorization": f"Basic {good}"}) == 401
    (newest, *_) = [one for one in await tokens.all() if one.used_at]
    assert await tokens.revoke(newest.id)
    assert await status(good) == 401
    assert good not in repr(await tokens.all())


async def test_limits_of_a_person_hold_for_all_their_assistants(tmp_path: Path, account: str) -> None:
    async with open_assistants(tmp_path, account, settings="[mcp]\ncalls_an_hour = 2\n") as assistants:
        for tool in ("whoami", "status"):
            assert not (await assistants.ask(seed.BEN.id, tool)).is_error
        third = await assistants.ask(seed.BEN.id, "sequences")
        assert "limit of 2 calls an hour" in json.dumps(third.structured_content)
        assert not (await assistants.ask(seed.ANN.id, "whoami")).is_error
