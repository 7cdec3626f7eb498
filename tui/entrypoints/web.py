"""The dashboard in browsers: one poller, and a viewer for each tab that follows it.

Reachable only from this machine, with a printed one-time link, and only by its own pages: other host names and other
sites are rejected.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shlex
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from tui.app.dashboard import utc_now
from tui.app.run import DashboardOptions, start_settings_of
from tui.entrypoints.relay import Relay
from tui.entrypoints.web_access import OneTimeToken, kept_session, with_session
from tui.feed.poller import PollIntervals
from tui.feed.startup import OpenRecords, ServiceFeed

if TYPE_CHECKING:
    from shared.settings import Settings

logger = logging.getLogger(__name__)

HOST = "127.0.0.1"
NAMES = frozenset({HOST, "localhost"})
MOST_VIEWERS = 12
"""Each is a process of some 60 MB; one more takes the place of the one that was used longest ago."""
TIMEOUT = 3.0
"""Seconds that a viewer has to end in order."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


async def serve(
    settings: Settings,
    *,
    port: int,
    stop: asyncio.Event,
    announce: Callable[[str], object],
    workspace: str | None = None,
    wall: bool = False,
    open_records: OpenRecords | None = None,
) -> None:
    """Serve until `stop`; port 0 takes a free one. Raises OSError.

    `announce` gets a link for one browser, and a new one each time a link is used.
    """
    listening = socket.create_server((HOST, port))
    port = listening.getsockname()[1]
    link = OneTimeToken(lambda token: announce(f"http://{HOST}:{port}/?token={token}"))
    with tempfile.TemporaryDirectory(prefix="outreach-web-") as folder:
        path = Path(folder) / "feed"
        greeting = _greeting(
            settings, workspace=workspace, wall=wall, shares_replies=open_records is not None
        )
        relay = Relay(greeting)
        polling = _polling(settings, relay, workspace=workspace, open_records=open_records, stop=stop)
        async with relay.serving(path), polling:
            viewer = (sys.executable, "-P", "-m", "outreach_ops", "dashboard", "--follow", str(path))
            session = await asyncio.to_thread(kept_session, settings.state_dir)
            access = with_session(session, link, port=port)
            pages = _Pages(command=f"exec {shlex.join(viewer)}", access=access)
            runner = web.AppRunner(pages.application(), access_log=None, shutdown_timeout=TIMEOUT)
            await runner.setup()
            try:
                await web.SockSite(runner, listening).start()
                announce(f"http://{HOST}:{port}/?token={link.token}")
                await stop.wait()
            finally:
                await pages.aclose()
                await runner.cleanup()


def _greeting(
    settings: Settings, *, workspace: str | None, wall: bool, shares_replies: bool
) -> Mapping[str, Any]:
    """What a viewer must know; it goes over a socket that only the owner can reach, and holds no key."""
    wishes = DashboardOptions.of(settings.dashboard)
    starts = start_settings_of(settings, workspace)
    return {
        "workspaces": [
            {
                "name": start.workspace,
                "healthy": settings.workspace(start.workspace).thresholds.healthy,
                "bad": settings.workspace(start.workspace).thresholds.bad,
                "shares_replies": shares_replies and start.has_bot,
            }
            for start in starts
        ],
        "history": settings.history_database.render_as_string(hide_password=False),
        "intervals": dict(PollIntervals.of(settings.poll_seconds, settings.dashboard).seconds),
        "theme": wishes.theme,
        "ascii": wishes.ascii,
        "keys": dict(wishes.keys or {}),
        "wall": wall,
    }


@contextlib.asynccontextmanager
async def _polling(
    settings: Settings,
    relay: Relay,
    *,
    workspace: str | None,
    open_records: OpenRecords | None,
    stop: asyncio.Event,
) -> AsyncIterator[None]:
    """The only ones who ask the service: one poller for each workspace, each with its own budget."""
    feeds: list[ServiceFeed] = []
    for start_settings in start_settings_of(settings, workspace):
        feed = ServiceFeed(
            lambda: settings, start_settings=start_settings, open_records=open_records, now=utc_now
        )
        relay.feeds[start_settings.workspace] = feed
        feed.start(partial(relay.put, start_settings.workspace), lambda _: stop.set())
        feeds.append(feed)
    try:
        yield
    finally:
        for feed in feeds:
            await feed.aclose()


