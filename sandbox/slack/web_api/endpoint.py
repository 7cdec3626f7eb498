"""The Web API's front: reads a call as slack_sdk sends it, checks the token, meets faults, answers as Slack does."""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections.abc import Callable
from typing import Any, cast

from aiohttp import web

from sandbox.slack.state import scopes
from sandbox.slack.state.errors import Refusal
from sandbox.slack.state.faults import Fault
from sandbox.slack.state.model import Json
from sandbox.slack.state.settings import Credentials
from sandbox.slack.web_api import chat, conversations, directory, files, surfaces
from sandbox.slack.web_api.calls import METHODS
from sandbox.slack.web_api.workspace import Workspace

FAMILIES = (chat, conversations, directory, files, surfaces)
_NESTED = {"blocks", "attachments", "view", "metadata", "files"}
_APP_METHODS = {"apps.connections.open"}


class InvalidJsonError(Exception):
    """A body that says it is JSON and is none."""


async def arguments(request: web.Request) -> Json:
    """The arguments of a call, from the query, a form or JSON; raises `InvalidJsonError`."""
    args: Json = dict(request.query)
    if request.content_type == "application/json":
        raw = await request.read()
        body = _json(raw) if raw else {}
        if not isinstance(body, dict):
            raise InvalidJsonError
        return {**args, **body}
    args |= {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
    return {name: _nested(name, value) for name, value in args.items()}


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InvalidJsonError from error


def _nested(name: str, value: str) -> Any:
    """Blocks and the like are JSON inside a form field; what does not parse is refused later, as it stands."""
    if name not in _NESTED or not value:
        return value
    try:
        return _json(value.encode())
    except InvalidJsonError:
        return value


def _token(request: web.Request, args: Json) -> str:
    header = request.headers.get("Authorization", "")
    return header[7:].strip() if header.startswith("Bearer ") else str(args.get("token") or "")


class Endpoint:
    """`POST` or `GET /api/{method}`."""

    def __init__(self, workspace: Callable[[], Workspace], credentials: Credentials) -> None:
        self._workspace = workspace
        self._credentials = credentials

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One call: what a fault asks for, the method itself, and the record of both."""
        started = time.perf_counter()
        name = request.match_info["method"]
        space = self._workspace()
        args: Json = {}
        status, body, headers = 200, cast("Json | str", {}), dict[str, str]()
        fault = space.faults.take(name)
        try:
            args = await arguments(request)
            if fault is not None:
                await self._suffer(fault, request)
            body = self._carry_out(name, args, request, space)
        except InvalidJsonError:
            body = Refusal("invalid_json").body()
        except Refusal as refusal:
            status, body, headers = _refused(refusal)
        except _TroubleError as trouble:
            status, body = trouble.status, trouble.body
        cut = fault is not None and fault.kind in ("cut", "accept_then_cut")
        self._record(name, args, body, status=None if cut else status, started=started, space=space)
        if cut:
            return _severed(request)
        headers["X-OAuth-Scopes"] = ",".join(sorted(space.settings.scopes))
        return _answer(body, status=status, headers=headers)

    def _carry_out(self, name: str, args: Json, request: web.Request, space: Workspace) -> Json:
        self._authorise(name, _token(request, args), space)
        function = METHODS.get(name)
        if function is None:
            raise Refusal("unknown_method", extra={"req_method": name})
        scopes.require(_scope(name), granted=space.settings.scopes)
        call = space.call(args)
        space.buckets.take_call(name, factor=space.settings.tier_factor, now=space.world.clock.now())
        if name == "chat.postMessage":
            chat.paced(space.buckets, call)
        return {"ok": True, **function(call)}

    def _authorise(self, name: str, token: str, space: Workspace) -> None:
        if not token:
            raise Refusal("not_authed")
        app_level = name in _APP_METHODS
        right = self._credentials.app_token if app_level else self._credentials.bot_token
        if app_level and token == self._credentials.bot_token:
            raise Refusal("not_allowed_token_type")
        if not hmac.compare_digest(token.encode(), right.encode()):
            raise Refusal("invalid_auth")
        if space.settings.revoked and not app_level:
            raise Refusal("token_revoked")

    async def _suffer(self, fault: Fault, request: web.Request) -> None:
        """What a fault does before the method runs; a delay alone lets it run afterwards."""
        await asyncio.sleep(fault.seconds)
        if fault.kind == "error":
            raise Refusal(fault.error)
        if fault.kind == "rate_limited":
            raise Refusal("ratelimited", retry_after=fault.retry_after)
        if fault.kind == "status":
            raise _TroubleError(fault.status, f"<html><body><h1>{fault.status}</h1></body></html>")
        if fault.kind == "garbage":
            raise _TroubleError(200, '{"ok": true, "ts": "17')
        if fault.kind == "cut":
            raise _TroubleError(0, "")

    def _record(
        self, name: str, args: Json, body: Json | str, *, status: int | None, started: float, space: Workspace
    ) -> None:
        good = isinstance(body, dict) and body.get("ok") is True and status == 200
        error = body.get("error") if isinstance(body, dict) else None
        space.traffic.record(
            "web_api",
            name,
            at=space.world.clock.now(),
            ms=(time.perf_counter() - started) * 1000,
            ok=good,
            status=status,
            error=None if good else (error or ("cut" if status is None else f"http_{status}")),
            request=args,
            answer=body,
        )


class _TroubleError(Exception):
    """A fault that answers with something else than Slack's JSON."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


def _scope(name: str) -> str | None:
    """The scope that is asked for before the channel is known; the conversation methods look for themselves."""
    per_channel = name.startswith("conversations.") and name not in (
        "conversations.join",
        "conversations.open",
    )
    return None if per_channel else scopes.NEEDED[name]


def _refused(refusal: Refusal) -> tuple[int, Json, dict[str, str]]:
    if refusal.retry_after is None:
        return 200, refusal.body(), {}
    return 429, refusal.body(), {"Retry-After": str(refusal.retry_after)}


def _answer(body: Json | str, *, status: int, headers: dict[str, str]) -> web.Response:
    if isinstance(body, str):
        kind = "application/json" if status == 200 else "text/html"
        return web.Response(text=body, status=status, content_type=kind, headers=headers)
    return web.json_response(body, status=status, headers=headers)


def _severed(request: web.Request) -> web.StreamResponse:
    """Break the connection; the response that aiohttp wants is never sent."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)
