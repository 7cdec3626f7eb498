"""A person at the control API, and a Bolt app on each transport."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from typing import Any, cast

import aiohttp
import pytest
from slack_bolt.adapter.asgi.async_handler import AsyncSlackRequestHandler
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from starlette.types import ASGIApp

from sandbox.asgi_server import bind, serving
from sandbox.slack.server import SlackStandIn

Json = dict[str, Any]


@dataclass(frozen=True)
class Person:
    """Drives the stand-in through its control API."""

    session: aiohttp.ClientSession
    url: str

    async def do(self, act: str, /, *, refused: bool = False, **body: Any) -> dict[str, Any]:
        async with self.session.post(f"{self.url}/{act}", json=body) as response:
            answer: dict[str, Any] = await response.json()
            assert (response.status == 400) is refused, answer
            return answer

    async def see(self, what: str, **query: str) -> dict[str, Any]:
        async with self.session.get(f"{self.url}/{what}", params=query) as response:
            assert response.status == 200, await response.text()
            answer: dict[str, Any] = await response.json()
            return answer


async def refused(call: Awaitable[Any]) -> Json:
    """The answer to a call that Slack refuses."""
    with pytest.raises(SlackApiError) as caught:
        await call
    return dict(caught.value.response.data)


@contextlib.asynccontextmanager
async def over_http(slack: SlackStandIn, app: AsyncApp) -> AsyncIterator[None]:
    handler = cast("ASGIApp", AsyncSlackRequestHandler(app))
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
        assert await slack.feed.until(lambda: bool(slack.sockets.ready), timeout=20)
        yield handler
    finally:
        await handler.close_async()  # type: ignore[no-untyped-call]  # likewise


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def mrkdwn(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def button(action_id: str, text: str, **more: Any) -> Json:
    return {"type": "button", "action_id": action_id, "text": plain(text), **more}


def actions(*elements: Json) -> Json:
    return {"type": "actions", "elements": list(elements)}


def section(text: str, **more: Any) -> Json:
    return {"type": "section", "text": mrkdwn(text), **more}


def option(text: str, value: str) -> Json:
    return {"text": plain(text), "value": value}


def asked(block_id: str, element: Json, **more: Any) -> Json:
    return {"type": "input", "block_id": block_id, "label": plain(block_id), "element": element, **more}


def modal(*blocks: Json, **more: Any) -> Json:
    view = {"type": "modal", "callback_id": "form", "title": plain("Form"), "submit": plain("Go")}
    return {**view, "blocks": list(blocks), **more}
