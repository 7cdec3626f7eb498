"""The addresses that Slack hands out: to answer through, to upload to, to look at a file."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

from aiohttp import BodyPartReader, web

from sandbox.slack.state.errors import Refusal
from sandbox.slack.state.faults import Fault
from sandbox.slack.web_api.workspace import Workspace

_PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
_STATUS = {"expired_url": 404, "used_url": 404, "ratelimited": 429}


class Transfers:
    """Requests whose address is their permission."""

    def __init__(self, workspace: Callable[[], Workspace]) -> None:
        self._workspace = workspace

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """`POST` to a response_url."""
        started = time.perf_counter()
        space = self._workspace()
        fault = space.faults.take("response_url")
        body: Any = None
        headers: dict[str, str] = {}
        try:
            body = await _payload(request)
            status, answer = await self._answered(request, body, fault)
        except Refusal as refusal:
            status, answer = _STATUS.get(refusal.error, 400), json.dumps(refusal.body())
            if refusal.retry_after is not None:
                headers["Retry-After"] = str(refusal.retry_after)
        space.traffic.record(
            "response_url",
            "response_url",
            at=space.world.clock.now(),
            ms=(time.perf_counter() - started) * 1000,
            ok=status == 200,
            status=status,
            error=None if status == 200 else answer,
            request=body,
            answer=answer,
        )
        if _cuts(fault) and request.transport is not None:
            request.transport.abort()
        return web.Response(status=status, text=answer, headers=headers)

    async def _answered(self, request: web.Request, body: Any, fault: Fault | None) -> tuple[int, str]:
        """Status and text, after what a fault asks for; a connection that is cut at once answers nothing."""
        if fault is not None:
            await asyncio.sleep(fault.seconds)
            if fault.kind in ("status", "cut"):
                return fault.status, "fault"
        space = self._workspace()
        name = f"{request.match_info['number']}/{request.match_info['key']}"
        rate, burst = space.settings.answers_per_second, space.settings.answers_burst
        channel = space.replies.channel_of(name)
        space.buckets.take(f"answers in {channel}", rate=rate, burst=burst, now=space.world.clock.now())
        space.replies.receive(name, body)
        return 200, "ok"

    async def upload(self, request: web.Request) -> web.StreamResponse:
        """`POST` the bytes of a file, raw or as a form."""
        world = self._workspace().world
        known = world.files.get(request.match_info["file"])
        if known is None or known["key"] != request.match_info["key"]:
            return web.Response(status=404, text="unknown upload")
        data = await _bytes(request)
        if len(data) != known["size"]:
            return web.Response(status=400, text="length mismatch")
        world.contents[known["id"]] = data
        return web.Response(text=f"OK - {len(data)}")

    async def download(self, request: web.Request) -> web.StreamResponse:
        """A file; only plain pictures are shown in place, everything else is saved."""
        world = self._workspace().world
        known = world.files.get(request.match_info["file"])
        if known is None or known["key"] != request.match_info["key"] or known["id"] not in world.contents:
            return web.Response(status=404, text="unknown file")
        suffix = f".{known['name'].rpartition('.')[2].lower()}"
        picture = _PICTURES.get(suffix)
        headers = {"Content-Security-Policy": "sandbox; default-src 'none'"}
        if picture is None:
            headers["Content-Disposition"] = "attachment"
        kind = picture or "application/octet-stream"
        return web.Response(body=world.contents[known["id"]], content_type=kind, headers=headers)


def _cuts(fault: Fault | None) -> bool:
    return fault is not None and fault.kind in ("cut", "accept_then_cut")


async def _payload(request: web.Request) -> Any:
    raw = await request.read()
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Refusal("invalid_payload") from error


async def _bytes(request: web.Request) -> bytes:
    if not request.content_type.startswith("multipart/"):
        return await request.read()
    async for part in await request.multipart():
        if isinstance(part, BodyPartReader) and part.filename:
            return bytes(await part.read())
    return b""
