"""The Slack stand-in: one server on loopback, with Slack's API for a bot and a page for people."""

from __future__ import annotations

import contextlib

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox.asgi_server import Block, LocalOnly, bind, serving
from sandbox.clock import Clock
from sandbox.slack import seed
from sandbox.slack.control import Control
from sandbox.slack.delivery import Delivery
from sandbox.slack.page import FOLDER, Page
from sandbox.slack.settings import Credentials, Settings
from sandbox.slack.web_api.endpoint import Endpoint
from sandbox.slack.workspace import Workspace

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class SlackStandIn(Block):
    """A Slack on 127.0.0.1 while the block runs.

    `port` 0 takes a free one. The bot's request address is `bot_url` + `/slack/events` unless
    `settings` has another. `settings` and `credentials` are made up where they are not given.
    """

    def __init__(
        self,
        port: int = 0,
        bot_url: str = "http://127.0.0.1:3000",
        *,
        settings: Settings | None = None,
        credentials: Credentials | None = None,
        clock: Clock | None = None,
    ) -> None:
        # Bound before anything is built, because addresses in tokens and links need the port.
        self._listener = bind(port)
        self.port: int = self._listener.getsockname()[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        self.settings = settings or Settings(request_url=f"{bot_url.rstrip('/')}/slack/events")
        self.credentials = credentials or Credentials()
        self.clock = clock or Clock()
        self.workspace = Workspace(
            settings=self.settings,
            credentials=self.credentials,
            clock=self.clock,
            origin=self.origin,
        )
        self.feed = self.workspace.feed
        self.sockets = self.workspace.sockets
        self._delivery = Delivery(self.workspace)
        self.control = Control(self.workspace, self._delivery)
        self._app = _WithHeaders(LocalOnly(self._application()))

    @property
    def announcement(self) -> dict[str, str]:
        """The addresses and tokens that a bot and a script need; they are secrets of this stand-in."""
        return {
            "slack_page": f"{self.origin}/",
            "slack_api_url": f"{self.origin}/api/",
            "slack_bot_token": self.credentials.bot_token,
            "slack_app_token": self.credentials.app_token,
            "slack_signing_secret": self.credentials.signing_secret,
            "slack_control_url": f"{self.origin}/control",
            "slack_alert_channel": seed.ALERTS,
        }

    async def open(self, exits: contextlib.AsyncExitStack) -> None:
        exits.callback(self._listener.close)
        exits.push_async_callback(self._delivery.close)
        await exits.enter_async_context(serving(self._app, self._listener, name="slack stand-in"))
        # Connections and streams never end by themselves, so the server would wait for them forever.
        exits.push_async_callback(self.sockets.close)
        exits.callback(self.feed.close)

    def _application(self) -> ASGIApp:
        endpoint = Endpoint(self.workspace, self._delivery)
        page = Page(self.workspace)
        routes = [
            Route("/api/{method}", endpoint.call, methods=["GET", "POST"]),
            Route("/actions/{team}/{number}/{key}", endpoint.respond, methods=["POST"]),
            WebSocketRoute("/link", self.sockets.serve),
            Route("/control", self.control.document),
            Route("/control/{name:path}", self.control.read, methods=["GET"]),
            Route("/control/{name:path}", self.control.act, methods=["POST"]),
            Route("/", page.index),
            Route("/archives/{rest:path}", page.index),
            Route("/page/state", page.state),
            Route("/page/feed", page.feed),
            Mount("/assets", StaticFiles(directory=FOLDER)),
        ]
        return Starlette(routes=routes, exception_handlers={HTTPException: _refused})


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    body = {"ok": False, "error": error.detail}
    return JSONResponse(body, status_code=error.status_code, headers=error.headers)


class _WithHeaders:
    """Adds what a browser is told to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    sent.setdefault(name, value)
            await send(message)

        with contextlib.suppress(ClientDisconnect):  # nobody reads the answer
            await self._app(scope, receive, with_headers)
