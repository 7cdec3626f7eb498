"""A stand-in, its client, and a small real Bolt app on both transports."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import aiohttp
import pytest
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack.server import SlackStandIn
from sandbox.slack.settings import Settings
from tests.sandbox.slack.driver import Person, over_http, over_socket


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
    connection = slack.announcement
    client = AsyncWebClient(
        token=connection["slack_bot_token"], base_url=connection["slack_api_url"], session=session
    )
    # By default it silently posts once more after a cut connection.
    client.retry_handlers.clear()
    return client


@pytest.fixture
def app(slack: SlackStandIn, client: AsyncWebClient) -> AsyncApp:
    """A Bolt app that is not listening yet."""
    logging.getLogger("slack_bolt").setLevel(logging.CRITICAL)
    secret = slack.announcement["slack_signing_secret"]
    return AsyncApp(name="test", client=client, signing_secret=secret)


@pytest.fixture(params=["http", "socket"])
async def running(
    request: pytest.FixtureRequest, slack: SlackStandIn, app: AsyncApp
) -> AsyncIterator[AsyncApp]:
    """The same app over both transports; listeners may be added while it runs."""
    transport = over_http if request.param == "http" else over_socket
    async with transport(slack, app):
        yield app
