"""Deliveries on both engines: which arrivals are the same, which events are one card, and which leads were found."""

from __future__ import annotations

import asyncio
import json

import pytest
import sqlalchemy as sa

from shared.records import Actor
from shared.settings.sections import RouteRule
from shared.store import Store, open_store
from shared.store.deliveries import Arrival, PendingDelivery
from tests.kit.bot import interested
from tests.kit.manual_clock import CHANNEL, HOUR, ManualClock, append, post_all, routes

EVERYTHING = tuple(RouteRule(channel=one, events=("*",)) for one in (CHANNEL, "C2"))
ALL = routes(rules=EVERYTHING, mention="here")


def event(kind: str, *, reply: str = "Yes, call me.", lead: str = "ada@acme.example") -> bytes:
    fields = {"event": kind, "lead": {"email": lead, "first_name": "Ada"}, "sequence": "Q3", "reply": reply}
    return json.dumps({name: value for name, value in fields.items() if value}).encode()


async def arrive(store: Store, *bodies: bytes) -> None:
    await append(store, *bodies)
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
        # By a link the lead writes no words: this isn't a copy of the reply.
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
    claims = await store.own_replies("U1")
    (claimed,) = [alert for alert in claims if alert.kind == "reply.interested"]
    assert (claimed.claimed_name, claimed.waiting_since) == ("ann", None)
    assert (await store.open_replies("default")).count == 0


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


async def routed(store: Store, *, limit: int = 50) -> list[PendingDelivery]:
    return [pending for pending, _ in await store.deliveries.route(routes().decide, limit=limit)]


async def test_a_look_that_fails_leaves_every_arrival_for_the_next(store: Store) -> None:
    await append(store, interested(1), interested(1), interested(2))

    def stumble(pending: PendingDelivery) -> None:
        raise ZeroDivisionError(pending.alert_id)

    # Rows and counts are one transaction: what the failed look has counted is undone with it.
    with pytest.raises(ZeroDivisionError):
        await store.deliveries.route(stumble)  # type: ignore[arg-type]  # it never decides
    assert [pending.arrivals for pending in await routed(store)] == [2, 1]


async def test_repeats_are_detected_per_workspace(store: Store) -> None:
    at = store.database.clock()
    # Two accounts may send the same body: a hash without the workspace would swallow one of them.
    both = [Arrival(workspace=name, body=interested(1), at=at) for name in ("default", "second")]
    await store.arrivals.append(both)
    assert sorted(pending.workspace for pending in await routed(store)) == ["default", "second"]


def from_api(email: str, **more: str) -> dict[str, bytes]:
    lead = {"email": email, **more}
    return {email.lower(): json.dumps({"event": "reply.interested", "lead": lead, "found": "ld_1"}).encode()}


@pytest.mark.parametrize("delivered", ["before the found one is routed", "in the same look"])
async def test_a_delivery_that_comes_while_its_lead_is_being_found_makes_one_alert(
    store: Store, clock: ManualClock, delivered: str
) -> None:
    found = from_api("Straße1@acme.example") | from_api("ada2@acme.example")
    # The first look takes what is there for known, the second sees the leads, the third is after the grace.
    for leads in ({}, found, found):
        await store.found_leads.compare("default", leads, grace=60)
        clock.now += 61
    # A delivery may spell the address in other letters and with spaces: it is the same lead.
    body = interested(1, lead={"email": " STRAßE1@acme.example "})
    await append(store, body)
    for _ in range(3 if "before" in delivered else 1):
        await store.deliveries.route(routes().decide, limit=1 if "before" in delivered else 50)
    assert sorted(reply.email for reply in (await store.open_replies("default")).replies) == [
        "ada2@acme.example",
        "straße1@acme.example",
    ]


async def test_two_processes_that_route_a_lead_and_its_delivery_make_one_alert(
    store: Store, clock: ManualClock
) -> None:
    found: dict[str, bytes] = {}
    for number in range(20):
        found |= from_api(f"ada{number}@acme.example")
    await store.found_leads.compare("default", {}, grace=60)
    await store.found_leads.compare("default", found, grace=60)
    clock.now += 61
    for number, one in enumerate(found):
        earlier = 1 if number % 2 else -1  # the delivery is taken first, or what was found
        batch = [Arrival(workspace="default", body=interested(number), at=clock.now - earlier / 10)]
        await store.arrivals.append(batch)
        await store.found_leads.compare("default", {one: found[one]}, grace=60)
        clock.now += 1
    # One at a time, so that a lead and its delivery are routed by different transactions.
    await asyncio.gather(*(store.deliveries.route(routes().decide, limit=1) for _ in range(50)))
    emails = [reply.email for reply in (await store.open_replies("default")).replies]
    assert sorted(emails) == sorted(found)
