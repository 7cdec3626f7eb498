"""The Web API's front: reads a call as slack_sdk sends it, checks the token, applies faults, answers as Slack does."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import time
from typing import Any

from aiohttp import web

from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.faults import Fault
from sandbox.slack.state.model import Json
from sandbox.slack.state.settings import Credentials
from sandbox.slack.to_bot.installation import Installation
from sandbox.slack.web_api import (  # noqa: F401 -- they fill the table of methods
    assistant,
    channel_changes,
    chat,
    conversations,
    directory,
    files,
    oauth,
    pins,
    scheduled,
    surfaces,
    unfurls,
    validation,
)
from sandbox.slack.web_api.calls import METHODS, Call, Method
from sandbox.slack.workspace import Workspace
from sandbox.slack.workspaces import Workspaces

_NESTED = {"blocks", "attachments", "view", "metadata", "files", "prompts", "chunks", "unfurls"}


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

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One call: what a fault asks for, the method itself, and the record of both."""
        started = time.perf_counter()
        name = request.match_info["method"]
        args: Json = {}
        status, headers = 200, dict[str, str]()
        fault, unreadable = None, None
        try:
            args = await arguments(request)
        except SlackError as error:
            unreadable = error
        workspace, by = self._caller(_token(request, args))
        workspace.post_scheduled()
        fault = workspace.faults.take(name, args)
        try:
            if unreadable:
                raise unreadable
            replaced = await _apply(fault)
            body = self._run(name, args, request, workspace, by) if replaced is None else replaced
        except SlackError as error:
            body, headers = error.body(), error.headers()
            status = 429 if headers else 200
        if isinstance(body, web.Response):
            status = body.status
        cut = fault is not None and fault.cuts
        _record(workspace, by, name, args, body, status=None if cut else status, started=started)
        if cut:
            return abort(request)
        response = body if isinstance(body, web.Response) else web.json_response(body, status=status)
        response.headers.update(headers)
        response.headers["X-OAuth-Scopes"] = ",".join(sorted(by.settings.scopes))
        return response

    def _caller(self, token: str) -> tuple[Workspace, Installation]:
        """The token's app; for an unknown token, the first app in the first workspace."""
        known, first = self._workspaces, self._workspaces.first
        return known.of_token(token) or known.of_app_token(token) or (first, first.first)

    def _run(
        self, name: str, args: Json, request: web.Request, workspace: Workspace, by: Installation
    ) -> Json:
        method = METHODS.get(name)
        if method is None or method.needs_token:
            self._check_token(method, _token(request, args), by)
        if method is None:
            raise SlackError("unknown_method", extra={"req_method": name})
        if not method.needs_token:
            args = {**args, **_client(request)}
        call = Call(method=method, args=args, workspace=workspace, by=by, workspaces=self._workspaces)
        call.require_scope(method.scope)
        factor = workspace.settings.tier_factor
        by.rate_limiter.take_call(name, tier=method.tier, factor=factor, now=workspace.clock.now())
        return {"ok": True, **method.run(call)}

    def _check_token(self, method: Method | None, token: str, by: Installation) -> None:
        refuse_if(not token, "not_authed")
        is_bot = self._workspaces.of_token(token) is not None
        if method is not None and (method.app_level or method.config_token):
            _check_special_token(method, token, by.credentials, is_bot=is_bot)
        elif not is_bot:
            raise SlackError("invalid_auth")
        elif by.revoked:
            raise SlackError("token_revoked")


def _check_special_token(method: Method, token: str, credentials: Credentials, *, is_bot: bool) -> None:
    """A method that takes an app-level token or an app configuration token, and no other."""
    refuse_if(is_bot or (method.config_token and token == credentials.app_token), "not_allowed_token_type")
    right = credentials.config_token if method.config_token else credentials.app_token
    refuse_if(not hmac.compare_digest(token.encode(), right.encode()), "invalid_auth")


def _token(request: web.Request, args: Json) -> str:
    header = request.headers.get("Authorization", "")
    return header[7:].strip() if header.startswith("Bearer ") else str(args.get("token") or "")


def _client(request: web.Request) -> Json:
    """The app's id and secret, where they come as Basic authentication."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    try:
        client, colon, secret = base64.b64decode(given, validate=True).decode().partition(":")
    except ValueError:
        return {}
    return {"client_id": client, "client_secret": secret} if scheme == "Basic" and colon else {}


def _record(
    workspace: Workspace,
    by: Installation,
    name: str,
    args: Json,
    body: Json | web.Response,
    *,
    status: int | None,
    started: float,
) -> None:
    answer = body if isinstance(body, dict) else body.text
    ok = isinstance(body, dict) and body.get("ok") is True and status == 200
    error = body.get("error") if isinstance(body, dict) else None
    workspace.traffic.record(
        "web_api",
        name,
        at=workspace.clock.now(),
        ms=(time.perf_counter() - started) * 1000,
        ok=ok,
        app=by.app.id,
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
        case "answer":
            return web.json_response(fault.answer)
        case "cut":
            return web.Response()
    return None
