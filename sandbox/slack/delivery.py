"""Delivers from Slack to the bot: signed requests or envelopes, within three seconds, and events."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlencode

import aiohttp

from sandbox.slack import payloads, seed
from sandbox.slack.model import Channel, Json, Message
from sandbox.slack.sockets import NoConnectionError
from sandbox.slack.workspace import Workspace

Kind = Literal["events_api", "slash_commands", "interactive"]
JSON_TYPE = "application/json"
FORM_TYPE = "application/x-www-form-urlencoded"


@dataclass(slots=True)
class Ack:
    """The body of an acknowledgement, or Slack's error where there was none."""

    body: Any = None
    ms: float = 0.0
    status: int | None = None
    error: str | None = None
    reason: str | None = None

    @property
    def ok(self) -> bool:
        return self.error is None

    def to_json(self) -> Json:
        known = {name: getattr(self, name) for name in ("ok", "status", "error", "body")}
        return known | {"ms": round(self.ms, 2)}


class Delivery:
    """Sends to the bot over the transport that it uses, and records how that went."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._session: aiohttp.ClientSession | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def forget(self) -> None:
        """Give up the events that are still to be delivered."""
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        self.forget()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    async def send(self, kind: Kind, payload: Json, *, name: str, attempt: int = 0, reason: str = "") -> Ack:
        """Deliver once, and wait for the acknowledgement as long as Slack waits."""
        workspace = self._workspace
        started = time.perf_counter()
        by_socket = bool(workspace.sockets.ready)
        try:
            if by_socket:
                seconds = workspace.settings.ack_seconds
                extra = {"retry_attempt": attempt, "retry_reason": reason}
                body = await workspace.sockets.deliver(kind, payload, extra, seconds=seconds)
                ack = Ack(body)
            else:
                again = {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": reason}
                body, content_type = _encoded(kind, payload)
                ack = await self.post(body, content_type, headers=again if attempt else None)
        except TimeoutError:
            reason = "timeout" if by_socket else "http_timeout"
            ack = Ack(error="operation_timeout", reason=reason)
        except (NoConnectionError, aiohttp.ClientError, OSError, ValueError):
            ack = Ack(error="dispatch_failed", reason="connection_failed")
        ack.ms = (time.perf_counter() - started) * 1000
        workspace.traffic.record(
            "to_bot",
            name[:120],
            ms=ack.ms,
            ok=ack.ok,
            status=ack.status,
            error=ack.error,
            via="socket" if by_socket else "http",
            attempt=attempt,
            request=payload,
            answer=ack.body,
        )
        return ack

    async def post(self, body: bytes, content_type: str, *, headers: Json | None = None) -> Ack:
        """Send a signed request to the bot.

        Raises `NoConnectionError`, `TimeoutError`, `aiohttp.ClientError` or `OSError`.
        """
        settings = self._workspace.settings
        url = settings.request_url
        if url is None:
            raise NoConnectionError
        if self._session is None:
            self._session = aiohttp.ClientSession(trust_env=False)
        sent = {"Content-Type": content_type, "User-Agent": "Slackbot 1.0", **(headers or {})}
        sent |= self._signature(body)
        async with (
            asyncio.timeout(settings.ack_seconds),
            self._session.post(url, data=body, headers=sent, allow_redirects=False) as response,
        ):
            text = await response.text(errors="replace")
        ack = Ack(_parsed(text), status=response.status)
        if not response.ok or response.status >= 300:
            ack.error, ack.reason = "dispatch_failed", "http_error"
        return ack

    def _signature(self, body: bytes) -> dict[str, str]:
        """Sign a body (https://docs.slack.dev/authentication/verifying-requests-from-slack)."""
        # The bot compares the moment with its own clock, which doesn't follow the one here.
        at = str(int(time.time()))
        secret = self._workspace.credentials.signing_secret.encode()
        digest = hmac.new(secret, f"v0:{at}:".encode() + body, hashlib.sha256).hexdigest()
        return {"X-Slack-Request-Timestamp": at, "X-Slack-Signature": f"v0={digest}"}

    # Events (https://docs.slack.dev/reference/events)

    def fire(self, kind: str, /, *, subscription: str = "", from_team: str = "", **fields: Any) -> None:
        """Send an event if the app subscribed to it."""
        if (subscription or kind) in self._workspace.settings.events:
            self.send_event(kind, fields, from_team=from_team)

    def send_event(self, kind: str, fields: Json, *, event_id: str = "", from_team: str = "") -> None:
        """Send an event in the background, again and again until it is acknowledged.

        With an earlier `event_id` it is that event again; `from_team` makes it another team's.
        """
        event = {"event_ts": self._workspace.stamp(), **fields, "type": kind}
        payload = payloads.event_callback(event, self._workspace, event_id=event_id)
        payload = payloads.from_team(payload, from_team)
        task = asyncio.create_task(self._deliver_event(payload, f"event {kind}"))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver_event(self, payload: Json, name: str) -> None:
        ack = await self.send("events_api", payload, name=name)
        for attempt, pause in enumerate(self._workspace.settings.retry_seconds, start=1):
            if ack.ok:
                return
            await asyncio.sleep(pause)
            reason = ack.reason or ""
            ack = await self.send("events_api", payload, name=name, attempt=attempt, reason=reason)

    def message_posted(self, message: Message, channel: Channel, *, team: str = "") -> None:
        """Tell of a message: a mention of the bot, or a direct message.

        A bot's own messages are sent to it too, under its `bot_id`
        (https://docs.slack.dev/reference/events/message#bot_messages).
        """
        if seed.BOT.id not in channel.members:
            return
        speaker = self._workspace.users[message.user]
        fields: Json = {
            "user": message.user,
            "text": message.text,
            "ts": message.ts,
            "channel": channel.id,
            "team": speaker.team_id if speaker.is_bot else seed.TEAM.id,
            "event_ts": message.ts,
        }
        if message.app is not None:
            fields |= {"bot_id": message.app.bot_id, "app_id": message.app.id}
        elif speaker.is_bot:
            fields["bot_id"] = f"B{message.user[1:]}"
        if message.is_reply:
            fields["thread_ts"] = message.thread_ts
        if channel.direct is not None:
            fields["channel_type"] = "im"
            self.fire("message", subscription="message.im", from_team=team, **fields)
        elif f"<@{seed.BOT.id}>" in message.text and message.user != seed.BOT.id:
            self.fire("app_mention", from_team=team, **fields)

    def member_joined(self, user: str, channel: Channel, *, inviter: str = "") -> None:
        """Tell that someone, or the bot, joined a channel."""
        invited = {"inviter": inviter} if inviter else {}
        self.fire(
            "member_joined_channel",
            user=user,
            channel=channel.id,
            channel_type="G" if channel.is_private else "C",
            team=seed.TEAM.id,
            **invited,
        )


def _encoded(kind: Kind, payload: Json) -> tuple[bytes, str]:
    """Return the HTTP body and content type of a payload."""
    if kind == "events_api":
        return json.dumps(payload).encode(), JSON_TYPE
    form = payload if kind == "slash_commands" else {"payload": json.dumps(payload)}
    return urlencode(form).encode(), FORM_TYPE


def _parsed(body: str) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body
