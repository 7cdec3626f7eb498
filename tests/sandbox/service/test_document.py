"""The document, sentence by sentence: its endpoints, limits, events and deliveries."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial
from itertools import pairwise
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.service import Service
from sandbox.service.deliveries import RETRIES, retry_at
from sandbox.service.moments import DAY
from tests.kit.waiting import until
from tests.sandbox.receiver import Receiver
from tests.sandbox.service.conftest import (
    KINDS,
    add,
    client_of,
    deliveries,
    everyone,
    happen,
    sequence_id,
    subscribe,
)


async def test_a_missing_or_unknown_key_yields_401_with_code_unauthorized(service: Service) -> None:
    for headers in ({}, {"Authorization": "Bearer nonsense"}, {"Authorization": "Basic " + "x" * 20}):
        async with httpx.AsyncClient(verify=False, base_url=service.base_url) as stranger:
            response = await stranger.get("/leads", headers=headers)
            assert (response.status_code, response.json()["error"]["code"]) == (401, "unauthorized")


async def test_each_key_is_scoped_to_one_workspace(api: httpx.AsyncClient, globex: httpx.AsyncClient) -> None:
    for path in ("/sequences", "/inboxes", "/leads?limit=100"):
        mine = {item["id"] for item in (await api.get(path)).json()["data"]}
        theirs = {item["id"] for item in (await globex.get(path)).json()["data"]}
        assert mine
        assert theirs
        assert not mine & theirs


async def test_a_resource_that_exists_in_another_workspace_is_reported_as_404_not_found(
    api: httpx.AsyncClient, globex: httpx.AsyncClient
) -> None:
    sequence = await sequence_id(globex)
    lead = (await globex.get("/leads?limit=1")).json()["data"][0]["id"]
    answers = [
        await api.patch(f"/sequences/{sequence}", json={"status": "paused"}),
        await api.delete(f"/leads/{lead}"),
        await add(api, sequence, "someone@firm.example"),
        await api.get("/leads", params={"sequence_id": sequence}),
    ]
    # The document: 404, and not 403, which would say that it exists.
    assert [(one.status_code, one.json()["error"]["code"]) for one in answers] == [(404, "not_found")] * 4
    assert (await globex.get("/leads?limit=1")).json()["data"][0]["id"] == lead


async def test_lists_the_sequences_with_their_status_and_step_count(api: httpx.AsyncClient) -> None:
    sequences = (await api.get("/sequences")).json()["data"]
    assert len(sequences) == 12
    assert all(one["id"].startswith("sq_") and one["steps"] > 1 for one in sequences)
    assert {one["status"] for one in sequences} == {"active", "paused"}
    assert [one["name"] for one in sequences].count("Webinar follow-up") == 2


async def test_active_to_resume_and_paused_to_pause(api: httpx.AsyncClient) -> None:
    sequence = await sequence_id(api)
    # Each twice: a PATCH that changes nothing isn't an error, so that a client may repeat one.
    for status in ("paused", "paused", "active", "active"):
        response = await api.patch(f"/sequences/{sequence}", json={"status": status})
        assert (response.status_code, response.json()["status"]) == (200, status)
        assert (await api.get("/sequences")).json()["data"][0]["status"] == status


@pytest.mark.usefixtures("small_account")
async def test_a_paused_sequence_sends_nothing(api: httpx.AsyncClient, control: httpx.AsyncClient) -> None:
    for sequence in (await api.get("/sequences")).json()["data"]:
        await api.patch(f"/sequences/{sequence['id']}", json={"status": "paused"})
    before = await _sends(api)
    assert before
    await control.post("/time", json={"advance": 86_400})
    assert await _sends(api) == before
    await api.patch(f"/sequences/{sequence['id']}", json={"status": "active"})


async def _sends(api: httpx.AsyncClient) -> int:
    query = {"from": "2020-01-01", "to": "2100-01-01"}
    return sum(row["sends"] for row in (await api.get("/stats", params=query)).json()["data"])


async def test_health_is_updated_daily(
    service: Service, api: httpx.AsyncClient, control: httpx.AsyncClient
) -> None:
    before = (await api.get("/inboxes")).json()["data"]
    await control.post("/time", json={"advance": DAY - service.now() % DAY + 60})
    after = (await api.get("/inboxes")).json()["data"]
    changed = sum(old["health_score"] != new["health_score"] for old, new in zip(before, after, strict=True))
    assert changed > 50


@pytest.fixture
def today(service: Service) -> dt.date:
    return dt.datetime.fromtimestamp(service.now(), dt.UTC).date()


async def test_every_grouping_adds_up_to_the_same_totals(
    api: httpx.AsyncClient, control: httpx.AsyncClient
) -> None:
    await control.post("/time", json={"advance": 43_200})
    totals = [await _totals(api, group_by=by) for by in ("sequence", "variant", "step", "inbox")]
    assert totals[0][0] > 30_000
    # One send is one row of each grouping: what one of them lost would be missing in its total.
    assert all(total == totals[0] for total in totals)


async def test_when_both_from_and_to_are_omitted_the_range_is_the_last_30_days(
    api: httpx.AsyncClient, today: dt.date
) -> None:
    query = {"from": str(today - dt.timedelta(days=29)), "to": str(today)}
    assert (await api.get("/stats")).json() == (await api.get("/stats", params=query)).json()
    longer = {"from": str(today - dt.timedelta(days=34)), "to": str(today)}
    assert await _totals(api) != await _totals(api, **longer)


async def test_one_end_alone_is_completed(api: httpx.AsyncClient, today: dt.date) -> None:
    # The document leaves open what one end alone means: the sandbox completes it to the default range.
    start = str(today - dt.timedelta(days=29))
    expected = await _totals(api)
    assert await _totals(api, **{"from": start}) == expected
    assert await _totals(api, to=str(today)) == expected
    assert await _totals(api, to="0001-01-01") == [0, 0, 0, 0]


async def _totals(api: httpx.AsyncClient, **query: str) -> list[int]:
    rows = (await api.get("/stats", params=query)).json()["data"]
    return [sum(row[name] for row in rows) for name in ("sends", "replies", "positive_replies", "meetings")]


STATUSES = {"active", "replied", "interested", "bounced", "unsubscribed", "completed"}


async def test_limit_is_1_to_100_default_25(api: httpx.AsyncClient) -> None:
    assert len((await api.get("/leads")).json()["data"]) == 25
    for limit in (1, 100):
        assert len((await api.get("/leads", params={"limit": limit})).json()["data"]) == limit


async def test_to_get_the_next_page_the_client_passes_next_cursor_as_cursor(
    api: httpx.AsyncClient, service: Service
) -> None:
    leads = await everyone(api, limit=100)
    assert len(leads) == len({lead["id"] for lead in leads}) > 5_000
    created = [lead["created_at"] for lead in leads]
    assert created == sorted(created, reverse=True)


async def test_newest_first_stays_right_while_leads_are_added(api: httpx.AsyncClient) -> None:
    before = [lead["id"] for lead in await everyone(api, limit=100)]
    sequence = await sequence_id(api)
    seen = list[str]()
    cursor = ""
    for page_number in range(5):
        await add(api, sequence, f"late{page_number}@firm.example")
        page = (
            await api.get("/leads", params={"limit": "10"} | ({"cursor": cursor} if cursor else {}))
        ).json()
        seen += [lead["id"] for lead in page["data"]]
        cursor = page["next_cursor"]
    # The first page has the lead that was just added; a cursor by offset would repeat one on each page after that.
    assert seen[1:] == before[:49]
    assert (await api.get("/leads?limit=1")).json()["data"][0]["email"] == "late4@firm.example"


async def test_status_and_sequence_id_filter(api: httpx.AsyncClient) -> None:
    sequence = await sequence_id(api)
    whole = await everyone(api, limit=100)
    for status in STATUSES:
        expected = [lead["id"] for lead in whole if lead["status"] == status]
        assert [lead["id"] for lead in await everyone(api, limit=100, status=status)] == expected
        assert expected
    both = [lead["id"] for lead in await everyone(api, limit=100, status="active", sequence_id=sequence)]
    assert both
    assert both == [
        lead["id"] for lead in whole if (lead["status"], lead["sequence_id"]) == ("active", sequence)
    ]


async def test_adds_up_to_1000_leads_to_a_sequence(api: httpx.AsyncClient) -> None:
    sequence = await sequence_id(api)
    # The document: up to 1,000 leads.
    response = await add(api, sequence, *(f"n{number}@thousand.example" for number in range(1_000)))
    assert (response.status_code, response.json()) == (201, {"added": 1_000, "skipped": []})


async def test_duplicates_and_blocklisted_addresses_are_skipped_and_reported(api: httpx.AsyncClient) -> None:
    sequence = await sequence_id(api)
    await add(api, sequence, "known@firm.example")
    response = await add(
        api,
        sequence,
        "new@firm.example",
        "known@firm.example",
        "NEW@firm.example",
        "anyone@competitor.example",
        "legal@bigbank.example",
    )
    assert response.json() == {
        "added": 1,
        "skipped": [
            {"email": "known@firm.example", "reason": "duplicate"},
            {"email": "NEW@firm.example", "reason": "duplicate"},
            {"email": "anyone@competitor.example", "reason": "blocklisted"},
            {"email": "legal@bigbank.example", "reason": "blocklisted"},
        ],
    }


async def test_names_company_and_any_custom_fields_are_kept(api: httpx.AsyncClient) -> None:
    # The document: any further fields. One has the name of a lead's own field, and must not replace it.
    custom = {"status": "vip", "tags": ["a", {"b": None}], "note": "\u0000 \u202e", "n": 1.5}
    await add(api, await sequence_id(api), "ada@firm.example", first_name="Ada", company="Firm", **custom)
    lead = (await api.get("/leads?limit=1")).json()["data"][0]
    assert (lead["email"], lead["first_name"], lead["last_name"]) == ("ada@firm.example", "Ada", None)
    assert lead["custom_fields"] == custom
    assert lead["status"] == "active"


async def test_removes_the_lead_from_all_sequences(api: httpx.AsyncClient) -> None:
    for place in (0, 1):
        await add(api, await sequence_id(api, place), "leaving@firm.example")
    lead = (await api.get("/leads?limit=1")).json()["data"][0]
    response = await api.delete(f"/leads/{lead['id']}")
    assert (response.status_code, response.json()) == (200, {"id": lead["id"], "removed": True})
    assert "leaving@firm.example" not in {
        one["email"] for one in (await api.get("/leads?limit=5")).json()["data"]
    }
    assert (await api.delete(f"/leads/{lead['id']}")).status_code == 404


ENDPOINTS = [
    ("GET", "/leads"),
    ("POST", "/leads"),
    ("DELETE", "/leads/ld_00000000"),
    ("GET", "/sequences"),
    ("PATCH", "/sequences/sq_00000000"),
    ("GET", "/inboxes"),
    ("GET", "/stats"),
    ("POST", "/webhooks"),
]


@pytest.fixture
async def strict() -> AsyncIterator[Service]:
    """The service with its limiter on."""
    async with Service(speed=0) as service:
        yield service


async def test_all_endpoints_spend_from_one_allowance_whatever_they_answer(strict: Service) -> None:
    async with client_of(strict, "acme") as api:
        answers = await asyncio.gather(*(api.request(*endpoint, json={}) for endpoint in ENDPOINTS * 8))
        refused = Counter(
            (answer.request.method, answer.request.url.path.removeprefix("/v1"))
            for answer in answers
            if answer.status_code == 429
        )
    assert set(refused) == set(ENDPOINTS)
    # At least: on a slow machine a second ends while the requests are answered.
    assert len(answers) - refused.total() >= 10


async def test_each_key_has_its_own_allowance_which_is_there_again_after_retry_after(strict: Service) -> None:
    async with client_of(strict, "acme") as api, client_of(strict, "globex") as globex:
        while (answer := await api.get("/sequences")).status_code != 429:
            pass
        assert (await globex.get("/sequences")).status_code == 200
        # A wait in real time: the limiter counts by it, and not by the sandbox's clock, which stands still.
        await asyncio.sleep(int(answer.headers["Retry-After"]))
        assert (await api.get("/sequences")).status_code == 200


async def written_to(api: httpx.AsyncClient) -> dict[str, Any]:
    """An active lead that has been sent the first step."""
    return next(lead for lead in await everyone(api, limit=100, status="active") if lead["step"] == 1)


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


async def test_a_delivery_is_signed_and_what_the_document_says(
    api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    # The document: X-Service-Signature is an HMAC of the raw body. Letters beyond ASCII would show a body that was read and written again.
    reply = "Überraschung 🎉 <!channel>\u2028"
    secret = await subscribe(api, receiver.url, "reply.interested")
    await happen(control, "reply.interested", reply=reply)
    [delivery] = await receiver.wait_for(1)
    assert delivery.signed_with(secret)
    assert not delivery.signed_with(secret + "x")
    assert delivery.headers["Content-Type"] == "application/json"
    payload = json.loads(delivery.body)
    assert set(payload) == {"event", "lead", "sequence", "step", "reply", "inbox"}
    assert set(payload["lead"]) == {"email", "first_name", "company"}
    assert all(isinstance(value, str) for value in payload["lead"].values())
    assert (payload["event"], payload["reply"], type(payload["step"])) == ("reply.interested", reply, int)
    assert payload["sequence"] in {one["name"] for one in (await api.get("/sequences")).json()["data"]}
    assert payload["inbox"] in {one["email"] for one in (await api.get("/inboxes")).json()["data"]}


async def test_a_subscription_receives_only_the_kinds_it_lists_and_only_of_its_workspace(
    api: httpx.AsyncClient, globex: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    await subscribe(globex, receiver.url)
    await subscribe(api, receiver.url, "lead.bounced")
    await happen(control, "reply.interested")
    await happen(control, "lead.bounced")
    await until(lambda: _settled(control))
    assert [json.loads(one.body)["event"] for one in receiver.received] == ["lead.bounced"]


async def _settled(control: httpx.AsyncClient) -> bool:
    return not await deliveries(control, state="pending") and bool(await deliveries(control))


async def test_a_failure_is_anything_but_a_2xx(
    api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    # The document says 2xx alone is success: a redirect is not followed, and 410 ends nothing.
    receiver.answers = [301, 304, 400, 401, 404, 410, 500, 503, 200, 202, 204]
    for _ in receiver.answers:
        await subscribe(api, receiver.url, "lead.bounced")
    await happen(control, "lead.bounced")
    await until(lambda: _all_attempted(control, 11))
    states = [one["state"] for one in await deliveries(control)]
    assert (states.count("pending"), states.count("delivered")) == (8, 3)
    assert [one.path for one in receiver.received] == ["/hook"] * 11


@pytest.mark.usefixtures("small_account")
async def test_a_failed_delivery_is_retried_5_times_over_24_hours_byte_for_byte(
    globex: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    await subscribe(globex, receiver.url, "domain.paused")
    receiver.status = 500
    await happen(control, "domain.paused", workspace="globex")
    await receiver.wait_for(1)
    # Just after each retry is due: the gaps of the sandbox are about 1 min, 10 min, 1 h, 5 h and 18 h.
    for count, seconds in enumerate((70, 670, 4_000, 20_000, 70_000), start=2):
        await until(partial(_made, control, count - 1))
        await control.post("/time", json={"advance": seconds})
        await receiver.wait_for(count)
    await until(lambda: _made(control, 6))
    # Nothing more comes after the fifth retry, however long it is waited for.
    await control.post("/time", json={"advance": DAY})
    [delivery] = await deliveries(control)
    assert (delivery["state"], delivery["attempts"]) == ("failed", 6)
    assert {one.body for one in receiver.received} == {delivery["body"].encode()}
    assert delivery["last_answer"] == 500


async def _made(control: httpx.AsyncClient, attempts: int) -> bool:
    return any(one["attempts"] >= attempts for one in await deliveries(control))


@pytest.mark.parametrize("patience", [2.0])
async def test_a_timeout_is_a_failure_and_delays_no_other(
    patience: float, api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    async with Receiver() as slow:
        slow.delay = 10 * patience
        await subscribe(api, slow.url, "lead.bounced")
        await subscribe(api, "http://127.0.0.1:1/nobody", "lead.bounced")
        await subscribe(api, receiver.url, "lead.bounced")
        await happen(control, "lead.bounced", count=20)
        await receiver.wait_for(20)
        waiting = [one for one in await deliveries(control) if not one["attempts"]]
        assert len(waiting) >= 20, "nobody waited until the slow one had failed"
        await until(lambda: _all_attempted(control, 60))
    found = await deliveries(control)
    assert Counter(one["state"] for one in found) == {"delivered": 20, "pending": 40}
    assert [one["last_answer"] for one in found].count("timeout") == 20


async def _all_attempted(control: httpx.AsyncClient, count: int) -> bool:
    found = await deliveries(control)
    return len(found) == count and all(one["attempts"] for one in found)


@given(key=st.integers(), first=st.floats(0, 4e9))
def test_retries_come_with_growing_gaps_within_24_hours(key: int, first: float) -> None:
    times = [first, *(retry_at(first, attempts, key=key) or 0.0 for attempts in range(1, RETRIES + 1))]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert gaps == sorted(gaps)
    assert gaps[0] > 50
    assert DAY * 0.85 < times[-1] - first <= DAY + 0.001
    assert retry_at(first, RETRIES + 1, key=key) is None
