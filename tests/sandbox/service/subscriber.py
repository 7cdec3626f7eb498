"""A subscriber of ten lines, and what a test wants to know of it."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from dataclasses import dataclass
from typing import Any, Self

import httpx
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
    """Answers what it is told to, and remembers what it was sent."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.answers: list[int] = []
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
        return web.Response(status=status, headers={"Location": "/elsewhere"} if status // 100 == 3 else {})

    async def wait_for(self, count: int) -> list[Received]:
        """The first so many deliveries, as soon as they are here."""
        async with asyncio.timeout(TIMEOUT), self._arrived:
            await self._arrived.wait_for(lambda: len(self.received) >= count)
        return self.received[:count]


KINDS = [
    "lead.replied",
    "reply.interested",
    "reply.ooo",
    "lead.bounced",
    "lead.unsubscribed",
    "sequence.completed",
    "domain.paused",
]


async def subscribe(api: httpx.AsyncClient, url: str, *kinds: str) -> str:
    response = await api.post("/webhooks", json={"url": url, "events": list(kinds) or KINDS})
    assert response.status_code == 201, response.text
    assert response.json()["id"].startswith("wh_")
    return str(response.json()["secret"])


async def happen(control: httpx.AsyncClient, kind: str, **request: Any) -> None:
    response = await control.post("/events", json={"kind": kind} | request)
    assert response.status_code == 201, response.text


async def deliveries(control: httpx.AsyncClient, **query: str) -> list[dict[str, Any]]:
    return list((await control.get("/deliveries", params=query)).json()["data"])
