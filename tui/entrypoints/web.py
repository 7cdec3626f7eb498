"""The dashboard in browsers: one poller, and a viewer for each tab that follows it.

Reachable only from this machine unless it is set otherwise, with a printed one-time link or through a proxy that signs
people in, and only by its own pages: other host names and other sites are rejected.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import shlex
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from shared.domain.card import Tone
from shared.domain.health import WORST_FIRST
from shared.domain.workspace_verdict import SERVICE
from shared.text.sanitize import visible
from tui.app.dashboard import utc_now
from tui.app.run import DashboardOptions, start_settings_of
from tui.entrypoints.relay import Relay
from tui.entrypoints.web_access import (
    OPERATOR,
    PAGE_HEADERS,
    PERSON,
    SESSION,
    SIGN_IN,
    SIGN_OUT,
    Access,
    OneTimeToken,
    Session,
    Sessions,
    WebOptions,
)
from tui.feed.poller import PollIntervals, Tick
from tui.feed.startup import OpenRecords, ServiceFeed
from tui.theme.palette import UNICODE

if TYPE_CHECKING:
    from shared.settings import Settings

logger = logging.getLogger(__name__)

HOST = "127.0.0.1"
NAMES = frozenset({HOST, "localhost"})
MOST_VIEWERS = 12
"""Each is a process of some 60 MB; one more takes the place of the one that was used longest ago."""
TIMEOUT = 3.0
"""Seconds that a viewer has to end in order."""
TITLE = "Outreach dashboard"


async def serve(
    settings: Settings,
    *,
    port: int,
    stop: asyncio.Event,
    announce: Callable[[str, str], object],
    workspace: str | None = None,
    wall: bool = False,
    open_records: OpenRecords | None = None,
) -> None:
    """Serve until `stop`; port 0 takes a free one. Raises OSError.

    `announce` gets a link for one browser with the name of its person, and a new one each time a link is used.
    """
    options = WebOptions.of(settings.dashboard)
    family = socket.AF_INET6 if ":" in options.listen else socket.AF_INET
    listening = socket.create_server((options.listen, port), family=family)
    port = listening.getsockname()[1]

    def tell(name: str, token: str) -> None:
        announce(f"http://{options.link_host}:{port}/?token={token}", name)

    links = {one.name: OneTimeToken(partial(tell, one.name)) for one in options.owners}
    with tempfile.TemporaryDirectory(prefix="outreach-web-") as folder:
        path = Path(folder) / "feed"
        greeting = _greeting(
            settings, workspace=workspace, wall=wall, shares_replies=open_records is not None
        )
        relay = Relay(greeting)
        titles = Titles()
        polling = _polling(settings, relay, titles, workspace=workspace, open_records=open_records, stop=stop)
        async with relay.serving(path), polling:
            viewer = (sys.executable, "-P", "-m", "outreach_ops", "dashboard", "--follow", str(path))
            seconds = options.session_hours * 3600
            sessions = await asyncio.to_thread(Sessions, settings.state_dir, seconds=seconds)
            pages = _Pages(command=viewer, titles=titles, options=options)
            access = Access(options, sessions=sessions, links=links, port=port, ended=pages.end_session)
            runner = web.AppRunner(pages.application(access), access_log=None, shutdown_timeout=TIMEOUT)
            await runner.setup()
            try:
                await web.SockSite(runner, listening).start()
                for name, link in links.items():
                    tell(name, link.token)
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
        "read_only": wishes.read_only,
    }


@contextlib.asynccontextmanager
async def _polling(
    settings: Settings,
    relay: Relay,
    titles: Titles,
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
        feed.start(partial(_deliver, relay, titles, start_settings.workspace), lambda _: stop.set())
        feeds.append(feed)
    try:
        yield
    finally:
        for feed in feeds:
            await feed.aclose()


def _deliver(relay: Relay, titles: Titles, workspace: str, tick: Tick) -> None:
    relay.put(workspace, tick)
    titles.put(workspace, tick)


class Titles:
    """The title of the pages: the worst verdict of all workspaces, so that a tab in the background tells it."""

    def __init__(self) -> None:
        self._verdicts: dict[str, tuple[Tone, str]] = {}
        self.changed: Callable[[str], object] = lambda _: None

    @property
    def text(self) -> str:
        if not self._verdicts:
            return TITLE
        name = min(self._verdicts, key=lambda one: WORST_FIRST.index(self._verdicts[one][0]))
        tone, text = self._verdicts[name]
        where = f"{name}: " if len(self._verdicts) > 1 else ""
        return visible(f"{UNICODE.of(tone)} {where}{text} · Outreach")

    def put(self, workspace: str, tick: Tick) -> None:
        """Take another look at a workspace; what was only recalled isn't the present."""
        if tick.beats == 0 and not tick.snapshot.inboxes.failed_since:
            return
        before, board = self.text, tick.board
        failure = next((one for one in board.conditions if one.key == SERVICE), None)
        verdict = (failure.tone, failure.summary) if failure else (board.verdict.tone, board.verdict.text)
        self._verdicts[workspace] = verdict
        if self.text != before:
            self.changed(self.text)


class _Opened(NamedTuple):
    """A page that is open: when it was used last, and the session that it belongs to."""

    used_at: float
    session: str


