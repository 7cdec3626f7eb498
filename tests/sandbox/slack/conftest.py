"""A stand-in, a small real Bolt app on each transport, and a person at the control API."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from slack_bolt.adapter.asgi.async_handler import AsyncSlackRequestHandler
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.serving import bind, serving
from sandbox.slack.settings import Settings
from sandbox.slack.standin import SlackStandIn


@dataclass(frozen=True)
class Person:
    """Drives the stand-in through its control API."""

    session: aiohttp.ClientSession
    url: str

    async def do(self, act: str, *, refused: bool = False, **body: Any) -> dict[str, Any]:
        async with self.session.post(f"{self.url}/{act}", json=body) as response:
            answer: dict[str, Any] = await response.json()
            assert (response.status == 400) is refused, answer
            return answer

    async def see(self, what: str, **query: str) -> dict[str, Any]:
        async with self.session.get(f"{self.url}/{what}", params=query) as response:
            assert response.status == 200, await response.text()
            answer: dict[str, Any] = await response.json()
            return answer


@pytest.fixture
async def slack() -> AsyncIterator[SlackStandIn]:
    settings = Settings(request_url=None, retry_seconds=(0.02, 0.02, 0.02))
    async with SlackStandIn(settings=settings) as standin:
        yield standin


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


@pytest.fixture
def person(slack: SlackStandIn, session: aiohttp.ClientSession) -> Person:
    return Person(session, slack.announcement["slack_control_url"])


@pytest.fixture
def client(slack: SlackStandIn, session: aiohttp.ClientSession) -> AsyncWebClient:
    """The official client, on the stand-in."""
    told = slack.announcement
    return AsyncWebClient(token=told["slack_bot_token"], base_url=told["slack_api_url"], session=session)


@pytest.fixture
def app(slack: SlackStandIn, client: AsyncWebClient) -> AsyncApp:
    """A Bolt app that is not listening yet."""
    logging.getLogger("slack_bolt").setLevel(logging.CRITICAL)
    return AsyncApp(client=client, signing_secret=slack.announcement["slack_signing_secret"])


@contextlib.asynccontextmanager
async def over_http(slack: SlackStandIn, app: AsyncApp) -> AsyncIterator[None]:
    handler = AsyncSlackRequestHandler(app)  # type: ignore[no-untyped-call]  # Bolt's adapter has no types
    async with serving(handler, bind(0), name="bolt") as origin:
        slack.settings.request_url = f"{origin}/slack/events"
        yield


@contextlib.asynccontextmanager
async def over_socket(slack: SlackStandIn, app: AsyncApp) -> AsyncIterator[AsyncSocketModeHandler]:
    handler = AsyncSocketModeHandler(app, slack.announcement["slack_app_token"], ping_interval=1)
    # The handler makes itself a client for slack.com unless it is given the app's.
    handler.client.web_client = AsyncWebClient(
        token=slack.announcement["slack_bot_token"], base_url=slack.announcement["slack_api_url"]
    )
    await handler.connect_async()  # type: ignore[no-untyped-call]  # likewise
    try:
        assert await slack.feed.until(lambda: bool(slack.sockets.ready), timeout=5)
        yield handler
    finally:
        await handler.close_async()  # type: ignore[no-untyped-call]  # likewise


@pytest.fixture(params=["http", "socket"])
async def running(
    request: pytest.FixtureRequest, slack: SlackStandIn, app: AsyncApp
) -> AsyncIterator[AsyncApp]:
    """The same app over both transports; listeners may be added while it runs."""
    transport = over_http if request.param == "http" else over_socket
    async with transport(slack, app):
        yield app
