"""Checks the demo from outside: compares the service's deliveries with the messages in Slack.

It doesn't use the bot's output or database; only the ids of alerts are computed as the bot does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import aiohttp

from cli.demo.setup import ACCOUNT, WORKSPACE, Installation
from shared.api.event_kinds import POSTED_AT_ONCE
from shared.store.deliveries import Arrival, alert_id

LOOK_EVERY = 1.0
WARM_UP_SECONDS = 15.0
"""The first delivery loads what later ones find: it is made before anything is timed."""
SETTLE_SECONDS = 30.0


class Sent(NamedTuple):
    """An alerting delivery as the service saw it; `at` in wall-clock seconds, `about` is a domain or a lead."""

    at: float
    accepted: bool
    about: str


class Posted(NamedTuple):
    """A message as Slack has it: the ids of its alerts, when it was posted and last edited."""

    alerts: Sequence[str]
    at: float
    edited_at: float


class Result(NamedTuple):
    """The demo's result; `lines` is the readable summary."""

    lines: Sequence[str]
    lost: int
    doubled: int

    @property
    def passed(self) -> bool:
        return not self.lost and not self.doubled


class Verifier:
    """Gathers what both sides show."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._sent: dict[str, Sent] = {}
        self._posted: dict[str, Posted] = {}
        self._timed_from = 0.0

    async def warm_up(self) -> None:
        """Make a first delivery, and time only what comes after it."""
        # A reply that the account would have had anyway, only earlier; it counts among the alerts.
        await self._installation.service("/events", {"workspace": ACCOUNT, "kind": "reply.interested"})
        deadline = time.monotonic() + WARM_UP_SECONDS
        while not self._posted and time.monotonic() < deadline:
            await asyncio.sleep(LOOK_EVERY / 10)
            await self._look()
        self._timed_from = time.time()

    async def watch(self, tell: Callable[[str], None]) -> None:
        """Look again and again, and tell the text of each new message."""
        while True:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                for text in await self._look():
                    tell(text)
            await asyncio.sleep(LOOK_EVERY)

    async def close(self) -> Result:
        """Stop the service's time, wait for what is under way, and add it up."""
        await self._installation.service("/time", {"speed": 0})
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            await self._look()
            result = self._result(await self._installation.service("/summary"))
            if not result.lost or time.monotonic() > deadline:
                return result
            await asyncio.sleep(0.2)

    async def _look(self) -> list[str]:
        for kind in POSTED_AT_ONCE:
            answer = await self._installation.service(f"/deliveries?limit=1000&kind={kind}")
            for delivery in answer["data"]:
                self._note_delivery(delivery)
        channel = self._installation.announcement["slack_alert_channel"]
        answer = await self._installation.slack(f"messages?channel={channel}")
        return list(filter(None, map(self._note_message, answer["messages"])))

    def _note_delivery(self, delivery: Mapping[str, Any]) -> None:
        alert = alert_id(Arrival(workspace=WORKSPACE, body=delivery["body"].encode(), at=0.0).dkey)
        # What was never tried can't be missing in Slack.
        if delivery["first_sent"]:
            before = self._sent.get(alert)
            # Several deliveries can be of one alert; one that was accepted is enough to expect it in Slack.
            accepted = delivery["state"] == "delivered" or bool(before and before.accepted)
            body = json.loads(delivery["body"])
            # An event that somebody typed may be about nothing that has a name.
            lead = body.get("lead")
            about = str(body.get("domain") or (isinstance(lead, dict) and lead.get("email")) or alert)
            self._sent[alert] = Sent(at=delivery["first_sent"], accepted=accepted, about=about)

    def _note_message(self, message: Mapping[str, Any]) -> str:
        payload = (message.get("metadata") or {}).get("event_payload") or {}
        alerts = payload.get("alert_ids") or list(filter(None, [payload.get("alert_id")]))
        key = f"{message['channel']} {message['ts']}"
        text = "" if key in self._posted else str(message["text"])
        # An answer to a person, a reminder in a thread: no alert's card.
        if not alerts:
            return ""
        edited = float((message.get("edited") or {}).get("ts", 0))
        self._posted[key] = Posted(alerts, at=message["posted_at"], edited_at=edited)
        return text

    def _result(self, counted: Mapping[str, Any]) -> Result:
        due = {alert: sent for alert, sent in self._sent.items() if sent.accepted}
        shown = [(alert, post.at) for post in self._posted.values() for alert in post.alerts if alert in due]
        posted = Counter(alert for alert, _ in shown)
        joined = sum(alert not in posted and self._is_on_an_earlier_card(alert) for alert in due)
        lost, doubled = len(due) - len(posted) - joined, len(shown) - len(posted)
        timed = [at - due[alert].at for alert, at in shown if due[alert].at >= self._timed_from]
        worst = max(counted["worst_second"].values(), default=0)
        throttled = counted["rate_limited"]
        on_cards = f", {joined} on the card of the same domain or lead" if joined else ""
        lines = (
            f"deliveries made      {counted['deliveries']['by_state']['delivered']}",
            f"alerts               {len(posted)} of {len(due)} posted, {lost} lost, {doubled} doubled{on_cards}",
            f"delivery to Slack    {_percentiles(timed)}",
            f"requests to the API  {counted['requests']}, of them 429: {throttled}, most in one second: {worst}",
            f"bot restarts         {self._installation.bot.restarts}",
        )
        return Result(lines, lost=lost, doubled=doubled)

    def _is_on_an_earlier_card(self, alert: str) -> bool:
        """True where a card about the same domain or lead was edited after this delivery: one object is one message."""
        sent = self._sent[alert]
        return any(
            post.edited_at >= sent.at and self._sent[other].about == sent.about
            for post in self._posted.values()
            for other in post.alerts
            if other in self._sent and other != alert
        )


def _percentiles(seconds: Sequence[float]) -> str:
    ranked = sorted(seconds)
    if not ranked:
        return "not measured"
    p50, p99 = (ranked[-(-len(ranked) * share // 100) - 1] for share in (50, 99))
    return f"p50 {p50 * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms of {len(ranked)}"
