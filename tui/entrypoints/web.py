"""The dashboard in browsers: `textual-serve` on this machine's own address, a viewer in a process for each tab.

A viewer only reads. Who may look is up to a proxy that knows its people: whoever reaches the port sees the
account. Requests under a foreign name, and connections from pages of other sites, are refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shlex
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.server import Server

logger = logging.getLogger(__name__)

HOST = "127.0.0.1"
OWN_NAMES = frozenset({HOST, "localhost"})
MOST_VIEWERS = 4
"""Each is a process of some 100 MB that reads the service on the key's budget."""
END_SECONDS = 3.0
"""The time that a viewer has to end in order."""
MOST_CELLS = 500
LARGEST_MESSAGE = 65_536
"""Bytes of what a browser sends at once: keys and sizes."""
TITLE = "Outreach dashboard"
FULL = f"{MOST_VIEWERS} people are looking at the dashboard already. Close another tab, then reload."
HEADERS = {
    # The page's own scripts stand in it; nothing comes from other sites, and none may frame it.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
        "font-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


async def serve(
    command: Sequence[str],
    *,
    port: int,
    stop: asyncio.Event,
    announce: Callable[[str], object],
    hosts: Sequence[str] = (),
) -> None:
    """Serve until `stop`; port 0 takes a free one, and `announce` gets the address. Raises OSError.

    `command` starts a viewer, and `hosts` are the names under which browsers come through a proxy.
    """
    listening = socket.create_server((HOST, port))
    port = listening.getsockname()[1]
    server = DashboardServer(f"exec {shlex.join(command)}", port=port, hosts=hosts)
    # What is cancelled while a viewer ends would leave it running, so there is time for the hard way, too.
    runner = web.AppRunner(await server.application(), access_log=None, shutdown_timeout=3 * END_SECONDS)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        announce(f"http://{HOST}:{port}/")
        await stop.wait()
    finally:
        await server.aclose()
        await runner.cleanup()


def viewer_command(*, config: Path | None, workspace: str | None, wall: bool) -> list[str]:
    """The command of a viewer; `--viewer` makes it read-only whatever the settings say."""
    command = [sys.executable, "-P", "-m", "outreach_ops", "dashboard", "--viewer"]
    command += ["--config", str(config)] if config else []
    command += ["--workspace", workspace] if workspace else []
    return command + (["--wall"] if wall else [])


class DashboardServer(Server):
    """Answers its own names alone, and starts a bounded number of viewers."""

    def __init__(self, command: str, *, port: int, hosts: Sequence[str]) -> None:
        super().__init__(command, host=HOST, port=port, title=TITLE)
        self._names = OWN_NAMES.union(host.casefold() for host in hosts)
        self._open: set[web.WebSocketResponse] = set()

    async def application(self) -> web.Application:
        """The application of `textual-serve`, which is asked nothing before the request was checked."""
        app: web.Application = await self._make_app()
        app.middlewares.append(self._only_own)
        return app

    async def aclose(self) -> None:
        for connection in list(self._open):
            await connection.close()

    async def on_startup(self, app: web.Application) -> None:
        """Print nothing: the address is announced."""

    @property
    def _only_own(self) -> Any:
        """Refuse foreign names for this machine (rebinding), and sockets that pages of other sites open."""

        @web.middleware
        async def check(request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
            if _parts(f"//{request.host}").hostname not in self._names:
                names = ", ".join(sorted(self._names))
                raise web.HTTPForbidden(text=f"This dashboard only answers to {names}.")
            origin = request.headers.get("Origin")
            if origin is not None and _parts(origin).netloc != request.host:
                raise web.HTTPForbidden(text="Only the dashboard's own page can connect here.")
            answer: web.StreamResponse = await handler(request)
            if not answer.prepared:
                answer.headers.update(HEADERS)
            return answer

        return check

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        """The page, whose addresses are those of the browser's own address bar."""
        self._refuse_where_full()
        scheme = "https" if request.headers.get("X-Forwarded-Proto") == "https" else "http"
        # Between this line and the rendered page nothing else runs, so that no other request gets this name.
        self.public_url = f"{scheme}://{request.host}"
        answer: web.StreamResponse = await super().handle_index(request)
        return answer

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """A viewer for as long as the connection is open."""
        self._refuse_where_full()
        opened = web.WebSocketResponse(heartbeat=15, max_msg_size=LARGEST_MESSAGE)
        self._open.add(opened)
        viewer = _Viewer(
            self.command,
            write_bytes=opened.send_bytes,
            write_str=opened.send_str,
            close=opened.close,  # type: ignore[arg-type] # nobody reads what it returns
            download_manager=self.download_manager,
        )
        try:
            await opened.prepare(request)
            await viewer.start(*(_cells(request, *side) for side in (("width", 80), ("height", 24))))
            await self._process_messages(opened, viewer)
        except (AssertionError, AttributeError, LookupError, TypeError, ValueError):
            logger.info("a browser sent a message that can't be read, so its viewer ends")
        finally:
            self._open.discard(opened)
            await viewer.end()
        return opened

    def _refuse_where_full(self) -> None:
        if len(self._open) >= MOST_VIEWERS:
            raise web.HTTPServiceUnavailable(text=FULL)


class _Viewer(AppService):
    """A dashboard in a process of its own, which always ends."""

    async def set_terminal_size(self, width: int, height: int) -> None:
        await super().set_terminal_size(_bounded(width), _bounded(height))

    async def end(self) -> None:
        """End in order, or else the hard way: no viewer outlives its tab."""
        process = self._process
        try:
            async with asyncio.timeout(END_SECONDS):
                await self.stop()
        except (TimeoutError, OSError):
            logger.warning("a viewer ended with an error")
        finally:
            if process:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


def _parts(address: str) -> SplitResult:
    """The parts of an address from outside; empty ones where it can't be parsed."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def _cells(request: web.Request, name: str, default: int) -> int:
    text = request.query.get(name, "")
    return _bounded(int(text)) if text.isascii() and text.isdigit() and len(text) < 6 else default


def _bounded(cells: int) -> int:
    return min(max(cells, 1), MOST_CELLS)
