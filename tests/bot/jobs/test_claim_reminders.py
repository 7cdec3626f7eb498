"""Reminders of claims that nobody finished, and summaries of what waits."""

from __future__ import annotations

import json
from datetime import time

from bot.alerts import rendering
from bot.alerts.turns import Unknown
from bot.commands.alerts.alert_actions import released, taken_over
from bot.jobs.reminders import Reminders
from shared.domain.alert_settings import QuietHours, Routing
from shared.records.audit import Actor
from shared.settings.sections import AlertPolicy
from shared.store import Store
from shared.store.queue.alert_row import AlertRow, Due
from shared.store.queue.posts import Post
from tests.bot.due import claim_repaints
from tests.bot.harness import interested
from tests.bot.manual_clock import (
    ANN,
    CHANNEL,
    HOUR,
    ManualClock,
    arrive,
    look,
    post_all,
    sweep,
)


async def test_reminders_of_many_replies_are_bundled_every_15_minutes(
    store: Store, clock: ManualClock
) -> None:
    posted: list[Post] = []
    await arrive(store, *(interested(number) for number in range(100)))
    await post_all(store, clock)
    clock.now = (clock.now // 900 + 1) * 900
    for _ in range(20):
        posted += await sweep(store, clock, rules=AlertPolicy(escalate_after=None))
        clock.now += 10
    assert 1 <= sum(post.kind == "note" for post in posted) <= 2
    assert all(post.kind in {"note", "reminder"} for post in posted)


async def test_a_claimer_who_has_not_finished_is_reminded_once_and_the_line_shows_the_end(
    store: Store, clock: ManualClock, alert: str
) -> None:
    await store.alerts.claim(alert, ANN)
    clock.now += 3 * HOUR
    assert await sweep(store, clock) == []
    clock.now += 2 * HOUR
    (reminder,) = await sweep(store, clock)
    assert (reminder.kind, reminder.mention, bool(reminder.thread_ts)) == ("unfinished", "U1", True)
    drawn = rendering.message([reminder], several=False)
    assert "<@U1>" in json.dumps(drawn.blocks)
    assert "@ann claimed this 5 h ago" in json.dumps(drawn.blocks)
    clock.now += 24 * HOUR
    assert await sweep(store, clock) == []
    await claim_repaints(store, limit=10)
    await store.alerts.handle(alert, ANN)
    (left,) = [m for m in await claim_repaints(store, limit=10) if m[0].kind == "unfinished"]
    assert rendering.card_of(left[0], several=False).text == ("✓ Done by @ann.",)
    assert "<@" not in json.dumps(rendering.message(left, several=False).blocks)


async def test_a_claimer_is_reminded_when_asked_for_and_the_reply_stays_claimed(
    store: Store, clock: ManualClock, alert: str
) -> None:
    await store.alerts.claim(alert, ANN)
    asked = await store.alerts.remind(alert, ANN, until=clock.now + 2 * HOUR)
    assert asked is not None
    assert asked.changed
    clock.now += HOUR
    assert await sweep(store, clock) == []
    clock.now += HOUR
    (reminder,) = await sweep(store, clock)
    assert (reminder.kind, reminder.mention, bool(reminder.thread_ts)) == ("unfinished", "U1", True)
    words = json.dumps(rendering.message([reminder], several=False).blocks)
    assert "Reminder: Ada 1 at Acme" in words
    assert "Mark done" in words
    found = await store.alerts.find(alert)
    assert found is not None
    assert (found.claimed_name, found.waiting_since) == ("ann", None)


async def test_a_reopened_reply_reminds_its_claimer_anew_and_not_at_once(
    store: Store, clock: ManualClock, alert: str
) -> None:
    await store.alerts.claim(alert, ANN)
    clock.now += 5 * HOUR
    assert [post.kind for post in await sweep(store, clock)] == ["unfinished"]
    await store.alerts.handle(alert, ANN)
    await store.alerts.reopen(alert)
    clock.now += 3 * HOUR
    assert await sweep(store, clock) == []
    clock.now += HOUR
    assert [post.kind for post in await sweep(store, clock)] == ["unfinished"]


async def test_who_asked_is_reminded_of_each_reply_that_shares_its_message() -> None:
    asked = [
        Due(
            alert=AlertRow(
                id=f"al_{n}", kind="reply.interested", body=interested(n), claimed_by=f"U00000{n}"
            ),
            channel=CHANNEL,
            what="back",
            bundled=True,
        )
        for n in range(2)
    ]
    store: Store = None  # type: ignore[assignment] # it plans without one
    reminders = Reminders(store, AlertPolicy(), Routing(), Unknown(), planned=lambda: None)
    planned = [post for _, post in reminders.plan(asked, 900.0)]
    assert [(post.alert_id, post.mention) for post in planned] == [("al_0", "U000000"), ("al_1", "U000001")]


async def test_only_the_claimer_is_reminded_and_not_after_a_release(
    store: Store, clock: ManualClock, alert: str
) -> None:
    ben = Actor(name="ben", id="U2", face="slack")
    await store.alerts.claim(alert, ANN)
    other = await store.alerts.remind(alert, ben, until=clock.now + HOUR)
    assert other is not None
    assert not other.changed
    await store.alerts.remind(alert, ANN, until=clock.now + HOUR)
    await store.alerts.release(alert)
    await store.alerts.claim(alert, ben)
    clock.now += 2 * HOUR
    assert await sweep(store, clock) == []


async def test_no_claim_reminder_in_quiet_hours_or_after_done(
    store: Store, clock: ManualClock, alert: str
) -> None:
    quiet = Routing(quiet=QuietHours(start=time(12), end=time(18)))
    await store.alerts.claim(alert, ANN)
    clock.now += 5 * HOUR
    await look(store, routing=quiet)
    assert await post_all(store, clock) == []
    await store.alerts.handle(alert, ANN)
    clock.now += 24 * HOUR
    await look(store, routing=quiet)
    assert await post_all(store, clock) == []


async def test_a_claimer_is_mentioned(store: Store, clock: ManualClock, alert: str) -> None:
    nia = Actor(name="nia", id="U001", face="slack")
    await store.alerts.claim(alert, nia)
    clock.now += 5 * HOUR
    await look(store, routing=Routing())
    (reminder,) = await post_all(store, clock)
    assert (reminder.kind, reminder.mention) == ("unfinished", nia.id)
    before = await store.alerts.find(alert)
    assert before is not None
    assert taken_over(before, actor=ANN).mention == released(before, actor=ANN).mention == nia.id


async def test_two_workspaces_with_one_channel_have_a_summary_each(store: Store) -> None:
    """Within a quarter of an hour, in which one workspace has only one."""
    many = [
        Due(
            alert=AlertRow(id=f"al_{n}", workspace=("acme", "globex")[n % 2], kind="reply.interested", body=interested(n)),
            channel=CHANNEL, what="remind",
        )
        for n in range(12)
    ]  # fmt: skip
    planned = Reminders(store, AlertPolicy(), Routing(), Unknown(), planned=lambda: None).plan(many, 900.0)
    assert {workspace for workspace, _ in planned} == {"acme", "globex"}
    assert len({post.dedupe for _, post in planned}) == 2
