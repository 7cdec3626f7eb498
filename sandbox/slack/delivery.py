"""From Slack to the bot: signed requests or envelopes, three seconds, events sent again."""

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

from sandbox.slack.model import Json
from sandbox.slack.sockets import NoConnectionError, Sockets
from sandbox.slack.workspace import Workspace

Kind = Literal["events_api", "slash_commands", "interactive"]
JSON_TYPE = "application/json"
FORM_TYPE = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ack:
    """The body of an acknowledgement, or Slack's error where there was none."""

    body: Any
    ms: float
    status: int | None = None
    error: str | None = None
    reason: str | None = None
    no_retry: bool = False

    @property
    def ok(self) -> bool:
        return self.error is None

    def to_json(self) -> Json:
        return {
            "ok": self.ok,
            "ms": round(self.ms, 2),
            "status": self.status,
            "error": self.error,
            "body": self.body,
        }


class Delivery:
    """Sends to the bot over the transport that it uses, and records how that went."""

    def __init__(self, workspace: Workspace, sockets: Sockets) -> None:
        self._workspace = workspace
        self._sockets = sockets
        self._session: aiohttp.ClientSession | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def open_connections(self) -> int:
        return len(self._sockets.ready)

    def forget(self) -> None:
        """Give up the events that are still to be delivered."""
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        self.forget()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    async def send(
        self,
        kind: Kind,
        payload: Json,
        *,
        name: str,
        attempt: int = 0,
        reason: str | None = None,
    ) -> Ack:
        """Deliver once, and wait for the acknowledgement as long as Slack waits."""
        started = time.perf_counter()
        by_socket = self.open_connections > 0
        try:
            if by_socket:
                seconds = self._workspace.settings.ack_seconds
                body = await self._sockets.deliver(
                    kind, payload, seconds=seconds, attempt=attempt, reason=reason
                )
                ack = Ack(body=body, ms=_ms_since(started))
            else:
                headers = _retry_headers(attempt, reason)
                ack = await self.post(*_encoded(kind, payload), headers=headers)
        except TimeoutError:
            reason = "timeout" if by_socket else "http_timeout"
            ack = Ack(body=None, ms=_ms_since(started), error="operation_timeout", reason=reason)
        except (NoConnectionError, aiohttp.ClientError, OSError, ValueError):
            ack = Ack(
                body=None,
                ms=_ms_since(started),
                error="dispatch_failed",
                reason="connection_failed",
            )
        self._workspace.traffic.record(
            "to_bot",
            name[:120],
            at=self._workspace.clock.now(),
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

    async def post(
        self,
        body: bytes,
        content_type: str,
        *,
        url: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Ack:
        """Send a signed request to the bot.

        Raises `NoConnectionError`, `TimeoutError`, `aiohttp.ClientError` or `OSError`.
        """
        url = url or self._workspace.settings.request_url
        if url is None:
            raise NoConnectionError
        if self._session is None:
            self._session = aiohttp.ClientSession(trust_env=False)
        started = time.perf_counter()
        sent = {"Content-Type": content_type, "User-Agent": "Slackbot 1.0", **(headers or {})}
        sent |= self._signature(body)
        async with (
            asyncio.timeout(self._workspace.settings.ack_seconds),
            self._session.post(url, data=body, headers=sent, allow_redirects=False) as response,
        ):
            text = await response.text(errors="replace")
            good = 200 <= response.status < 300
            return Ack(
                body=_parsed(text),
                ms=_ms_since(started),
                status=response.status,
                error=None if good else "dispatch_failed",
                reason=None if good else "http_error",
                no_retry=response.headers.get("X-Slack-No-Retry") == "1",
            )

    def _signature(self, body: bytes) -> dict[str, str]:
        """https://docs.slack.dev/authentication/verifying-requests-from-slack."""
        # The bot compares the moment with its own clock, which doesn't follow the one here.
        at = str(int(time.time()))
        secret = self._workspace.credentials.signing_secret.encode()
        digest = hmac.new(secret, f"v0:{at}:".encode() + body, hashlib.sha256).hexdigest()
        return {"X-Slack-Request-Timestamp": at, "X-Slack-Signature": f"v0={digest}"}

    def event(self, payload: Json) -> None:
        """Deliver an event in the background, again and again until it is acknowledged."""
        name = f"event {payload['event']['type']}"
        task = asyncio.create_task(self._deliver_event(payload, name), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver_event(self, payload: Json, name: str) -> None:
        ack = await self.send("events_api", payload, name=name)
        pauses = self._workspace.settings.retry_seconds
        for attempt, pause in enumerate(pauses, start=1):
            if ack.ok or ack.no_retry:
                return
            await asyncio.sleep(pause)
            ack = await self.send("events_api", payload, name=name, attempt=attempt, reason=ack.reason)

    async def challenge(self, url: str) -> bool:
        """Ask an address Slack's url_verification; true if it answers right."""
        token = self._workspace.credentials.verification_token
        body = {"token": token, "challenge": "sandbox", "type": "url_verification"}
        try:
            ack = await self.post(json.dumps(body).encode(), JSON_TYPE, url=url)
        except (aiohttp.ClientError, OSError, ValueError, TimeoutError):
            return False
        answer = ack.body.get("challenge") if isinstance(ack.body, dict) else ack.body
        return ack.ok and answer == "sandbox"


def _retry_headers(attempt: int, reason: str | None) -> dict[str, str]:
    if not attempt:
        return {}
    return {
        "X-Slack-Retry-Num": str(attempt),
        "X-Slack-Retry-Reason": reason or "unknown_error",
    }


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


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
