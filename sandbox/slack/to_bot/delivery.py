"""From Slack to the bot: signed requests or Socket Mode envelopes, three seconds, redelivery of events."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import aiohttp

from sandbox.slack.state.model import App
from sandbox.slack.state.settings import AppSettings, Clock, Credentials, Settings
from sandbox.slack.state.traffic import Traffic
from sandbox.slack.to_bot.sockets import NoConnectionError, Sockets

_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ack:
    """The body of an acknowledgement, or Slack's error when there is none."""

    body: Any
    ms: float
    status: int | None = None
    error: str | None = None
    reason: str | None = None
    no_retry: bool = False

    @property
    def ok(self) -> bool:
        return self.error is None

    def to_json(self) -> dict[str, Any]:
        shown = {"ok": self.ok, "ms": round(self.ms, 2), "status": self.status, "error": self.error}
        return {**shown, "body": self.body}


def encoded(kind: str, payload: dict[str, Any]) -> tuple[bytes, str]:
    """The HTTP body and content type of a payload."""
    if kind == "events_api":
        return json.dumps(payload).encode(), "application/json"
    if kind == "slash_commands":
        return urlencode(payload).encode(), _FORM
    return urlencode({"payload": json.dumps(payload)}).encode(), _FORM


def _parsed(body: str) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body


def signature_headers(body: bytes, *, secret: str, now: float) -> dict[str, str]:
    """Slack's request signature, version 0 (docs.slack.dev/authentication/verifying-requests-from-slack)."""
    timestamp = str(int(now))
    base = b"v0:" + timestamp.encode() + b":" + body
    digest = hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={digest}"}


class Requests:
    """Slack's HTTP client, opened by the first request."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(trust_env=False)
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


@dataclass(slots=True, kw_only=True, eq=False)
class Delivery:
    """Sends to one app over whichever transport it uses, and records how that went."""

    app: App
    settings: AppSettings
    limits: Settings
    credentials: Credentials
    clock: Clock
    sockets: Sockets
    traffic: Traffic
    requests: Requests
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def forget(self) -> list[asyncio.Task[None]]:
        """Give up events that are still to be delivered."""
        running = list(self._tasks)
        for task in running:
            task.cancel()
        return running

    async def close(self) -> None:
        await asyncio.gather(*self.forget(), return_exceptions=True)

    @property
    def by_socket(self) -> bool:
        return bool(self.sockets.ready)

    async def send(
        self, kind: str, payload: dict[str, Any], *, name: str, attempt: int = 0, reason: str | None = None
    ) -> Ack:
        """Deliver once and wait for the acknowledgement, at most the three seconds that Slack waits."""
        started, name = time.perf_counter(), name[:120]
        via = "socket" if self.by_socket else "http"
        transport = self._by_socket if via == "socket" else self._by_http
        try:
            ack = await transport(kind, payload, started=started, attempt=attempt, reason=reason)
        except TimeoutError:
            reason = "timeout" if via == "socket" else "http_timeout"
            ack = Ack(body=None, ms=_since(started), error="operation_timeout", reason=reason)
        except (NoConnectionError, aiohttp.ClientError, OSError, ValueError):
            ack = Ack(body=None, ms=_since(started), error="dispatch_failed", reason="connection_failed")
        self.traffic.record(
            "to_bot",
            name,
            at=self.clock.now(),
            ms=ack.ms,
            ok=ack.ok,
            status=ack.status,
            error=ack.error,
            app=self.app.id,
            via=via,
            attempt=attempt,
            request=payload,
            answer=ack.body,
        )
        return ack

    async def _by_socket(
        self, kind: str, payload: Any, *, started: float, attempt: int, reason: str | None
    ) -> Ack:
        seconds = self.limits.ack_seconds
        body = await self.sockets.deliver(kind, payload, seconds=seconds, attempt=attempt, reason=reason)
        return Ack(body=body, ms=_since(started))

    async def _by_http(
        self, kind: str, payload: Any, *, started: float, attempt: int, reason: str | None
    ) -> Ack:
        if self.settings.request_url is None:
            raise NoConnectionError
        body, content_type = encoded(kind, payload)
        headers = {
            "Content-Type": content_type,
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
        }
        if attempt:
            headers |= {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": reason or "unknown_error"}
        return await self._request(self.settings.request_url, body, headers, started=started)

    async def _request(self, url: str, body: bytes, headers: dict[str, str], *, started: float) -> Ack:
        # By the bot's clock, which doesn't follow the one here when that is advanced.
        headers |= signature_headers(body, secret=self.credentials.signing_secret, now=time.time())
        async with (
            asyncio.timeout(self.limits.ack_seconds),
            self.requests.session.post(url, data=body, headers=headers, allow_redirects=False) as response,
        ):
            text = await response.text(errors="replace")
            good = 200 <= response.status < 300
            return Ack(
                body=_parsed(text),
                ms=_since(started),
                status=response.status,
                error=None if good else "dispatch_failed",
                reason=None if good else "http_error",
                no_retry=response.headers.get("X-Slack-No-Retry") == "1",
            )

    def event(self, payload: dict[str, Any]) -> None:
        """Deliver an event in the background, and again until it is acknowledged or the retries are used up."""
        name = f"event {payload['event']['type']}"
        task = asyncio.create_task(self._deliver_event(payload, name=name), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver_event(self, payload: dict[str, Any], *, name: str) -> None:
        ack = await self.send("events_api", payload, name=name)
        for attempt, pause in enumerate(self.limits.retry_seconds, start=1):
            if ack.ok or ack.no_retry:
                return
            await asyncio.sleep(pause)
            ack = await self.send("events_api", payload, name=name, attempt=attempt, reason=ack.reason)

    async def challenge(self, url: str) -> bool:
        """Whether `url` answers Slack's url_verification."""
        body = {
            "token": self.credentials.verification_token,
            "challenge": "sandbox",
            "type": "url_verification",
        }
        raw, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
        with contextlib.suppress(aiohttp.ClientError, OSError, ValueError, TimeoutError):
            ack = await self._request(url, raw, headers, started=time.perf_counter())
            answer = ack.body.get("challenge") if isinstance(ack.body, dict) else ack.body
            return ack.ok and answer == "sandbox"
        return False


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
