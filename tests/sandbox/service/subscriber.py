"""Subscriptions, events and deliveries of the service, through its APIs."""

from __future__ import annotations

from typing import Any

import httpx

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
