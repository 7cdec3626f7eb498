"""Reminders of claims that nobody finished, and summaries of what waits."""

from __future__ import annotations

from shared.settings.sections import AlertPolicy, Routing
from shared.store import Store
from shared.store.messages import Post
from tests.bot.harness import interested
from tests.bot.manual_clock import (
    ANN,
    HOUR,
    ManualClock,
    arrive,
    post_all,
    sweep,
)


async def test_reminders_of_many_replies_are_bundled_every_15_minutes(
    store: Store, clock: ManualClock
) -> None:
    posted: list[Post] = []
    await arrive(store, *(interested(number) for number in range(100)))
    await post_all(store, clock)
    # From the beginning of a quarter of an hour, so that all twenty looks lie within one.
    clock.now = (clock.now // 900 + 1) * 900
    for _ in range(20):
        posted += await sweep(store, clock, rules=AlertPolicy(escalate_after=None))
        clock.now += 10
    assert 1 <= sum(post.kind == "note" for post in posted) <= 2
    assert all(post.kind in {"note", "reminder"} for post in posted)


async def test_a_reopened_reply_reminds_its_claimer_anew_and_not_at_once(
    store: Store, clock: ManualClock, alert: str
) -> None:
    await store.alerts.act(alert, "claim", ANN)
    clock.now += 5 * HOUR
    assert [post.kind for post in await sweep(store, clock)] == ["unfinished"]
    await store.alerts.act(alert, "done", ANN)
    await store.alerts.act(alert, "reopen", ANN)
    clock.now += 3 * HOUR
    assert await sweep(store, clock) == []
    clock.now += HOUR
    assert [post.kind for post in await sweep(store, clock)] == ["unfinished"]


async def test_no_claim_reminder_in_quiet_hours(store: Store, clock: ManualClock, alert: str) -> None:
    await store.alerts.act(alert, "claim", ANN)
    clock.now += 5 * HOUR
    assert await sweep(store, clock, routing=Routing(quiet="12:00-18:00")) == []