class _Pages:
    """The page, its assets out of the package, and a viewer for each connection."""

    def __init__(self, *, command: Sequence[str], titles: Titles, options: WebOptions) -> None:
        self._command = command
        self._titles = titles
        self._options = options
        self._own = files("tui.entrypoints")
        self._page = self._own.joinpath("web.html").read_text("utf-8")
        self._sockets: dict[web.WebSocketResponse, _Opened] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._downloads = DownloadManager()
        titles.changed = self._tell_title

    def application(self, access: Access) -> web.Application:
        app = web.Application(middlewares=[self._only_own, access.middleware])
        static = Path(str(files("textual_serve"))) / "static"
        app.add_routes(
            [
                web.get("/", self._index),
                web.get("/ws", self._viewer),
                web.get(r"/ws/rotate/{seconds:\d{1,4}}", self._viewer),
                web.get("/page.js", partial(self._asset, "page.js", "text/javascript")),
                web.get("/page.css", partial(self._asset, "page.css", "text/css")),
                web.post(SIGN_IN, access.sign_in),
                web.post(SIGN_OUT, access.sign_out),
                web.get("/download/{key}", self._download),
                web.static("/static", static),
            ]
        )
        return app

    async def aclose(self) -> None:
        for open_socket in list(self._sockets):
            await open_socket.close()

    def end_session(self, key: str) -> None:
        """Close the pages of a session."""
        for opened in [one for one, about in self._sockets.items() if about.session == key]:
            self._in_background(opened.close())

    def _tell_title(self, text: str) -> None:
        for opened in self._sockets:
            self._in_background(_send_title(opened, text))

    def _in_background(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.create_task(_quietly(work), name="web-page")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _index(self, request: web.Request) -> web.Response:
        size = request.query.get("fontsize", "")
        size = size if size.isascii() and size.isdigit() and 6 <= int(size) <= 96 else ""
        turn = request.query.get("rotate", "")
        is_turning = turn.isascii() and turn.isdigit() and len(turn) < 5
        person = request[PERSON]
        values = {
            "title": escape(self._titles.text),
            "socket": "/ws" + (f"/rotate/{turn}" if is_turning else ""),
            "fontsize": size,
            "person": escape(f"{person.name} · {person.role}" if person.name else person.role),
            "hidden": " hidden" if is_turning else "",
            "stays": "" if request[SESSION] else " hidden",  # whom a proxy signs in, it signs out
        }
        page = re.sub(r"\{(\w+)\}", lambda found: values[found[1]], self._page)
        return web.Response(text=page, content_type="text/html", headers=PAGE_HEADERS)

    async def _asset(self, name: str, kind: str, _: web.Request) -> web.Response:
        text = self._own.joinpath(name).read_text("utf-8")
        return web.Response(text=text, content_type=kind, headers=PAGE_HEADERS)

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
        response = web.StreamResponse(headers={**PAGE_HEADERS, **headers})
        await response.prepare(request)
        async for chunk in self._downloads.download(key):
            await response.write(chunk)
        await response.write_eof()
        return response

    async def _viewer(self, request: web.Request) -> web.WebSocketResponse:
        while len(self._sockets) >= MOST_VIEWERS:  # the oldest viewer is closed
            idle = min(self._sockets, key=lambda one: self._sockets[one].used_at)
            del self._sockets[idle]
            await idle.close()
        opened = web.WebSocketResponse(heartbeat=15, max_msg_size=65_536)
        await opened.prepare(request)
        session = request[SESSION]
        self._sockets[opened] = _Opened(time.monotonic(), session.key if session else "")
        await _send_title(opened, self._titles.text)
        service = AppService(
            f"exec {shlex.join(self._words(request))}",
            write_bytes=opened.send_bytes,
            write_str=opened.send_str,
            close=partial(_close, opened),
            download_manager=self._downloads,
        )
        try:
            await service.start(_cells(request, "width", 80), _cells(request, "height", 24))
            async with asyncio.timeout(self._seconds_left(session)):
                await _pass_on(opened, service, used=partial(self._used, opened))
        except TimeoutError:  # the session has ended: the page asks to sign in
            await opened.close()
        finally:
            self._sockets.pop(opened, None)
            await _end(service)
        return opened

    def _seconds_left(self, session: Session | None) -> float:
        """How long a page may stay open; one whom a proxy signed in must show up there again after as long."""
        return session.until - time.time() if session else self._options.session_hours * 3600

    def _words(self, request: web.Request) -> list[str]:
        """The command of a viewer. Its socket is the owner's alone, so it needs no proof of who it is for."""
        person = request[PERSON]
        words = [*self._command]
        if seconds := request.match_info.get("seconds"):
            words += ["--rotate", seconds]
        elif person.role == OPERATOR:
            words += ["--operator", person.name]
        return words

    def _used(self, opened: web.WebSocketResponse) -> None:
        if opened in self._sockets:
            self._sockets[opened] = self._sockets[opened]._replace(used_at=time.monotonic())

    @property
    def _only_own(self) -> Any:
        """Refuse other names for this machine (rebinding), and sockets that pages of other sites open."""
        names = NAMES.union(one.casefold() for one in (*self._options.hosts, self._options.listen))

        @web.middleware
        async def check(request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
            if _parts(f"//{request.host}").hostname not in names:
                raise web.HTTPForbidden(text=f"This dashboard only accepts requests to {_listed(names)}.")
            origin = request.headers.get("Origin")
            if origin is not None and _parts(origin).netloc != request.host:
                raise web.HTTPForbidden(text="Only the dashboard's own page can connect here.")
            answer: web.StreamResponse = await handler(request)
            return answer

        return check


def _listed(names: Iterable[str]) -> str:
    first, *others = sorted(names)
    return f"{', '.join(others)} and {first}" if others else first


async def _send_title(opened: web.WebSocketResponse, text: str) -> None:
    await opened.send_json(["title", text])


async def _quietly(work: Coroutine[Any, Any, object]) -> None:
    """A page that is gone meanwhile needs nothing more."""
    with contextlib.suppress(OSError, RuntimeError):
        await work


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
