"""The account's first day: its leads, its recorded events and its stats of the last 30 days agree."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import httpx
import pytest

from sandbox.service import Service, payloads
from sandbox.service.moments import DAY, day_of
from tests.sandbox.service.conftest import everyone

FINAL = {
    "replied": "lead.replied",
    "interested": "reply.interested",
    "bounced": "lead.bounced",
    "unsubscribed": "lead.unsubscribed",
    "completed": "sequence.completed",
}


def recorded_by(service: Service) -> list[dict[str, Any]]:
    """The events of acme, each with when it happened."""
    account = service.account
    return [
        json.loads(payloads.body(one, seed=account.seed)) | {"at": one.at}
        for one in account.events
        if one.workspace == 1
    ]


@pytest.mark.parametrize(
    ("grouping", "member"), [("sequence", "sequence"), ("step", "step"), ("inbox", "inbox")]
)
async def test_stats_count_the_recorded_replies(
    service: Service, api: httpx.AsyncClient, grouping: str, member: str
) -> None:
    since = (day_of(service.now()) - 29) * DAY
    recorded = [one for one in recorded_by(service) if one["at"] >= since]
    rows = (await api.get("/stats", params={"group_by": grouping})).json()["data"]
    for kind, column in (("lead.replied", "replies"), ("reply.interested", "positive_replies")):
        expected = Counter(str(one[member]) for one in recorded if one["event"] == kind)
        counted = Counter[str]()
        for row in rows:
            counted[row["group"]] += row[column]
        assert +counted == expected
        assert expected.total() > 50


async def test_the_status_of_each_lead_is_that_of_its_last_event(
    service: Service, api: httpx.AsyncClient
) -> None:
    recorded = recorded_by(service)
    of_address: dict[str, set[str]] = {}
    for one in recorded:
        of_address.setdefault(one["lead"]["email"], set()).add(one["event"])
    leads = await everyone(api, limit=100)
    for lead in leads:
        events = of_address.get(lead["email"], set())
        if lead["status"] == "active":
            assert events <= {"reply.ooo", "lead.bounced"}
        else:
            assert FINAL[lead["status"]] in events
    since = (day_of(service.now()) - 29) * DAY
    listed = {lead["email"] for lead in leads}
    assert {one["lead"]["email"] for one in recorded if one["at"] >= since} <= listed
