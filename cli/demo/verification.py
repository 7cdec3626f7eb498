"""Checks the demo from outside: compares the service's deliveries with the messages in Slack.

It doesn't use the bot's output or database; only the ids of alerts are computed as the bot does.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple

import aiohttp

from cli.demo.setup import WORKSPACE, Installation
from shared.api.event_kinds import POSTED_AT_ONCE
from shared.store.queue.intake import Arrival, alert_id

LOOK_EVERY = 1.0
COMMAND_EVERY = 5.0
SETTLE_SECONDS = 30.0


class Sent(NamedTuple):
    """An alerting delivery as the service saw it; `at` in wall-clock seconds."""

    at: float
    accepted: bool


class Posted(NamedTuple):
    """A message as Slack has it: the ids of its alerts, and when it was posted."""

    alerts: Sequence[str]
    at: float


class Result(NamedTuple):
    """The demo's result; `lines` is the readable summary."""

    lines: Sequence[str]
    lost: int
    doubled: int

    @property
    def passed(self) -> bool:
        return not self.lost and not self.doubled


class Verifier:
    """Gathers what both sides show; `look` adds what is new."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._service = str(installation.announcement["control_url"])
        self._slack = str(installation.announcement["slack_control_url"])
        self._sent: dict[str, Sent] = {}
        self._posted: dict[str, Posted] = {}
        self._command_seconds: list[float] = []

    async def watch(self, *, try_commands: bool) -> AsyncIterator[str]:
        """Look again and again, try a command now and then if wanted, and yield a line for each new message."""
        began = next_command = time.monotonic()
        while True:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                if try_commands and time.monotonic() >= next_command:
                    next_command += COMMAND_EVERY
                    await self._try_command()
                for line in await self._look():
                    yield f"{time.monotonic() - began:6.1f} s  {line}"
            await asyncio.sleep(LOOK_EVERY)

    async def close(self) -> Result:
        """Stop the service's time, wait for what is under way, and add it up."""
        async with self._installation.http.post(f"{self._service}/time", json={"speed": 0}) as answer:
            answer.raise_for_status()
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            await self._look()
            result = self._result(await self._read(f"{self._service}/summary"))
            if not result.lost or time.monotonic() > deadline:
                return result
            await asyncio.sleep(0.2)

    async def _look(self) -> list[str]:
        for kind in POSTED_AT_ONCE:
            for delivery in (await self._read(f"{self._service}/deliveries?limit=1000&kind={kind}"))["data"]:
                self._note_delivery(delivery)
        channel = self._installation.announcement["slack_alert_channel"]
        found = await self._read(f"{self._slack}/messages?channel={channel}")
        return [line for message in found["messages"] if (line := self._note_message(message))]

    async def _try_command(self) -> None:
        began = time.perf_counter()
        # In the conversation with the bot: people read the channels of a demo.
        body = {"text": "/outreach status", "wait": 10, "answers": 1, "user": "ben", "channel": "dm"}
        async with self._installation.http.post(f"{self._slack}/command", json=body) as answer:
            if (await answer.json()).get("answers"):
                self._command_seconds.append(time.perf_counter() - began)

    def _note_delivery(self, delivery: Mapping[str, Any]) -> None:
        alert = alert_id(Arrival(workspace=WORKSPACE, body=delivery["body"].encode(), at=0.0).dkey)
        known = self._sent.get(alert)
        if delivery["first_sent"]:
            accepted = delivery["state"] == "delivered" or bool(known and known.accepted)
            self._sent[alert] = Sent(at=delivery["first_sent"], accepted=accepted)

    def _note_message(self, message: Mapping[str, Any]) -> str:
        payload = (message.get("metadata") or {}).get("event_payload") or {}
        alerts = payload.get("alert_ids") or [payload.get("alert_id")]
        key = f"{message['channel']} {message['ts']}"
        if key in self._posted or alerts == [None]:
            return ""
        self._posted[key] = Posted(alerts, at=message["posted_at"])
        return str(message["text"])

    def _result(self, counted: Mapping[str, Any]) -> Result:
        due = {alert: sent for alert, sent in self._sent.items() if sent.accepted}
        shown = [(alert, post.at) for post in self._posted.values() for alert in post.alerts if alert in due]
        posted = Counter(alert for alert, _ in shown)
        lost, doubled = len(due) - len(posted), len(shown) - len(posted)
        worst = max(counted["worst_second"].values(), default=0)
        throttled = counted["rate_limited"]
        lines = (
            f"deliveries made         {counted['deliveries']['by_state']['delivered']}",
            f"alerts                  {len(posted)} of {len(due)} posted, {lost} lost, {doubled} doubled",
            f"delivery to Slack       {_percentiles([at - due[alert].at for alert, at in shown])}",
            f"slash command answered  {_percentiles(self._command_seconds)}",
            f"requests to the API     {counted['requests']}, of them 429: {throttled}, most in one second: {worst}",
            f"bot restarts            {self._installation.bot.restarts}",
        )
        return Result(lines, lost=lost, doubled=doubled)

    async def _read(self, url: str) -> dict[str, Any]:
        async with self._installation.http.get(url) as answer:
            answer.raise_for_status()
            found: dict[str, Any] = await answer.json()
            return found


def _percentiles(seconds: Sequence[float]) -> str:
    ranked = sorted(seconds)
    if not ranked:
        return "p50 –, p99 –"
    p50, p99 = (ranked[-(-len(ranked) * share // 100) - 1] for share in (50, 99))
    return f"p50 {p50 * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms"
