"""One name for a person in all counts, whatever Slack told of them at the time."""

from __future__ import annotations

from dataclasses import replace

from shared.domain.wall_clock import moment
from shared.records.audit import Actor
from shared.store import Store
from tests.bot.harness import interested
from tests.bot.manual_clock import HOUR, ManualClock, arrive, post_all

BEN = Actor(name="ben", id="U0BEN00001", face="slack")


async def test_a_person_is_counted_once_under_the_newest_name(store: Store, clock: ManualClock) -> None:
    began = clock.now
    names = ("ben", "benny", BEN.id)  # the last where Slack didn't say
    for number, name in enumerate(names):
        await arrive(store, interested(email=f"lead{number}@acme.example"))
        (post,) = await post_all(store, clock)
        clock.now += 60
        await store.alerts.act(post.alert_id, "claim", replace(BEN, name=name))
        await store.alerts.act(post.alert_id, "done", replace(BEN, name=name))
    span = moment(began), moment(clock.now + HOUR)
    (claims,) = await store.records.claim_times("default", *span, by="person", late=300.0)
    assert (claims.name, claims.count) == ("benny", 3)
    assert await store.records.done_counts("default", *span) == {"benny": 3}
