"""Deliveries: signed, retried for a day, and no subscriber in another's way."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from itertools import pairwise

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.service.deliveries import RETRIES, retry_at
from sandbox.service.moments import DAY
from tests.kit.waiting import until
from tests.sandbox.receiver import Receiver
from tests.sandbox.service.subscriber import deliveries, happen, subscribe


async def test_every_delivery_carries_an_hmac_sha256_of_the_raw_body_in_hex(
    api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    # The document: X-Service-Signature is an HMAC of the raw body. Letters beyond ASCII would show a body that was read and written again.
    secret = await subscribe(api, receiver.url, "reply.interested")
    await happen(control, "reply.interested", reply="Überraschung 🎉 <!channel>\u2028")
    [delivery] = await receiver.wait_for(1)
    assert delivery.signed_with(secret)
    assert not delivery.signed_with(secret + "x")
    assert delivery.headers["Content-Type"] == "application/json"


async def test_the_payload_of_reply_interested_is_the_documents(
    api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    await subscribe(api, receiver.url, "reply.interested")
    await happen(control, "reply.interested", reply="Yes")
    payload = json.loads((await receiver.wait_for(1))[0].body)
    assert set(payload) == {"event", "lead", "sequence", "step", "reply", "inbox"}
    assert set(payload["lead"]) == {"email", "first_name", "company"}
    assert all(isinstance(value, str) for value in payload["lead"].values())
    assert (payload["event"], payload["reply"], type(payload["step"])) == ("reply.interested", "Yes", int)
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
