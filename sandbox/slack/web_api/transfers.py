"""The addresses that Slack issues: `response_url`s, uploads and files."""

from __future__ import annotations

import asyncio
import json
import mimetypes
import time
from typing import Any

from aiohttp import BodyPartReader, web

from sandbox.slack.state.errors import SlackError
from sandbox.slack.state.faults import Fault
from sandbox.slack.state.model import Json
from sandbox.slack.web_api.endpoint import abort
from sandbox.slack.workspace import Workspace

_PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
_STATUS = {"expired_url": 404, "used_url": 404, "ratelimited": 429}


class Transfers:
    """Requests whose address is their permission."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def respond(self, request: web.Request) -> web.StreamResponse:
        """`POST` to a response_url."""
        started = time.perf_counter()
        fault = self._workspace.faults.take("response_url")
        body: Any = None
        headers: dict[str, str] = {}
        try:
            body = await _payload(request)
            status, answer = await self._post(request, body, fault)
        except SlackError as error:
            status, answer = _STATUS.get(error.error, 400), json.dumps(error.body())
            headers = error.headers()
        self._workspace.traffic.record(
            "response_url",
            "response_url",
            at=self._workspace.clock.now(),
            ms=(time.perf_counter() - started) * 1000,
            ok=status == 200,
            status=status,
            error=None if status == 200 else answer,
            request=body,
            answer=answer,
        )
        if fault is not None and fault.cuts:
            return abort(request)
        return web.Response(status=status, text=answer, headers=headers)

    async def _post(self, request: web.Request, body: Any, fault: Fault | None) -> tuple[int, str]:
        """Status and text, after what a fault asks for; a connection that is cut at once answers nothing."""
        if fault is not None:
            await asyncio.sleep(fault.seconds)
            if fault.kind in ("status", "cut"):
                return fault.status, "fault"
        workspace = self._workspace
        name = f"{request.match_info['number']}/{request.match_info['key']}"
        known = workspace.response_urls.find(name)
        workspace.installation(known.app.id).rate_limiter.take(
            f"answers in {known.channel}",
            rate=workspace.settings.answers_per_second,
            burst=workspace.settings.answers_burst,
            now=workspace.clock.now(),
        )
        workspace.response_urls.receive(name, body)
        return 200, "ok"

    def _file(self, request: web.Request) -> Json | None:
        known = self._workspace.world.files.get(request.match_info["file"])
        return known if known and known["key"] == request.match_info["key"] else None

    async def upload(self, request: web.Request) -> web.StreamResponse:
        """`POST` the bytes of a file, raw or as a form."""
        known = self._file(request)
        if known is None:
            return web.Response(status=404, text="unknown upload")
        data = await _bytes(request)
        if len(data) != known["size"]:
            return web.Response(status=400, text="length mismatch")
        self._workspace.world.contents[known["id"]] = data
        return web.Response(text=f"OK - {len(data)}")

    async def download(self, request: web.Request) -> web.StreamResponse:
        """A file; only plain pictures are shown in place, everything else is saved."""
        known, contents = self._file(request), self._workspace.world.contents
        if known is None or known["id"] not in contents:
            return web.Response(status=404, text="unknown file")
        kind, encoding = mimetypes.guess_type(known["name"], strict=False)
        headers = {"Content-Security-Policy": "sandbox; default-src 'none'"}
        if kind not in _PICTURES or encoding is not None:
            kind, headers["Content-Disposition"] = "application/octet-stream", "attachment"
        return web.Response(body=contents[known["id"]], content_type=kind, headers=headers)


async def _payload(request: web.Request) -> Any:
    raw = await request.read()
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise SlackError("invalid_payload") from error


async def _bytes(request: web.Request) -> bytes:
    if not request.content_type.startswith("multipart/"):
        return await request.read()
    async for part in await request.multipart():
        if isinstance(part, BodyPartReader) and part.filename:
            return bytes(await part.read())
    return b""
