"""The front of the Web API: reads a call as SDKs send it, checks the token, applies faults, answers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from sandbox.asgi_server import body_of, json_of
from sandbox.faults import Cut
from sandbox.slack import response_urls
from sandbox.slack.delivery import Delivery
from sandbox.slack.errors import SlackError, refuse_if
from sandbox.slack.faults import RESPONSE_URL
from sandbox.slack.model import Json
from sandbox.slack.web_api.call import Call, Method
from sandbox.slack.web_api.methods import METHODS
from sandbox.slack.workspace import Workspace

_NESTED = {"blocks", "attachments", "view", "metadata"}
"""Arguments that are JSON inside a form field."""
_STATUS = {"expired_url": 404, "used_url": 404, "ratelimited": 429}


class Endpoint:
    """The addresses that a bot calls."""

    def __init__(self, workspace: Workspace, delivery: Delivery) -> None:
        self._workspace = workspace
        self._delivery = delivery

    async def call(self, request: Request) -> Response:
        """Answer `POST` or `GET /api/{method}`."""
        name = request.path_params["method"]
        args: Json = {}
        unreadable = None
        try:
            args = await _arguments(request)
        except SlackError as error:
            unreadable = error

        def run() -> Response:
            if unreadable is not None:
                raise unreadable
            return JSONResponse({"ok": True, **self._run(name, args, _token(request, args))})

        answer = await self._answered("web_api", name, args, run)
        answer.headers["X-OAuth-Scopes"] = ",".join(sorted(self._workspace.settings.scopes))
        return answer

    async def respond(self, request: Request) -> Response:
        """Answer `POST` to a `response_url`."""
        path = request.path_params
        try:
            body = await json_of(request)
        except ValueError:
            body = None  # it is refused as no object

        def run() -> Response:
            response_urls.receive(self._workspace, f"{path['number']}/{path['key']}", body)
            return PlainTextResponse("ok")

        return await self._answered("response_url", RESPONSE_URL, body, run)

    async def _answered(self, direction: Any, name: str, args: Any, run: Callable[[], Response]) -> Response:
        """Answer a call, or as a fault makes Slack answer it, and record that."""
        started = time.perf_counter()
        known = args if isinstance(args, dict) else {}
        fault = self._workspace.faults.take(lambda one: one.matches(name, known))
        error: str | None = None
        try:
            answer = await fault.apply() if fault else None
            if answer is None:
                answer = run()
            else:
                error = f"http_{answer.status_code}"
        except SlackError as refusal:
            error = refusal.error
            status = 200 if direction == "web_api" else 400
            answer = JSONResponse(
                refusal.body(),
                status_code=_STATUS.get(error, status),
                headers=refusal.headers(),
            )
        # Recorded as Slack saw it: the answer was made, and nobody got it.
        is_cut = fault is not None and fault.cuts
        if is_cut:
            error = "cut"
        self._workspace.traffic.record(
            direction,
            name,
            ms=(time.perf_counter() - started) * 1000,
            ok=error is None,
            status=None if is_cut else answer.status_code,
            error=error,
            request=args,
            answer=_unpacked(bytes(answer.body).decode()),
        )
        return Cut() if is_cut else answer

    def _run(self, name: str, args: Json, token: str) -> Json:
        method = METHODS.get(name)
        self._check_token(method, token)
        if method is None:
            raise SlackError("unknown_method", extra={"req_method": name})
        workspace = self._workspace
        call = Call(method=method, args=args, workspace=workspace, delivery=self._delivery)
        call.require_scope(method.scope)
        workspace.limits.take_call(name, tier=method.tier, factor=workspace.settings.tier_factor)
        return method.run(call)

    def _check_token(self, method: Method | None, token: str) -> None:
        """Raise `SlackError` unless this is a token of the kind that the method takes."""
        wanted = method.takes if method else "bot"
        refuse_if(not token, "not_authed")
        credentials = self._workspace.credentials
        kinds = {
            credentials.bot_token: "bot",
            credentials.app_token: "app",
        }
        kind = kinds.get(token)
        refuse_if(kind is None or (wanted == "bot" and kind != "bot"), "invalid_auth")
        refuse_if(kind != wanted, "not_allowed_token_type")
        refuse_if(wanted == "bot" and self._workspace.revoked, "token_revoked")


async def _arguments(request: Request) -> Json:
    """Return the arguments in the query, a form or JSON. Raises `SlackError` (invalid_json)."""
    args: Json = dict(request.query_params)
    if request.headers.get("content-type", "").startswith("application/json"):
        try:
            return {**args, **await json_of(request)}
        except (ValueError, TypeError) as error:
            raise SlackError("invalid_json") from error
    form = (await body_of(request)).decode(errors="replace")
    args |= dict(parse_qsl(form, keep_blank_values=True))
    nested = {name: _unpacked(args[name]) for name in _NESTED & args.keys()}
    return args | nested


def _unpacked(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value  # it is refused later, as it stands


def _token(request: Request, args: Json) -> str:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return given.strip() if scheme == "Bearer" else str(args.get("token") or "")
