"""Reminders of paused domains until acknowledged or recovered, and of a lead's return."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from bot import cards
from shared.settings.sections import AlertPolicy, RouteRule, Routing
from shared.store import Store
from shared.store.messages import Post
from tests.bot.due import claim_repaints
from tests.bot.manual_clock import (
    ANN,
    CHANNEL,
    HOUR,
    MINUTE,
    ManualClock,
    arrive,
    look,
    post_all,
    routes,
    sweep,
)

PAUSED = json.dumps({"event": "domain.paused", "domain": "mail.example"}).encode()
POLICY = AlertPolicy()


async def reminded(store: Store, clock: ManualClock) -> list[Post]:
    """What a sweep posted."""
    await look(store, rules=POLICY, routing=Routing(mention="S0ONCALL"))
    return await post_all(store, clock)


async def paused(store: Store, clock: ManualClock) -> str:
    await arrive(store, PAUSED, by=replace(routes(), remind_after=POLICY.remind_after))
    (post,) = await post_all(store, clock)
    return post.alert_id


async def test_a_paused_domain_is_reminded_of_ever_more_rarely_until_it_is_acknowledged(
    store: Store, clock: ManualClock
) -> None:
    alert = await paused(store, clock)
    began, at = clock.now, []
    while clock.now < began + 10 * HOUR:
        clock.now += MINUTE if clock.now < began + 160 * MINUTE else 5 * MINUTE
        for post in await reminded(store, clock):
            assert (post.kind, post.mention) == ("unacknowledged", "S0ONCALL")
            at.append(round((clock.now - began) / MINUTE))
    assert at[:5] == pytest.approx([5, 15, 35, 75, 155], abs=4)
    gaps = [later - earlier for earlier, later in itertools.pairwise(at)]
    assert max(gaps) <= timedelta(hours=4.1) / timedelta(minutes=1)
    taken = await store.alerts.acknowledge(alert, ANN)
    assert taken is not None
    assert (taken.changed, taken.alert.acked_name) == (True, "ann")
    again = await store.alerts.acknowledge(alert, ANN)
    assert again is not None
    assert not again.changed
    clock.now += 24 * HOUR
    assert await reminded(store, clock) == []
    left = {
        cards.card_of(post).text for (post,) in await claim_repaints(store, limit=50) if post.kind != "alert"
    }
    assert left == {("✓ Acknowledged by @ann.",)}


async def test_the_return_of_an_absent_lead_is_announced_once(store: Store, clock: ManualClock) -> None:
    fields = {"event": "reply.ooo", "lead": {"email": "ada@acme.example", "first_name": "Ada"}}
    everything = RouteRule(channel=CHANNEL, events=("*",))
    await arrive(store, json.dumps(fields).encode(), by=routes(rules=(everything,)))
    (post,) = await post_all(store, clock)
    await store.alerts.act(post.alert_id, "snooze", ANN, until=clock.now + HOUR)
    clock.now += HOUR + 1
    (back,) = await sweep(store, clock)
    card = cards.card_of(back)
    assert (back.kind, back.mention) == ("returned", "")
    assert card.title == "Ada is back"
    assert [button.line for button in card.buttons] == [f"lead {post.alert_id}"]
    clock.now += 2 * HOUR
    assert await sweep(store, clock) == []
