"""The page: its files, what it draws, and the live stream that keeps it true."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web

from sandbox.slack.control import reports
from sandbox.slack.pages.access import HEADERS
from sandbox.slack.people.people import ImpossibleActError
from sandbox.slack.state.feed import Happening

if TYPE_CHECKING:
    from sandbox.slack.server import SlackStandIn

FOLDER = Path(__file__).parent / "static"
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
BEAT_SECONDS = 10.0


class Pages:
    """What a browser asks for."""

    def __init__(self, standin: SlackStandIn) -> None:
        self._standin = standin

    def routes(self) -> list[web.RouteDef]:
        """Where everything is."""
        return [
            web.get("/", self.index),
            web.get("/archives/{rest:.*}", self.index),
            web.get("/page/state", self.state),
            web.get("/page/feed", self.feed),
            web.get("/assets/{name}", self.asset),
        ]

    async def index(self, request: web.Request) -> web.StreamResponse:
        return _file(FOLDER / "index.html")

    async def asset(self, request: web.Request) -> web.StreamResponse:
        known = {path.name: path for path in FOLDER.iterdir() if path.suffix in _KINDS}
        found = known.get(request.match_info["name"])
        return _file(found) if found else web.Response(status=404, text="no such file")

    async def state(self, request: web.Request) -> web.StreamResponse:
        """What the page draws, as one person sees it."""
        try:
            return web.json_response(reports.for_page(self._standin, request.query.get("user", "ann")))
        except ImpossibleActError as error:
            return web.json_response({"ok": False, "error": str(error)}, status=400)

    async def feed(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events for one person, from the number after which they know nothing."""
        user = request.query.get("user", "")
        after = _number(request.headers.get("Last-Event-ID") or request.query.get("after"))
        response = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"retry: 700\n\n")
        try:
            async for batch in self._standin.feed.follow(after, beat=BEAT_SECONDS):
                await response.write(_frames(batch, user=user))
        except ConnectionError:
            pass  # the page is gone, or reconnects
        return response


def _number(value: str | None) -> int:
    return int(value) if value and value.isdecimal() else 0


def _frames(batch: list[Happening] | None, *, user: str) -> bytes:
    if batch is None:
        return b'event: gap\ndata: {"kind": "gap", "data": {}}\n\n'
    lines = [
        f"id: {item.number}\ndata: {json.dumps({'kind': item.kind, 'data': item.data})}\n\n"
        for item in batch
        if item.only_for in (None, user)
    ]
    return "".join(lines).encode() or b": beat\n\n"


def _file(path: Path) -> web.Response:
    return web.Response(
        text=path.read_text(encoding="utf-8"), content_type=_KINDS[path.suffix], charset="utf-8"
    )
