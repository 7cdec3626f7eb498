"""The OpenAPI document says what generators ask for, and every dial is written down."""

from __future__ import annotations

import json
from pathlib import Path

import httpx

from sandbox.service import Service


async def test_the_document_promises_no_status_that_is_never_answered(service: Service) -> None:
    async with httpx.AsyncClient(verify=False, base_url=service.origin) as client:
        spec = (await client.get("/openapi.json")).json()
    answers = {
        status
        for methods in spec["paths"].values()
        for one in methods.values()
        for status in one["responses"]
    }
    assert answers == {"200", "201", "400", "401", "404", "429"}
    assert "ValidationError" not in json.dumps(spec)


async def test_every_dial_is_written_down(service: Service) -> None:
    text = (Path(__file__).parents[4] / "docs" / "sandbox.md").read_text("utf-8")
    async with httpx.AsyncClient(verify=False, base_url=service.origin) as client:
        paths = (await client.get("/control/openapi.json")).json()["paths"]
    assert len(paths) > 1
    assert [path for path in paths if path not in text] == []


async def test_the_document_has_what_generators_ask_for(service: Service) -> None:
    async with httpx.AsyncClient(verify=False, base_url=service.origin) as client:
        spec = (await client.get("/openapi.json")).json()
        front = await client.get("/", follow_redirects=True)
    assert front.url.path == "/openapi.json"
    assert spec["servers"][0]["url"] == service.base_url
    assert set(spec["paths"]) == {
        *("/leads", "/leads/{id}", "/sequences", "/sequences/{id}", "/inboxes", "/stats", "/webhooks")
    }
    assert {"LeadStatus", "SequenceStatus", "InboxStatus", "Grouping", "EventKind"} <= set(
        spec["components"]["schemas"]
    )
    [scheme] = spec["components"]["securitySchemes"].values()
    assert (scheme["scheme"], "api_keys" in spec["info"]["description"]) == ("bearer", True)
    operations = [one for methods in spec["paths"].values() for one in methods.values()]
    assert {one["operationId"] for one in operations} == {
        *("list_leads", "add_leads", "remove_lead", "list_sequences", "change_sequence"),
        *("list_inboxes", "read_stats", "subscribe"),
    }
    assert all("Retry-After" in one["responses"]["429"]["headers"] for one in operations)
