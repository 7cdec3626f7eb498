"""What is forgotten after a month, and what never is."""

from __future__ import annotations

from functools import partial

import httpx
from sqlalchemy import Connection, func, select

from sandbox.service import Service
from sandbox.service.base.clock import DAY
from sandbox.service.base.schema import events
from sandbox.service.campaign.simulation import REPLIES, prune
from tests.sandbox.service.subscriber import KINDS, Receiver, deliveries, happen, subscribe
from tests.waiting import until


async def test_old_deliveries_are_forgotten_and_the_reply_history_is_kept(
    service: Service, api: httpx.AsyncClient, control: httpx.AsyncClient, receiver: Receiver
) -> None:
    founded_replies = await service.state.storage.read(_replies)
    await subscribe(api, receiver.url)
    await subscribe(api, "http://127.0.0.1:1/nobody", "domain.paused")
    for kind in KINDS:
        await happen(control, kind)
    await receiver.wait_for(len(KINDS) + 2)
    await until(lambda: _all_but_one_delivered(control))
    replied = (await deliveries(control, kind="reply.interested"))[0]
    email = httpx.Response(200, text=replied["body"]).json()["lead"]["email"]
    write, at = service.state.storage.write, service.now() + 31 * DAY
    await write(partial(prune, at=service.now() + 29 * DAY, least=0))
    await write(partial(prune, at=at, least=100))
    assert len(await deliveries(control)) == len(KINDS) + 3
    await write(partial(prune, at=at, least=0))
    [kept] = await deliveries(control)
    assert (kept["event"], kept["state"]) == ("domain.paused", "pending")
    assert (await control.get(f"/deliveries/{replied['id']}/attempts")).json()["data"] == []
    history = (await control.get("/history", params={"email": email})).json()["data"]
    assert {one["kind"] for one in history} >= {"lead.replied", "reply.interested"}
    counts = (await control.get("/state")).json()["counts"]
    assert counts["events"] == founded_replies + 6


def _replies(connection: Connection) -> int:
    return int(
        connection.execute(
            select(func.count()).select_from(events).where(events.c.kind.in_(REPLIES))
        ).scalar_one()
    )


async def _all_but_one_delivered(control: httpx.AsyncClient) -> bool:
    states = [one["state"] for one in await deliveries(control)]
    return states.count("delivered") == len(KINDS) + 2
