"""One reply is one card in a channel, whatever is subscribed and in whatever order its events come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import permutations

import pytest
import sqlalchemy as sa

from bot.store import Store, open_store
from bot.store.queue.intake import Arrival
from bot.store.queue.posts import Post
from shared.domain.alert_settings import Rule
from shared.domain.records import Subscription
from tests.bot.manual_clock import CHANNEL, HOUR, ManualClock, post_all, routes

EVERYTHING = tuple(Rule(subscription=Subscription(channel=one, event="*")) for one in (CHANNEL, "C2"))
ALL = routes(rules=EVERYTHING, mention="here")


@pytest.fixture
async def store(url: sa.URL, clock: ManualClock) -> AsyncIterator[Store]:
    async with open_store(url, clock=clock) as opened:
        yield opened


def event(kind: str, *, reply: str = "Yes, call me.", lead: str = "ada@acme.example") -> bytes:
    fields = {"event": kind, "lead": {"email": lead, "first_name": "Ada"}, "sequence": "Q3", "reply": reply}
    return json.dumps({name: value for name, value in fields.items() if value}).encode()


async def arrive(store: Store, *bodies: bytes, number: int = 1) -> None:
    batch = [Arrival(workspace="default", body=body, at=store.database.clock()) for body in bodies]
    await store.arrivals.append(batch, number=number)
    await store.deliveries.route(ALL.decide)


async def cards(store: Store) -> list[tuple[str, str]]:
    """Channel and kind of event of every alert's card, as it would be drawn now."""
    query = sa.text(
        "SELECT posts.channel, alerts.kind FROM posts JOIN alerts ON alerts.id = posts.alert_id"
        " WHERE posts.kind = 'alert' ORDER BY posts.channel, alerts.kind"
    )
    return await store.database.read(lambda tx: [tuple(row) for row in tx.execute(query)])


BOTH = [(CHANNEL, "reply.interested"), ("C2", "reply.interested")]


@pytest.mark.parametrize("kinds", permutations(("lead.replied", "reply.interested")))
@pytest.mark.parametrize("posted", [True, False])
async def test_two_events_of_a_reply_are_one_card_with_the_one_that_says_more(
    store: Store, clock: ManualClock, *, kinds: tuple[str, ...], posted: bool
) -> None:
    seen: list[Post] = []
    for number, kind in enumerate(kinds):
        await arrive(store, event(kind), number=number)
        seen += await post_all(store, clock) if posted else []
    assert await cards(store) == BOTH
    seen += await post_all(store, clock)
    assert len([post for post in seen if post.kind == "alert"]) == 2
    turned = [(post.kind, post.mention) for post in seen if post.kind != "alert"]
    assert turned == ([("turned", "here")] * 2 if posted and kinds[0] == "lead.replied" else [])
    if turned:
        repainted = await store.repaints.claim(limit=9)
        assert {post.alert and post.alert.event.kind for (post,) in repainted} == {"reply.interested"}


@pytest.mark.parametrize("later", [1.0, 2 * HOUR])
async def test_a_repeat_of_what_took_over_a_card_posts_no_other(
    store: Store, clock: ManualClock, later: float
) -> None:
    for number, kind in enumerate(("lead.replied", "reply.interested")):
        await arrive(store, event(kind), number=number)
        await post_all(store, clock)
    for number, kind in enumerate(("lead.replied", "reply.interested"), start=5):
        clock.now += later
        await arrive(store, event(kind), number=number)
    assert [post.kind for post in await post_all(store, clock)] == []


async def test_events_that_come_together_are_one_card(store: Store, clock: ManualClock) -> None:
    await arrive(store, event("lead.replied"), event("reply.interested"))
    assert await cards(store) == BOTH
    assert len(await post_all(store, clock)) == 2


async def test_an_event_without_the_words_belongs_to_the_reply_just_before(store: Store) -> None:
    await arrive(store, event("lead.replied", reply=""))
    await arrive(store, event("reply.ooo"), number=2)
    assert await cards(store) == [(CHANNEL, "reply.ooo"), ("C2", "reply.ooo")]


async def test_another_reply_and_another_lead_have_cards_of_their_own(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, event("reply.interested"))
    await arrive(store, event("lead.replied", reply="And tomorrow?"), number=2)
    await arrive(store, event("lead.replied", lead="bob@acme.example"), number=3)
    assert len(await cards(store)) == 6
    clock.now += 2 * HOUR
    await arrive(store, event("lead.replied"), number=4)
    assert len(await cards(store)) == 8, "so much later it is another reply"


async def test_an_interested_reply_whose_card_was_a_reply_is_claimed_and_reminded_of(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, event("lead.replied"))
    await post_all(store, clock)
    await arrive(store, event("reply.interested"), number=2)
    (waiting,) = (await store.records.open_replies("default")).replies
    found = await store.alerts.messages([waiting.alert_id])
    assert found.keys() == {waiting.alert_id}


async def test_two_processes_at_once_make_one_card(url: sa.URL, clock: ManualClock) -> None:
    async with open_store(url, clock=clock) as one, open_store(url, clock=clock) as other:
        for lead in range(10):
            batch = [
                [Arrival(workspace="default", body=event(kind, lead=f"a{lead}@b.example"), at=clock.now)]
                for kind in ("lead.replied", "reply.interested")
            ]
            for number, arrivals in enumerate(batch):
                await one.arrivals.append(arrivals, number=number)
            await asyncio.gather(
                *(store.deliveries.route(ALL.decide, limit=1) for store in (one, other)),
            )
            await one.deliveries.route(ALL.decide)
        assert await cards(one) == sorted(BOTH * 10)
