"""A person at the control API, what a bot is sent, and parts of messages."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError

from tests.sandbox.receiver import Receiver

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


def payloads(receiver: Receiver) -> list[Json]:
    """Return the events and interactions that came, in order."""
    bodies = [one.body.decode() for one in receiver.received]
    return [json.loads(body if body[0] == "{" else parse_qs(body)["payload"][0]) for body in bodies]


async def refused(call: Awaitable[Any]) -> Json:
    """Return the answer to a call that Slack refuses."""
    with pytest.raises(SlackApiError) as caught:
        await call
    return dict(caught.value.response.data)


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
