"""A stand-in, its client, and a bot that listens to it over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack.server import SlackStandIn
from sandbox.slack.settings import Settings
from tests.sandbox.receiver import Receiver
from tests.sandbox.slack.driver import Person


@pytest.fixture
async def slack() -> AsyncIterator[SlackStandIn]:
    # Slack repeats an event at once, after a minute and after five.
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
async def receiver(slack: SlackStandIn) -> AsyncIterator[Receiver]:
    async with Receiver() as running:
        slack.settings.request_url = running.url
        yield running
