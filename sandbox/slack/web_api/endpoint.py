"""The Web API's front: reads a call as slack_sdk sends it, checks the token, applies faults, answers as Slack does."""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from typing import Any

from aiohttp import web

from sandbox.slack.state.errors import SlackError
from sandbox.slack.state.faults import Fault
from sandbox.slack.state.model import Json
from sandbox.slack.web_api import chat, conversations, directory, files, surfaces, validation
from sandbox.slack.web_api.calls import METHODS, Call, Method
from sandbox.slack.workspace import Workspace

FAMILIES = (chat, conversations, directory, files, surfaces, validation)
"""The modules of methods; importing them fills the table."""
_NESTED = {"blocks", "attachments", "view", "metadata", "files"}


async def arguments(request: web.Request) -> Json:
    """The arguments of a call, from the query, a form or JSON; raises `SlackError` (invalid_json)."""
    args: Json = dict(request.query)
    if request.content_type == "application/json":
        raw = await request.read()
        try:
            body = json.loads(raw or b"{}")
        except (ValueError, RecursionError) as error:
            raise SlackError("invalid_json") from error
        if not isinstance(body, dict):
            raise SlackError("invalid_json")
        return {**args, **body}
    args |= {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
    return {name: _nested(name, value) for name, value in args.items()}


def _nested(name: str, value: str) -> Any:
    """Blocks and the like are JSON inside a form field; what does not parse is refused later, as it stands."""
    if name not in _NESTED or not value:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def abort(request: web.Request) -> web.StreamResponse:
    """Break the connection; the response that aiohttp wants is never sent."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)


class Endpoint:
    """`POST` or `GET /api/{method}`."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One call: what a fault asks for, the method itself, and the record of both."""
        started = time.perf_counter()
        name = request.match_info["method"]
        args: Json = {}
        status, headers = 200, dict[str, str]()
        fault = self._workspace.faults.take(name)
        try:
            args = await arguments(request)
            replaced = await _apply(fault)
            body = self._run(name, args, request) if replaced is None else replaced
        except SlackError as error:
            body, headers = error.body(), error.headers()
            status = 429 if headers else 200
        if isinstance(body, web.Response):
            status = body.status
        cut = fault is not None and fault.cuts
        self._record(name, args, body, status=None if cut else status, started=started)
        if cut:
            return abort(request)
        response = body if isinstance(body, web.Response) else web.json_response(body, status=status)
        response.headers.update(headers)
        response.headers["X-OAuth-Scopes"] = ",".join(sorted(self._workspace.settings.scopes))
        return response

    def _run(self, name: str, args: Json, request: web.Request) -> Json:
        method, settings = METHODS.get(name), self._workspace.settings
        self._check_token(method, request, args)
        if method is None:
            raise SlackError("unknown_method", extra={"req_method": name})
        call = Call(method=method, args=args, workspace=self._workspace)
        call.require_scope(method.scope)
        self._workspace.rate_limiter.take_call(
            name, tier=method.tier, factor=settings.tier_factor, now=self._workspace.clock.now()
        )
        return {"ok": True, **method.run(call)}

    def _check_token(self, method: Method | None, request: web.Request, args: Json) -> None:
        header = request.headers.get("Authorization", "")
        token = header[7:].strip() if header.startswith("Bearer ") else str(args.get("token") or "")
        if not token:
            raise SlackError("not_authed")
        credentials = self._workspace.credentials
        if method is not None and method.config_token:
            self._check_config_token(token)
            return
        app_level = method is not None and method.app_level
        right = credentials.app_token if app_level else credentials.bot_token
        if app_level and token == credentials.bot_token:
            raise SlackError("not_allowed_token_type")
        if not hmac.compare_digest(token.encode(), right.encode()):
            raise SlackError("invalid_auth")
        if self._workspace.settings.revoked and not app_level:
            raise SlackError("token_revoked")

    def _check_config_token(self, token: str) -> None:
        credentials = self._workspace.credentials
        if token in (credentials.bot_token, credentials.app_token):
            raise SlackError("not_allowed_token_type")
        if not hmac.compare_digest(token.encode(), credentials.config_token.encode()):
            raise SlackError("invalid_auth")

    def _record(
        self, name: str, args: Json, body: Json | web.Response, *, status: int | None, started: float
    ) -> None:
        answer = body if isinstance(body, dict) else body.text
        ok = isinstance(body, dict) and body.get("ok") is True and status == 200
        error = body.get("error") if isinstance(body, dict) else None
        self._workspace.traffic.record(
            "web_api",
            name,
            at=self._workspace.clock.now(),
            ms=(time.perf_counter() - started) * 1000,
            ok=ok,
            status=status,
            error=None if ok else (error or ("cut" if status is None else f"http_{status}")),
            request=args,
            answer=answer,
        )


async def _apply(fault: Fault | None) -> web.Response | None:
    """What a fault answers instead of the method; None lets the method run, after the delay."""
    if fault is None:
        return None
    await asyncio.sleep(fault.seconds)
    match fault.kind:
        case "error":
            raise SlackError(fault.error)
        case "rate_limited":
            raise SlackError("ratelimited", retry_after=fault.retry_after)
        case "status":
            page = f"<html><body><h1>{fault.status}</h1></body></html>"
            return web.Response(text=page, status=fault.status, content_type="text/html")
        case "garbage":
            return web.Response(text='{"ok": true, "ts": "17', content_type="application/json")
        case "cut":
            return web.Response()
    return None