class _Pages:
    """The page, its assets out of the package, and a viewer for each connection."""

    def __init__(self, *, command: str, access: Any) -> None:
        self._command = command
        self._access = access
        own = files("tui.entrypoints")
        self._page = own.joinpath("web.html").read_text("utf-8")
        self._script = own.joinpath("reconnect.js").read_text("utf-8")
        self._sockets: dict[web.WebSocketResponse, float] = {}
        """And when each was used last."""
        self._downloads = DownloadManager()

    def application(self) -> web.Application:
        app = web.Application(middlewares=[_only_own, self._access])
        static = Path(str(files("textual_serve"))) / "static"
        app.add_routes(
            [
                web.get("/", self._index),
                web.get("/ws", self._viewer),
                web.get(r"/ws/rotate/{seconds:\d{1,4}}", self._viewer),
                web.get("/reconnect.js", self._reconnect),
                web.get("/download/{key}", self._download),
                web.static("/static", static),
            ]
        )
        return app

    async def aclose(self) -> None:
        for open_socket in list(self._sockets):
            await open_socket.close()

    async def _index(self, request: web.Request) -> web.Response:
        size = request.query.get("fontsize", "")
        size = size if size.isascii() and size.isdigit() and 6 <= int(size) <= 96 else "16"
        turn = request.query.get("rotate", "")
        is_turning = turn.isascii() and turn.isdigit() and len(turn) < 5
        viewer = f"ws://{request.host}/ws" + (f"/rotate/{turn}" if is_turning else "")
        page = self._page.replace("{socket}", viewer).replace("{fontsize}", size)
        return web.Response(text=page, content_type="text/html", headers=HEADERS)

    async def _reconnect(self, _: web.Request) -> web.Response:
        return web.Response(text=self._script, content_type="text/javascript", headers=HEADERS)

    async def _download(self, request: web.Request) -> web.StreamResponse:
        """What a viewer exported, once, by the key that its own tab was told."""
        key = request.match_info["key"]
        try:
            made = await self._downloads.get_download_metadata(key)
        except KeyError:
            raise web.HTTPNotFound(text="This file doesn't exist, or no longer exists.") from None
        headers = {
            "Content-Type": "application/zip",
            "Content-Disposition": f'attachment; filename="{made.file_name}"',
        }
        response = web.StreamResponse(headers={**HEADERS, **headers})
        await response.prepare(request)
        async for chunk in self._downloads.download(key):
            await response.write(chunk)
        await response.write_eof()
        return response

    async def _viewer(self, request: web.Request) -> web.WebSocketResponse:
        while len(self._sockets) >= MOST_VIEWERS:  # the oldest viewer is closed
            idle = min(self._sockets, key=lambda one: self._sockets[one])
            del self._sockets[idle]
            await idle.close()
        opened = web.WebSocketResponse(heartbeat=15, max_msg_size=65_536)
        await opened.prepare(request)
        self._sockets[opened] = time.monotonic()
        seconds = request.match_info.get("seconds")
        service = AppService(
            self._command + (f" --rotate {seconds}" if seconds else ""),
            write_bytes=opened.send_bytes,
            write_str=opened.send_str,
            close=partial(_close, opened),
            download_manager=self._downloads,
        )
        try:
            await service.start(_cells(request, "width", 80), _cells(request, "height", 24))
            await _pass_on(opened, service, used=partial(self._used, opened))
        finally:
            self._sockets.pop(opened, None)
            await _end(service)
        return opened

    def _used(self, opened: web.WebSocketResponse) -> None:
        if opened in self._sockets:
            self._sockets[opened] = time.monotonic()


async def _close(opened: web.WebSocketResponse) -> None:
    await opened.close()


async def _pass_on(opened: web.WebSocketResponse, service: AppService, *, used: Callable[[], object]) -> None:
    """What a browser sends: keys, its size, and whether it is looked at."""
    async for message in opened:
        if message.type is not WSMsgType.TEXT:
            continue
        match message.json():
            case ["stdin", str(text)]:
                used()
                await service.send_bytes(text.encode())
            case ["resize", {"width": int(width), "height": int(height)}]:
                await service.set_terminal_size(_bounded(width), _bounded(height))
            case ["ping", data]:
                await opened.send_json(["pong", data])
            case ["blur"] | ["blur", _]:
                await service.blur()
            case ["focus"] | ["focus", _]:
                await service.focus()


async def _end(service: AppService) -> None:
    """In order, or else the hard way: no viewer outlives its tab."""
    process = service._process  # noqa: SLF001 # there is no public way to end one that does not answer
    try:
        async with asyncio.timeout(TIMEOUT):
            await service.stop()
    except (TimeoutError, OSError):
        logger.warning("a viewer ended with an error")
    if process and process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    if process:
        await process.wait()


@web.middleware
async def _only_own(request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
    """Refuse other names for this machine (rebinding), and sockets that pages of other sites open."""
    if _parts(f"//{request.host}").hostname not in NAMES:
        raise web.HTTPForbidden(text="This dashboard only accepts requests to 127.0.0.1 and localhost.")
    origin = request.headers.get("Origin")
    if origin is not None and _parts(origin).netloc != request.host:
        raise web.HTTPForbidden(text="Only the dashboard's own page can connect here.")
    answer: web.StreamResponse = await handler(request)
    return answer


def _parts(address: str) -> SplitResult:
    """The parts of an address from outside; empty ones where it cannot be parsed."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def _cells(request: web.Request, name: str, default: int) -> int:
    text = request.query.get(name, "")
    return _bounded(int(text)) if text.isascii() and text.isdigit() and len(text) < 6 else default


def _bounded(cells: int) -> int:
    return min(max(cells, 1), 500)
