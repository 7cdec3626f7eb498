"""The front of the Web API: reads a call as SDKs send it, checks the token, applies faults, answers."""

from __future__ import annotations

import hmac
import json
import mimetypes
import time
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from sandbox.faults import Cut
from sandbox.slack import response_urls
from sandbox.slack.errors import SlackError, refuse_if
from sandbox.slack.events import Events
from sandbox.slack.faults import RESPONSE_URL, SlackFault
from sandbox.slack.model import Json
from sandbox.slack.requests import body_of, json_of
from sandbox.slack.sockets import Sockets
from sandbox.slack.web_api.call import Call, Method
from sandbox.slack.web_api.methods import METHODS
from sandbox.slack.workspace import Workspace

_NESTED = {"blocks", "attachments", "view", "metadata", "files"}
"""Arguments that are JSON inside a form field."""
_STATUS = {"expired_url": 404, "used_url": 404, "ratelimited": 429}
_PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}


class Endpoint:
    """The addresses that a bot calls."""

    def __init__(self, workspace: Workspace, events: Events, sockets: Sockets) -> None:
        self._workspace = workspace
        self._events = events
        self._sockets = sockets

    async def call(self, request: Request) -> Response:
        """Answer `POST` or `GET /api/{method}`."""
        started = time.perf_counter()
        name = request.path_params["method"]
        args: Json = {}
        fault: SlackFault | None = None
        answer: Response | None = None
        status, headers = 200, {}
        try:
            unreadable = None
            try:
                args = await _arguments(request)
            except SlackError as error:
                unreadable = error
            fault = self._workspace.faults.take(lambda one: one.matches(name, args))
            answer = await fault.apply() if fault else None
            if unreadable:
                raise unreadable
            body: Any = {} if answer else self._run(name, args, _token(request, args))
        except SlackError as error:
            body, headers = error.body(), error.headers()
            status = 429 if headers else 200
        if answer is not None:
            body, status = bytes(answer.body).decode(), answer.status_code
        else:
            answer = JSONResponse(body, status_code=status, headers=headers)
        cut = fault is not None and fault.cuts
        ok = isinstance(body, dict) and body["ok"] is True and not cut
        reason = body.get("error") if isinstance(body, dict) else f"http_{status}"
        self._record(
            "web_api",
            name,
            started,
            ok=ok,
            status=None if cut else status,
            error=None if ok else "cut" if cut else reason,
            request=args,
            answer=body,
        )
        answer.headers["X-OAuth-Scopes"] = ",".join(sorted(self._workspace.settings.scopes))
        return Cut() if cut else answer

    def _record(self, direction: Any, name: str, started: float, **details: Any) -> None:
        ms = (time.perf_counter() - started) * 1000
        now = self._workspace.clock.now()
        self._workspace.traffic.record(direction, name, ms=ms, at=now, **details)

    def _run(self, name: str, args: Json, token: str) -> Json:
        method = METHODS.get(name)
        self._check_token(method, token)
        if method is None:
            raise SlackError("unknown_method", extra={"req_method": name})
        workspace = self._workspace
        call = Call(
            method=method,
            args=args,
            workspace=workspace,
            events=self._events,
            sockets=self._sockets,
        )
        call.require_scope(method.scope)
        factor, now = workspace.settings.tier_factor, workspace.clock.now()
        workspace.limits.take_call(name, tier=method.tier, factor=factor, now=now)
        return {"ok": True, **method.run(call)}

    def _check_token(self, method: Method | None, token: str) -> None:
        """Raise `SlackError` unless this is a token of the kind that the method takes."""
        wanted = method.takes if method else "bot"
        if wanted == "nothing":
            return
        refuse_if(not token, "not_authed")
        credentials = self._workspace.credentials
        known = {
            "bot": self._workspace.token,
            "app": credentials.app_token,
            "config": credentials.config_token,
        }
        kinds = [kind for kind, one in known.items() if _is_same(token, one)]
        refuse_if(not kinds, "invalid_auth")
        if kinds != [wanted]:
            raise SlackError("invalid_auth" if wanted == "bot" else "not_allowed_token_type")
        refuse_if(not self._workspace.installed, "invalid_auth")
        refuse_if(wanted == "bot" and self._workspace.revoked, "token_revoked")

    async def respond(self, request: Request) -> Response:
        """Answer `POST` to a `response_url`."""
        started = time.perf_counter()
        fault = self._workspace.faults.take(lambda one: one.matches(RESPONSE_URL, {}))
        body: Any = None
        status, text, headers = 200, "ok", {}
        replaced: Response | None = None
        try:
            replaced = await fault.apply() if fault else None
            if replaced is None:
                try:
                    body = await json_of(request)
                except ValueError as error:
                    raise SlackError("invalid_payload") from error
                name = f"{request.path_params['number']}/{request.path_params['key']}"
                response_urls.receive(self._workspace, name, body)
        except SlackError as error:
            status, headers = _STATUS.get(error.error, 400), error.headers()
            text = json.dumps(error.body())
        answer = replaced or PlainTextResponse(text, status_code=status, headers=headers)
        status = answer.status_code
        self._record(
            "response_url",
            RESPONSE_URL,
            started,
            ok=status == 200,
            status=status,
            error=None if status == 200 else text,
            request=body,
            answer=text,
        )
        return Cut() if fault is not None and fault.cuts else answer

    def _file(self, request: Request) -> Json | None:
        known = self._workspace.files.get(request.path_params["file"])
        return known if known and known["key"] == request.path_params["key"] else None

    async def upload(self, request: Request) -> Response:
        """Take the bytes of a file."""
        known = self._file(request)
        if known is None:
            return PlainTextResponse("unknown upload", status_code=404)
        data = await body_of(request)
        if len(data) != known["size"]:
            return PlainTextResponse("length mismatch", status_code=400)
        known["bytes"] = data
        return PlainTextResponse(f"OK - {len(data)}")

    async def download(self, request: Request) -> Response:
        """Return a file; only plain pictures are shown in place, the rest is saved."""
        known = self._file(request)
        if known is None or "bytes" not in known:
            return PlainTextResponse("unknown file", status_code=404)
        kind, encoding = mimetypes.guess_type(known["name"], strict=False)
        headers = {"Content-Security-Policy": "sandbox; default-src 'none'"}
        if kind not in _PICTURES or encoding is not None:
            kind, headers["Content-Disposition"] = "application/octet-stream", "attachment"
        return Response(known["bytes"], media_type=kind, headers=headers)


async def _arguments(request: Request) -> Json:
    """Return the arguments in the query, a form or JSON. Raises `SlackError` (invalid_json)."""
    args: Json = dict(request.query_params)
    if request.headers.get("content-type", "").startswith("application/json"):
        try:
            body = await json_of(request)
        except ValueError as error:
            raise SlackError("invalid_json") from error
        if not isinstance(body, dict):
            raise SlackError("invalid_json")
        return {**args, **body}
    form = (await body_of(request)).decode(errors="replace")
    args |= dict(parse_qsl(form, keep_blank_values=True))
    return {name: _nested(name, value) for name, value in args.items()}


def _nested(name: str, value: str) -> Any:
    if name not in _NESTED or not value:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value  # it is refused later, as it stands


def _token(request: Request, args: Json) -> str:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return given.strip() if scheme == "Bearer" else str(args.get("token") or "")


def _is_same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(), known.encode())
