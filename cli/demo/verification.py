"""An independent witness of the demo: it asks the service what was delivered and Slack what is shown.

It trusts neither the bot's word nor its database; only the names of alerts are computed as the bot does.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp

from bot.store.queue.deliveries import Arrival, alert_id
from cli.demo.setup import WORKSPACE, Stage
from cli.demo.summary import ALERTING, Posted, Sent, Summary, summarise

LOOK_EVERY = 1.0
COMMAND_EVERY = 5.0
SETTLE_SECONDS = 30.0


class Witness:
    """What has been seen so far; `look` adds what is new."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._service = str(stage.announcement["control_url"])
        self._slack = str(stage.announcement["slack_control_url"])
        self._sent: dict[str, Sent] = {}
        self._posted: dict[str, Posted] = {}
        self._commands: list[float] = []

    async def look(self) -> list[str]:
        """Read both sides; answers a line for each message that is new."""
        for kind in sorted(ALERTING):
            for delivery in (await self._read(f"{self._service}/deliveries?limit=1000&kind={kind}"))["data"]:
                self._note_delivery(delivery)
        found = await self._read(
            f"{self._slack}/messages?channel={self._stage.announcement['slack_alert_channel']}"
        )
        return [line for message in found["messages"] if (line := self._note_message(message))]

    async def try_command(self) -> None:
        """Type a slash command as a person would, and keep how long its answer took."""
        began = time.perf_counter()
        body = {"text": "/outreach status", "wait": 10, "answers": 1, "user": "ben", "channel": "sales"}
        async with self._stage.http.post(f"{self._slack}/command", json=body) as answer:
            if (await answer.json()).get("answers"):
                self._commands.append(time.perf_counter() - began)

    async def close(self) -> Summary:
        """Stop the service's time, wait for what is under way, and add it up."""
        async with self._stage.http.post(f"{self._service}/time", json={"speed": 0}) as answer:
            answer.raise_for_status()
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            summary = await self._add_up()
            if not summary.lost or time.monotonic() > deadline:
                return summary
            await asyncio.sleep(0.2)

    async def _add_up(self) -> Summary:
        await self.look()
        counted = await self._read(f"{self._service}/summary")
        return summarise(
            self._sent.values(),
            self._posted.values(),
            deliveries=counted["deliveries"]["by_state"]["delivered"],
            command_seconds=self._commands,
            requests={
                "requests": counted["requests"],
                "throttled": counted["rate_limited"],
                "worst_second": max(counted["worst_second"].values(), default=0),
            },
            bot_restarts=self._stage.bot.restarts,
        )

    def _note_delivery(self, delivery: Mapping[str, Any]) -> None:
        arrival = Arrival(workspace=WORKSPACE, body=delivery["body"].encode(), at=0.0)
        name = alert_id(arrival.dkey)
        known = self._sent.get(name)
        accepted = delivery["state"] == "delivered" or bool(known and known.accepted)
        if delivery["first_sent"]:
            self._sent[name] = Sent(
                alert=name, kind=delivery["event"], at=delivery["first_sent"], accepted=accepted
            )

    def _note_message(self, message: Mapping[str, Any]) -> str:
        payload = (message.get("metadata") or {}).get("event_payload") or {}
        names = payload.get("alert_ids") or [payload.get("alert_id")]
        key = f"{message['channel']} {message['ts']}"
        if key in self._posted or names == [None]:
            return ""
        self._posted[key] = Posted(alerts=tuple(names), at=message["posted_at"])
        return str(message["text"])

    async def _read(self, url: str) -> dict[str, Any]:
        async with self._stage.http.get(url) as answer:
            answer.raise_for_status()
            found: dict[str, Any] = await answer.json()
            return found


async def watch(witness: Witness, *, try_commands: bool) -> AsyncIterator[str]:
    """Look again and again, try a command now and then if wanted, and tell what is new."""
    began = time.monotonic()
    next_command = began
    while True:
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            if try_commands and time.monotonic() >= next_command:
                next_command += COMMAND_EVERY
                await witness.try_command()
            for line in await witness.look():
                yield f"{time.monotonic() - began:6.1f} s  {line}"
        await asyncio.sleep(LOOK_EVERY)
