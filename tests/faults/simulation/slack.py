"""Slack, as far as the bot posts, edits and reads there; it takes a session's place under the SDK."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any, Self

import aiohttp

from tests.faults.simulation.loop import PROCESS, Process, SimulatedLoop
from tests.faults.simulation.network import Fault, Log, Network, NoConnection, Reply, Reset
from tests.faults.simulation.shown import Shown
from tests.faults.simulation.virtual_time import VirtualClock

BOT = {"ok": True, "user_id": "UBOT", "bot_id": "BBOT", "team_id": "T1", "user": "outreach", "team": "sim"}
AHEAD = 2.5
"""Seconds of messages that a channel takes beyond one a second."""
REFUSALS = ("edit_window_closed", "cant_update_message", "message_not_found")
CALLS = re.compile(r"<(?:@|!subteam\^)(\w+)>")
GARBAGE = "<html>gateway</html>"


class SimulatedSlack:
    """The channels and what is in them; `methods` carry calls out at the moment when they arrive."""

    def __init__(
        self,
        loop: SimulatedLoop,
        clock: VirtualClock,
        network: Network,
        log: Log,
        *,
        refused: float,
        dice: random.Random,
    ) -> None:
        self._loop, self._clock, self._network, self._log = loop, clock, network, log
        self.refused, self._dice = refused, dice
        self.messages: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self.shown = Shown()
        self.violated: Callable[[str], None] = lambda _what: None
        self._posting: dict[str, Process] = {}
        self._last_ts = 0.0
        self._due: defaultdict[str, float] = defaultdict(float)
        self.post_failed_at: defaultdict[str, float] = defaultdict(float)
        """When a post or an edit in a channel last met a fault."""
        self.posted_at: defaultdict[str, float] = defaultdict(float)

    async def call(self, method: str, arguments: Mapping[str, Any]) -> Reply:
        place = f"slack {method}"
        fault = self._network.fault(place if place in self._network.weather else "slack")
        channel = str(arguments.get("channel") or "")
        if fault is not Fault.NONE and method.startswith("chat."):
            self.post_failed_at[channel] = self._clock.elapsed + (
                20.0 if fault in {Fault.SLOW, Fault.LATE} else 0
            )
        if fault is not Fault.NONE:
            self._log(f"slack {method} {channel} meets fault {fault}")
        with self._posting_to(channel if method == "chat.postMessage" else ""):
            return await self._network.carry(lambda fault: self._carry_out(method, arguments, fault), fault)

    @contextmanager
    def _posting_to(self, channel: str) -> Iterator[None]:
        """Notice two living processes that post to one channel at the same time."""
        process, other = PROCESS.get(), self._posting.get(channel)
        if not channel or process is None:
            yield
            return
        if other is not None and other is not process and other.alive:
            self.violated(f"{process.name} and {other.name} post to {channel} at the same time")
        self._posting[channel] = process
        try:
            yield
        finally:
            if self._posting[channel] is process:
                del self._posting[channel]

    def _carry_out(self, method: str, arguments: Mapping[str, Any], fault: Fault) -> Reply:
        headers = {"Date": formatdate(self._clock.wall, usegmt=True)}
        if fault is Fault.LIMITED:
            return Reply(429, {"ok": False, "error": "ratelimited"}, {**headers, "Retry-After": "2"})
        if fault is Fault.BROKEN:
            return Reply(500, {"ok": False, "error": "internal_error"}, headers)
        act = getattr(self, f"_{method.replace('.', '_')}", None)
        body = act(arguments) if act else {"ok": False, "error": "unknown_method"}
        if body.get("error") == "ratelimited":
            return Reply(429, body, {**headers, "Retry-After": "1"})
        if fault is Fault.BROKEN_AFTER:
            return Reply(500, {"ok": False, "error": "internal_error"}, headers)
        return Reply(200, GARBAGE if fault is Fault.GARBAGE else body, headers)

    def calls_of(self, channel: str, alert: str, number: int) -> tuple[set[str] | None, int]:
        """Whom the card of a reply calls, else the note that it shows more now, and how often the reply passed on.

        None where the reply is in a list with others.
        """
        here, name = self.messages[channel], f"Ada {number} at Acme is interested"
        cards = [m for m in here if _is_card_of(m, alert)]
        notes = [m for m in here if name in m["text"] and "Updated on the card above" in m["text"]]
        by_card, by_note = ({who for m in some for who in CALLS.findall(m["all"])} for some in (cards, notes))
        called = (by_card or by_note) if cards else None
        passed = sum(f"Nobody's turn: Ada {number} at Acme" in m["text"] for m in self.messages[channel])
        return called, passed

    def _auth_test(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return dict(BOT)

    def _conversations_info(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        channel = arguments["channel"]
        found = {"id": channel, "name": channel.lower(), "is_member": True, "is_channel": True}
        return {"ok": True, "channel": {**found, "is_private": False, "is_archived": False}}

    def _conversations_list(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"ok": True, "channels": []}

    def _chat_postMessage(self, arguments: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N802 # Slack's name
        channel, now = arguments["channel"], self._clock.elapsed
        if self._due[channel] > now + AHEAD:
            return {"ok": False, "error": "ratelimited"}
        self._due[channel] = max(self._due[channel], now) + 1.0
        self._last_ts = max(self._clock.wall, self._last_ts + 0.000_001)
        message = {**arguments, "ts": f"{self._last_ts:.6f}", "all": _all(arguments)}
        message["refuses"] = self._dice.choice(REFUSALS) if self._dice.random() < self.refused else ""
        self.messages[channel].append(message)
        self.shown.put(channel, message)
        self.posted_at[channel] = now
        metadata = (message.get("metadata") or {}).get("event_payload") or {}
        self._log(f"slack takes {channel} {metadata.get('key')}")
        return {"ok": True, "ts": message["ts"], "channel": channel, "message": {"text": message.get("text")}}

    def _chat_update(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        for message in self.messages[arguments["channel"]]:
            if message["ts"] == arguments["ts"]:
                if message["refuses"]:
                    self._log(f"slack refuses an edit in {arguments['channel']}: {message['refuses']}")
                    self.shown.refused(arguments["channel"], message)
                    return {"ok": False, "error": message["refuses"]}
                message.update({**arguments, "all": _all(arguments)})
                self.shown.put(arguments["channel"], message)
                self._log(
                    f"slack edits {arguments['channel']} {message['metadata']['event_payload'].get('key')}"
                )
                return {"ok": True, "ts": arguments["ts"]}
        return {"ok": False, "error": "message_not_found"}

    def _conversations_history(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        top = [m for m in self.messages[arguments["channel"]] if not m.get("thread_ts")]
        return _page(list(reversed(top)), arguments)

    def _conversations_replies(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        thread = arguments["ts"]
        found = [m for m in self.messages[arguments["channel"]] if thread in {m["ts"], m.get("thread_ts")}]
        return _page(found, arguments) if found else {"ok": False, "error": "thread_not_found"}


def _is_card_of(message: Mapping[str, Any], alert: str) -> bool:
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    in_list = str(payload.get("key")).startswith("b")
    return payload.get("alert_id") == alert and not in_list


def _all(message: Mapping[str, Any]) -> str:
    return json.dumps([message.get("text"), message.get("blocks")])


def _page(messages: list[dict[str, Any]], arguments: Mapping[str, Any]) -> dict[str, Any]:
    since = float(arguments.get("oldest") or 0)
    found = [m for m in messages if float(m["ts"]) > since]
    start, size = int(arguments.get("cursor") or 0), int(arguments.get("limit") or 100)
    more = str(start + size) if len(found) > start + size else ""
    return {"ok": True, "messages": found[start : start + size], "response_metadata": {"next_cursor": more}}


class _Answer:
    """An answer as aiohttp gives it to the SDK."""

    def __init__(self, reply: Reply) -> None:
        self.status, self.headers = reply.status, reply.headers
        self._body = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
        self.content_type = "application/json"

    async def json(self) -> Any:
        return json.loads(self._body)

    async def text(self) -> str:
        return self._body


class _Exchange:
    def __init__(self, slack: SimulatedSlack, method: str, arguments: Mapping[str, Any]) -> None:
        self._slack, self._method, self._arguments = slack, method, arguments

    async def __aenter__(self) -> _Answer:
        try:
            return _Answer(await self._slack.call(self._method, self._arguments))
        except NoConnection:
            key: Any = SimpleNamespace(host="slack", port=443, ssl=True, is_ssl=True)
            raise aiohttp.ClientConnectorError(key, ConnectionRefusedError(111, "refused")) from None
        except Reset:
            raise aiohttp.ServerDisconnectedError from None

    async def __aexit__(self, *_: object) -> None:
        pass


class SlackSession:
    """Stands where the SDK has its `aiohttp.ClientSession`."""

    closed = False

    def __init__(self, slack: SimulatedSlack) -> None:
        self._slack = slack

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def request(self, _verb: str, url: str, **arguments: Any) -> _Exchange:
        body = arguments.get("json") or arguments.get("params") or arguments.get("data") or {}
        return _Exchange(self._slack, url.rpartition("/")[2], dict(body))
