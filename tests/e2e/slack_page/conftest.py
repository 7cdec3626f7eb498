"""A stand-in, a bot of it, and the page in a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright
from slack_bolt.adapter.asgi.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient
from starlette.types import ASGIApp

from sandbox.asgi_server import bind, serving
from sandbox.slack.server import SlackStandIn
from sandbox.slack.settings import Settings
from tests.e2e.browser import chromium
from tests.e2e.slack_page.page_bot import listen, visit


@pytest_asyncio.fixture(loop_scope="module")
async def slack() -> AsyncIterator[SlackStandIn]:
    async with SlackStandIn(settings=Settings(request_url=None, messages_per_second=0)) as standin:
        yield standin


@pytest.fixture
def client(slack: SlackStandIn) -> AsyncWebClient:
    connection = slack.announcement
    return AsyncWebClient(token=connection["slack_bot_token"], base_url=connection["slack_api_url"])


@pytest_asyncio.fixture(loop_scope="module")
async def got(slack: SlackStandIn, client: AsyncWebClient) -> AsyncIterator[list[Any]]:
    """Run the bot, and collect what reaches it."""
    app = AsyncApp(client=client, signing_secret=slack.announcement["slack_signing_secret"])
    seen: list[Any] = []
    listen(app, seen)
    handler = cast("ASGIApp", AsyncSlackRequestHandler(app))
    async with serving(handler, bind(0), name="bolt") as origin:
        slack.settings.request_url = f"{origin}/slack/events"
        yield seen


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(**chromium())
        yield launched
        await launched.close()


@pytest.fixture
def wrong() -> list[str]:
    """Collect what the page's console complains of; a test that expects a complaint takes it out."""
    return []


@pytest_asyncio.fixture(loop_scope="module")
async def page(
    browser: Browser, slack: SlackStandIn, got: list[Any], wrong: list[str]
) -> AsyncIterator[Page]:
    """Open Ann's page; whatever goes wrong in it fails the test."""
    opened = await visit(browser, slack)
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on(
        "console", lambda entry: wrong.append(entry.text) if entry.type in {"error", "warning"} else None
    )
    yield opened
    await opened.close()
    assert wrong == []
