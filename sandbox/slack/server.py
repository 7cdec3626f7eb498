"""The Slack stand-in: one server on loopback, with Slack's API for bots and a page for people.

It uses aiohttp and not the service's ASGI server because a failing Slack has to break connections and leave pings
unanswered, which only a server that owns its sockets can do.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
from typing import Self

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from sandbox.asgi_server import bind
from sandbox.slack.control.routes import routes as control_routes
from sandbox.slack.pages.authorize import Authorize
from sandbox.slack.pages.page import Pages, request_guard
from sandbox.slack.state import seed
from sandbox.slack.state.settings import Clock, Credentials, Settings
from sandbox.slack.to_bot.delivery import Requests
from sandbox.slack.web_api.endpoint import Endpoint
from sandbox.slack.web_api.transfers import Transfers
from sandbox.slack.workspace import Workspace
from sandbox.slack.workspaces import Workspaces

MAX_BODY_BYTES = 64 * 1024 * 1024


def _is_ours(record: logging.LogRecord) -> bool:
    """Not a request that is no HTTP, which was answered 400."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


_LOG = logging.getLogger(__name__)
_LOG.addFilter(_is_ours)


class SlackStandIn:
    """A Slack on 127.0.0.1 while the block runs.

    `port` 0 takes a free one; the bot's request address is `bot_url` + `/slack/events` until it is set otherwise.
    `settings` and `credentials` are made up where they are not given.
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
        self._listener = bind(port)
        self.port: int = self._listener.getsockname()[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        self.settings = settings or Settings(request_url=f"{bot_url.rstrip('/')}/slack/events")
        self.credentials = credentials or Credentials()
        self.clock = clock or Clock()
        self._requests = Requests()
        self.workspace = Workspace(
            settings=self.settings,
            credentials=self.credentials,
            clock=self.clock,
            origin=self.origin,
            requests=self._requests,
        )
        self.feed, self.sockets = self.workspace.feed, self.workspace.first.sockets
        second = seed.SECOND
        self.second = Workspace(
            settings=self.settings,
            credentials=self.credentials,
            clock=self.clock,
            origin=f"{self.origin}/teams/{second.team.id}",
            requests=self._requests,
            contents=second,
            sockets=self.sockets,
            bot_token=f"xoxb-{secrets.token_hex(16)}",
            installed=False,
        )
        self.workspaces = Workspaces({one.contents.team.id: one for one in (self.workspace, self.second)})
        self._exits = contextlib.AsyncExitStack()

    @property
    def announcement(self) -> dict[str, str]:
        """What a bot and a script need to know; holds secrets of this stand-in."""
        return {
            "slack_page": f"{self.origin}/",
            "slack_api_url": f"{self.origin}/api/",
            "slack_bot_token": self.credentials.bot_token,
            "slack_app_token": self.credentials.app_token,
            "slack_config_token": self.credentials.config_token,
            "slack_signing_secret": self.credentials.signing_secret,
            "slack_control_url": f"{self.origin}/control",
            "slack_alert_channel": seed.ALERTS,
            "slack_client_id": self.credentials.client_id,
            "slack_client_secret": self.credentials.client_secret,
        }

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self._listener.close)
            stack.push_async_callback(self._requests.close)
            runner = web.AppRunner(
                self._application(), access_log=None, logger=_LOG, handle_signals=False, shutdown_timeout=1.0
            )
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.SockSite(runner, self._listener).start()
            stack.push_async_callback(self.workspace.close)
            stack.push_async_callback(self.second.close)
            self._exits = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exits.aclose()

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[request_guard(self.port)])
        endpoint = Endpoint(self.workspaces)
        application.add_routes(
            [
                web.post("/api/{method}", endpoint.handle),
                web.get("/api/{method}", endpoint.handle),
                web.get("/link", self._link),
                *Authorize(self.workspaces).routes(),
                *_routes(self.workspace),
            ]
        )
        second = web.Application(client_max_size=MAX_BODY_BYTES)
        second.add_routes(_routes(self.second))
        application.add_subapp(f"/teams/{self.second.contents.team.id}/", second)
        return application

    async def _link(self, request: web.Request) -> web.StreamResponse:
        """A Socket Mode connection, of the app to which its ticket was given."""
        ticket = request.query.get("ticket", "")
        everyone = (one.sockets for _, one in self.workspaces.installations())
        sockets = next((one for one in everyone if one.knows(ticket)), self.sockets)
        return await sockets.serve(request)


def _routes(workspace: Workspace) -> list[web.RouteDef]:
    transfers = Transfers(workspace)
    return [
        web.post("/actions/{team}/{number}/{key}", transfers.respond),
        web.post("/upload/{file}/{key}", transfers.upload),
        web.get("/files/{file}/{key}", transfers.download),
        *Pages(workspace).routes(),
        *control_routes(workspace),
    ]
