"""The bot's ASGI application: passes each path to its handler."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
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
PAGES = frozenset({"/healthz", "/readyz", "/metrics"})
READ, WRITE = frozenset({"GET", "HEAD"}), frozenset({"POST"})

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
        self._default, self._apart = default_workspace, details_apart
        self._readiness, self._update_gauges = readiness, update_gauges

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        handle, methods = self._route(scope["path"], on_details=bool(scope.get(DETAILS)))
        if handle is None:
            await answer(send, 404)
        elif scope["method"] not in methods:
            await answer(send, 405)
        else:
            await handle(scope, receive, send)

    def _route(self, path: str, *, on_details: bool) -> tuple[Application | None, Collection[str]]:
        """Find the handler of a path, and its methods."""
        details = on_details or not self._apart
        if path in PAGES and (details or path != "/metrics"):
            return partial(self._page, details=details), READ
        if on_details:
            return None, ()
        if f"{path}/".startswith(f"{WEBHOOKS}/"):
            workspace = path[len(WEBHOOKS) :].strip("/") or self._default
            return partial(self._receiver, workspace=workspace), WRITE
        if path == SLACK:
            return self._slack, WRITE
        return (self._replies if path.startswith(PATH) else None), READ

    async def _page(self, scope: Scope, _receive: Receive, send: Send, *, details: bool) -> None:
        if scope["path"] == "/healthz":
            await answer(send, 200, b"ok\n")
        elif scope["path"] == "/readyz":
            ready, state = await self._readiness()
            await _answer_ready(send, {"ready": ready, **(state if details else {})})
        else:
            await self._update_gauges()
            body = generate_latest(metrics.REGISTRY)
            await answer(send, 200, body, content_type=b"text/plain; version=0.0.4; charset=utf-8")


async def _answer_ready(send: Send, state: Mapping[str, Any]) -> None:
    body = json.dumps(state, default=str).encode()
    await answer(send, 200 if state["ready"] else 503, body, content_type=b"application/json")


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
        await _answer_ready(send, {"ready": False, "database": "waiting for the database"})
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
