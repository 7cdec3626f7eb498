"""The Slack stand-in: one server on loopback that is Slack to a bot, and a page to people.

It stands on aiohttp and not on the service's ASGI server because a Slack that says no has to break connections
and to leave pings unanswered, which only a server that owns its sockets can do.
"""

from __future__ import annotations

import contextlib
import secrets
from typing import Self

from aiohttp import web

from sandbox.asgi_server import bind
from sandbox.slack.control.routes import routes as control
from sandbox.slack.pages.access import guard
from sandbox.slack.pages.page import Pages
from sandbox.slack.state import seed
from sandbox.slack.state.clock import Clock
from sandbox.slack.state.feed import Feed
from sandbox.slack.state.settings import Credentials, Settings
from sandbox.slack.state.traffic import Traffic
from sandbox.slack.to_bot.delivery import Delivery
from sandbox.slack.to_bot.sockets import Sockets
from sandbox.slack.web_api.endpoint import Endpoint
from sandbox.slack.web_api.transfers import Transfers
from sandbox.slack.web_api.workspace import Workspace, furnish

MOST_BYTES = 64 * 1024 * 1024


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
        self.settings = settings or Settings(request_url=f"{bot_url.rstrip('/')}/slack/events")
        self.credentials = credentials or Credentials()
        self.clock = clock or Clock()
        self.feed = Feed()
        self.sockets = Sockets(clock=self.clock, feed=self.feed)
        self._listener = bind(port)
        self.port: int = self._listener.getsockname()[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        self.delivery = Delivery(
            settings=lambda: self.settings,
            credentials=self.credentials,
            clock=self.clock,
            sockets=self.sockets,
            traffic=self._traffic,
        )
        self.workspace: Workspace = self._furnish()
        self.boot = secrets.token_hex(8)
        self._exits = contextlib.AsyncExitStack()

    @property
    def announcement(self) -> dict[str, str]:
        """What a bot and a script need to know; holds secrets of this stand-in."""
        return {
            "slack_page": f"{self.origin}/",
            "slack_api_url": f"{self.origin}/api/",
            "slack_bot_token": self.credentials.bot_token,
            "slack_app_token": self.credentials.app_token,
            "slack_signing_secret": self.credentials.signing_secret,
            "slack_control_url": f"{self.origin}/control",
            "slack_alert_channel": seed.ALERTS,
        }

    def _traffic(self) -> Traffic:
        return self.workspace.traffic

    def _furnish(self) -> Workspace:
        return furnish(
            settings=self.settings,
            credentials=self.credentials,
            clock=self.clock,
            feed=self.feed,
            sockets=self.sockets,
            delivery=self.delivery,
            origin=self.origin,
        )

    def reset(self) -> None:
        self.workspace = self._furnish()
        self.feed.publish("reset", {})

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self._listener.close)
            await stack.enter_async_context(self.delivery)
            runner = web.AppRunner(
                self._application(), access_log=None, handle_signals=False, shutdown_timeout=1.0
            )
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.SockSite(runner, self._listener).start()
            stack.push_async_callback(self.sockets.close)
            stack.callback(self.feed.close)
            self._exits = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exits.aclose()

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=MOST_BYTES, middlewares=[guard(self.port)])
        endpoint = Endpoint(lambda: self.workspace, self.credentials)
        transfers = Transfers(lambda: self.workspace)
        pages = Pages(self)
        application.add_routes(
            [
                web.post("/api/{method}", endpoint.handle),
                web.get("/api/{method}", endpoint.handle),
                web.get("/link", self.sockets.serve),
                web.post("/actions/{team}/{number}/{key}", transfers.answer),
                web.post("/upload/{file}/{key}", transfers.upload),
                web.get("/files/{file}/{key}", transfers.download),
                *pages.routes(),
                *control(self),
            ]
        )
        return application
