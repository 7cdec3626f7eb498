"""A bare loop of Slack calls, the least that any bot does: `python -m tools.bench.slack_calls CHANNEL…`.

Posts the message on stdin to each of these channels once a second, with Slack's SDK, until it is killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

PERIOD = 1.0


async def post(channels: Sequence[str], message: Mapping[str, Any]) -> None:
    """Each channel in its turn."""
    async with aiohttp.ClientSession() as session:
        client = AsyncWebClient(
            token=os.environ["SLACK_BOT_TOKEN"], base_url=os.environ["SLACK_API_URL"], session=session
        )
        async with asyncio.TaskGroup() as group:
            for number, channel in enumerate(channels):
                group.create_task(_post(client, channel, message, first=number / len(channels)))


async def _post(client: AsyncWebClient, channel: str, message: Mapping[str, Any], *, first: float) -> None:
    loop = asyncio.get_running_loop()
    due = loop.time() + first * PERIOD
    while True:
        await asyncio.sleep(due - loop.time())
        await client.api_call("chat.postMessage", json={"channel": channel, **message})
        due = max(due, loop.time()) + PERIOD


if __name__ == "__main__":
    asyncio.run(post(sys.argv[1:], json.load(sys.stdin)))
