"""Reminders, escalations and the ends of snoozes: each is sent once, whatever the processes do."""

from __future__ import annotations

from pathlib import Path

from shared.settings.sections import AlertPolicy, Routing
from shared.storage.database import parse_url
from shared.store import Store, open_store
from shared.store.messages import Post
from tests.kit.bot import interested
from tests.kit.manual_clock import (
    ANN,
    HOUR,
    MINUTE,
    ManualClock,
    arrive,
    post_all,
    reminders_of,
    sweep,
)


async def test_two_processes_and_a_restart_say_a_thing_once(
    store: Store, clock: ManualClock, alert: str, tmp_path: Path
) -> None:
    clock.now += 6 * MINUTE
    async with open_store(parse_url(f"sqlite:///{tmp_path}/bot.db"), clock=clock) as other:
        posted = [*await sweep(store, clock), *await sweep(other, clock)]
    assert [post.alert_id for post in posted] == [alert]


async def test_a_reply_that_is_claimed_just_before_its_reminder_is_not_reminded_of(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested())
    (card,) = await post_all(store, clock)
    clock.now += HOUR
    claimed = await store.jobs.claim("remind", lease=10.0, limit=9, workspaces=[])
    # The reminder's job is taken already: the tap comes before its message is planned.
    await store.alerts.act(card.alert_id, "claim", ANN)
    await reminders_of(store, rules=None, routing=None, people=None)(claimed)
    assert await post_all(store, clock) == []


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
