"""The bot's ASGI application: passes each path to its handler."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog
from prometheus_client import generate_latest

from bot.alerts.links import PATH
from bot.http.reply_page import ReplyPage
from bot.http.slack_guard import SlackGuard
from bot.http.webhook import Receive, Scope, Send, WebhookReceiver, answer
from bot.telemetry import metrics

WEBHOOKS = "/webhooks/outreach"
SLACK = "/slack/events"
DETAILS = "outreach.details"

Application = Callable[[Scope, Receive, Send], Awaitable[None]]

log = structlog.get_logger("web")


class AsgiApp:
    """Routes by path; a failure of ours is 500 without a word about its cause."""

    def __init__(
        self,
        *,
        receiver: WebhookReceiver,
        slack: SlackGuard | None,
        replies: ReplyPage,
        default_workspace: str,
        readiness: Callable[[], Awaitable[tuple[bool, Mapping[str, Any]]]],
        update_gauges: Callable[[], Awaitable[None]],
        details_apart: bool = False,
    ) -> None:
        """`details_apart`: what names workspaces and channels is on an address of its own, see `on_details_address`."""
        self._receiver, self._slack, self._replies = receiver, slack, replies
        self._default = default_workspace
        self._readiness, self._update_gauges = readiness, update_gauges
        self._details = {"/healthz": self._healthz, "/readyz": self._readyz, "/metrics": self._metrics}
        plain = {"/healthz": self._healthz, "/readyz": self._plain_readyz}
        self._pages = plain if details_apart else self._details

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path, method = scope["path"], scope["method"]
        if scope.get(DETAILS):
            await self._page(self._details, path, method, send)
            return
        if path.startswith(WEBHOOKS) and path[len(WEBHOOKS) : len(WEBHOOKS) + 1] in {"", "/"}:
            await self._deliver(scope, receive, send)
        elif path == SLACK and self._slack is not None:
            await (self._slack(scope, receive, send) if method == "POST" else answer(send, 405))
        elif path.startswith(PATH):
            await (self._replies(scope, send) if method in {"GET", "HEAD"} else answer(send, 405))
        else:
            await self._page(self._pages, path, method, send)

    async def _page(
        self, pages: Mapping[str, Callable[[Send], Awaitable[None]]], path: str, method: str, send: Send
    ) -> None:
        if path in pages:
            await (pages[path](send) if method in {"GET", "HEAD"} else answer(send, 405))
        else:
            await answer(send, 404)

    async def _deliver(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            return await answer(send, 405)
        name = scope["path"][len(WEBHOOKS) :].strip("/") or self._default
        return await self._receiver(scope, receive, send, workspace=name)

    async def _healthz(self, send: Send) -> None:
        await answer(send, 200, b"ok\n")

    async def _plain_readyz(self, send: Send) -> None:
        ready, _ = await self._readiness()
        body = json.dumps({"ready": ready}).encode()
        await answer(send, 200 if ready else 503, body, content_type=b"application/json")

    async def _readyz(self, send: Send) -> None:
        ready, state = await self._readiness()
        body = json.dumps({"ready": ready, **state}, default=str).encode()
        await answer(send, 200 if ready else 503, body, content_type=b"application/json")

    async def _metrics(self, send: Send) -> None:
        await self._update_gauges()
        body = generate_latest(metrics.REGISTRY)
        await answer(send, 200, body, content_type=b"text/plain; version=0.0.4; charset=utf-8")


def on_details_address(application: Application) -> Application:
    """The application as it answers on the address for metrics: with details, and without anything else."""

    async def marked(scope: Scope, receive: Receive, send: Send) -> None:
        await application({**scope, DETAILS: True}, receive, send)

    return marked


async def unavailable(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer while the database is not there yet: alive, and not ready for anything."""
    if scope["type"] != "http":
        return
    if scope["path"] == "/healthz":
        await answer(send, 200, b"ok\n")
    elif scope["path"] == "/readyz":
        body = json.dumps({"ready": False, "database": "waiting for the database"}).encode()
        await answer(send, 503, body, content_type=b"application/json")
    else:
        await answer(send, 503)


class RequestGate:
    """Hands requests to the application that is running; while it is exchanged, they wait."""

    def __init__(self) -> None:
        self._application: Application = unavailable
        self._open, self._idle = asyncio.Event(), asyncio.Event()
        self._active = 0
        self._idle.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._open.wait()
        self._active += 1
        self._idle.clear()
        try:
            await self._application(scope, receive, send)
        finally:
            self._active -= 1
            if self._active == 0:
                self._idle.set()

    def open(self, application: Application) -> None:
        self._application = application
        self._open.set()

    async def close(self, seconds: float) -> None:
        """Hold new requests, and let those under way end, within a bound."""
        self._open.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._idle.wait()
