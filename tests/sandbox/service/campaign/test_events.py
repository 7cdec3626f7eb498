"""Section Events of the document: when each kind fires, and what becomes of the lead."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from sandbox.service import Service
from sandbox.service.moments import DAY
from tests.kit.waiting import until
from tests.sandbox.receiver import Receiver
from tests.sandbox.service.subscriber import KINDS, happen, subscribe

STATUS_AFTER = {
    "lead.replied": "replied",
    "reply.interested": "interested",
    "lead.bounced": "bounced",
    "lead.unsubscribed": "unsubscribed",
    "sequence.completed": "completed",
}


async def listed(api: httpx.AsyncClient, **query: str) -> AsyncIterator[dict[str, Any]]:
    """All leads, page after page."""
    cursor: dict[str, str] | None = {}
    while cursor is not None:
        page = (await api.get("/leads", params={"limit": "100"} | query | cursor)).json()
        for lead in page["data"]:
            yield lead
        cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else None


async def written_to(api: httpx.AsyncClient) -> dict[str, Any]:
    """An active lead that has been sent the first step."""
    return await anext(lead async for lead in listed(api, status="active") if lead["step"] == 1)


async def status_of(api: httpx.AsyncClient, lead: dict[str, Any]) -> str:
    of_sequence = listed(api, sequence_id=lead["sequence_id"])
    return str(await anext(one["status"] async for one in of_sequence if one["id"] == lead["id"]))


async def test_a_hard_bounce_and_an_opt_out_block_the_address(
    api: httpx.AsyncClient, control: httpx.AsyncClient
) -> None:
    other = (await api.get("/sequences")).json()["data"][-1]["id"]
    for kind in ("lead.bounced", "lead.unsubscribed"):
        lead = await written_to(api)
        await happen(control, kind, lead=lead["id"])
        body = {"sequence_id": other, "leads": [{"email": lead["email"]}]}
        answer = (await api.post("/leads", json=body)).json()
        assert answer == {"added": 0, "skipped": [{"email": lead["email"], "reason": "blocklisted"}]}


@pytest.mark.e2e
async def test_what_the_campaign_fires_is_what_the_document_says(
    service: Service, api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    await subscribe(api, receiver.url)
    await control.post("/time", json={"advance": 5 * DAY})
    await until(lambda: _none_pending(control), seconds=60.0)
    fired = [json.loads(one.body) for one in receiver.received]
    steps: dict[str, set[int]] = {}
    for one in (await api.get("/sequences")).json()["data"]:
        steps.setdefault(one["name"], set()).add(one["steps"])
    by_kind = {kind: [one for one in fired if one["event"] == kind] for kind in KINDS}
    assert {kind for kind, found in by_kind.items() if found} >= set(KINDS) - {"domain.paused"}
    for one in by_kind["sequence.completed"]:
        assert one["step"] in steps[one["sequence"]]
    today = dt.datetime.fromtimestamp(service.now(), dt.UTC).date()
    # Five days went by in one jump, in which some are back by now.
    for one in by_kind["reply.ooo"]:
        assert dt.date.fromisoformat(one["return_date"]) > today - dt.timedelta(days=5)
    assert {one["bounce_type"] for one in by_kind["lead.bounced"]} == {"hard", "soft"}
    interested = {one["lead"]["email"] for one in by_kind["reply.interested"]}
    assert interested <= {one["lead"]["email"] for one in by_kind["lead.replied"]}


async def _none_pending(control: httpx.AsyncClient) -> bool:
    return not (await control.get("/summary")).json()["deliveries"]["by_state"]["pending"]


@pytest.mark.usefixtures("small_account")
async def test_removed_leads_cause_no_events(
    api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    lead = await written_to(api)
    await subscribe(api, receiver.url)
    await api.delete(f"/leads/{lead['id']}")
    assert (
        await control.post("/events", json={"kind": "lead.replied", "lead": lead["id"]})
    ).status_code == 404
    await control.post("/time", json={"advance": DAY})
    await until(lambda: _none_pending(control), seconds=60.0)
    assert receiver.received
    addresses = [json.loads(one.body).get("lead", {}).get("email") for one in receiver.received]
    assert lead["email"] not in addresses
