"""One reply is one card in a channel, whatever is subscribed and in whatever order its events come."""

from __future__ import annotations

import asyncio
import json

import pytest
import sqlalchemy as sa

from shared.records.audit import Actor
from shared.settings.sections import RouteRule
from shared.store import Store, open_store
from shared.store.deliveries import Arrival
from tests.bot.manual_clock import CHANNEL, HOUR, ManualClock, post_all, routes

EVERYTHING = tuple(RouteRule(channel=one, events=("*",)) for one in (CHANNEL, "C2"))
ALL = routes(rules=EVERYTHING, mention="here")


def event(kind: str, *, reply: str = "Yes, call me.", lead: str = "ada@acme.example") -> bytes:
    fields = {"event": kind, "lead": {"email": lead, "first_name": "Ada"}, "sequence": "Q3", "reply": reply}
    return json.dumps({name: value for name, value in fields.items() if value}).encode()


async def arrive(store: Store, *bodies: bytes) -> None:
    batch = [Arrival(workspace="default", body=body, at=store.database.clock()) for body in bodies]
    await store.arrivals.append(batch)
    await store.deliveries.route(ALL.decide)


async def cards(store: Store) -> list[tuple[str, str]]:
    """Channel and kind of event of every alert's card, as it would be drawn now."""
    query = sa.text(
        "SELECT posts.channel, alerts.kind FROM posts JOIN alerts ON alerts.id = posts.alert_id"
        " WHERE posts.kind = 'alert' ORDER BY posts.channel, alerts.kind"
    )
    return await store.database.read(lambda tx: [tuple(row) for row in tx.execute(query)])


BOTH = [(CHANNEL, "reply.interested"), ("C2", "reply.interested")]


@pytest.mark.parametrize("first", ["lead.replied", "lead.unsubscribed"])
async def test_an_opt_out_by_a_link_is_apart_from_the_leads_reply(store: Store, first: str) -> None:
    bodies = {
        "lead.replied": event("lead.replied"),
        # By a link the lead writes no words: this is no copy of the reply.
        "lead.unsubscribed": event("lead.unsubscribed", reply=""),
    }
    await arrive(store, bodies.pop(first))
    await arrive(store, *bodies.values())
    assert sorted({kind for _, kind in await cards(store)}) == ["lead.replied", "lead.unsubscribed"]
    assert len(await cards(store)) == 4


async def test_who_claimed_a_reply_has_it_when_its_card_says_more(store: Store, clock: ManualClock) -> None:
    await arrive(store, event("lead.replied"))
    (first, *_) = await post_all(store, clock)
    ann = Actor(name="ann", id="U1", face="slack")
    assert await store.alerts.act(first.alert_id, "claim", ann)
    await arrive(store, event("reply.interested"))
    claims = [await store.alerts.find(reply.alert_id) for _, reply in await store.records.own_replies("U1")]
    (claimed,) = [alert for alert in claims if alert and alert.kind == "reply.interested"]
    assert (claimed.claimed_name, claimed.waiting_since) == ("ann", None)
    assert (await store.records.open_replies("default")).count == 0


@pytest.mark.parametrize("later", [1.0, 2 * HOUR])
async def test_a_repeat_of_what_took_over_a_card_posts_no_other(
    store: Store, clock: ManualClock, later: float
) -> None:
    for kind in ("lead.replied", "reply.interested"):
        await arrive(store, event(kind))
        await post_all(store, clock)
    for kind in ("lead.replied", "reply.interested"):
        clock.now += later
        await arrive(store, event(kind))
    assert [post.kind for post in await post_all(store, clock)] == []


async def test_an_event_without_the_words_belongs_to_the_reply_just_before(store: Store) -> None:
    await arrive(store, event("lead.replied", reply=""))
    await arrive(store, event("reply.ooo"))
    assert await cards(store) == [(CHANNEL, "reply.ooo"), ("C2", "reply.ooo")]


async def test_another_reply_and_another_lead_have_cards_of_their_own(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, event("reply.interested"))
    await arrive(store, event("lead.replied", reply="And tomorrow?"))
    await arrive(store, event("lead.replied", lead="bob@acme.example"))
    assert len(await cards(store)) == 6
    clock.now += 2 * HOUR
    await arrive(store, event("lead.replied"))
    assert len(await cards(store)) == 8, "so much later it is another reply"


async def test_two_processes_at_once_make_one_card(url: sa.URL, clock: ManualClock) -> None:
    async with open_store(url, clock=clock) as one, open_store(url, clock=clock) as other:
        for lead in range(10):
            batch = [
                [Arrival(workspace="default", body=event(kind, lead=f"a{lead}@b.example"), at=clock.now)]
                for kind in ("lead.replied", "reply.interested")
            ]
            for arrivals in batch:
                await one.arrivals.append(arrivals)
            await asyncio.gather(
                # Each process takes one of the two events, and neither sees the other's card when it begins.
                *(store.deliveries.route(ALL.decide, limit=1) for store in (one, other)),
            )
            await one.deliveries.route(ALL.decide)
        assert await cards(one) == sorted(BOTH * 10)
