"""A server that answers as it is told, and keeps what it was sent: a subscriber of the service, or a bot of Slack's."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import web

TIMEOUT = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    def signed_with(self, secret: str) -> bool:
        expected = hmac.new(secret.encode(), self.body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(expected, self.headers.get("X-Service-Signature", ""))


class Receiver:
    """Answers with the next of `answers`, a status or a JSON object, and with `status` where there is none."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.answers: list[int | dict[str, Any]] = []
        self.status = 200
        self.delay = 0.0
        self._arrived = asyncio.Condition()

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_post("/{path:.*}", self._take)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/hook"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        async with self._arrived:
            self.received.append(Received(path=request.path, headers=dict(request.headers), body=body))
            self._arrived.notify_all()
        await asyncio.sleep(self.delay)
        status = self.answers.pop(0) if self.answers else self.status
        if isinstance(status, dict):
            return web.json_response(status)
        return web.Response(status=status, headers={"Location": "/elsewhere"} if status // 100 == 3 else {})

    async def wait_for(self, count: int) -> list[Received]:
        """The first so many deliveries, as soon as they are here."""
        async with asyncio.timeout(TIMEOUT), self._arrived:
            await self._arrived.wait_for(lambda: len(self.received) >= count)
        return self.received[:count]
