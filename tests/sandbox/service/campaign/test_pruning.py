"""What is forgotten after a month, and what never is."""

from __future__ import annotations

import httpx
import pytest

from sandbox.service import Service, deliveries
from sandbox.service.campaign import REPLIES
from sandbox.service.moments import DAY
from tests.sandbox.service.subscriber import KINDS, Receiver, happen, subscribe
from tests.sandbox.service.subscriber import deliveries as listed
from tests.waiting import until


@pytest.mark.usefixtures("small_account")
async def test_old_deliveries_are_forgotten_and_the_reply_history_is_kept(
    service: Service,
    api: httpx.AsyncClient,
    control: httpx.AsyncClient,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await subscribe(api, receiver.url)
    for kind in KINDS:
        await happen(control, kind)
    await receiver.wait_for(len(KINDS) + 2)
    await until(lambda: _all_delivered(control))
    replied = (await listed(control, kind="reply.interested"))[0]
    email = httpx.Response(200, text=replied["body"]).json()["lead"]["email"]
    attempts = f"/deliveries/{replied['id']}/attempts"
    await control.post("/time", json={"advance": 31 * DAY})
    service.deliveries.forget()
    assert (await control.get(attempts)).status_code == 200
    monkeypatch.setattr(deliveries, "KEPT", 0)
    service.deliveries.forget()
    assert (await control.get(attempts)).status_code == 404
    history = (await control.get("/history", params={"email": email})).json()["data"]
    assert {one["kind"] for one in history} >= {"lead.replied", "reply.interested"}
    since = service.now() - 32 * DAY
    assert {one.kind for one in service.account.events if one.at < since} <= REPLIES


async def _all_delivered(control: httpx.AsyncClient) -> bool:
    return {one["state"] for one in await listed(control)} == {"delivered"}
