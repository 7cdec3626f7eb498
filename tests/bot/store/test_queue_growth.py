"""A channel, a lead or an outage with everything: each act costs the same, however much waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import sqlalchemy as sa

from shared.store import Store, open_store
from shared.store.db.engine import AT_ONCE
from shared.store.db.schema import alerts, channel_leases, deliveries, posts
from shared.store.db.slack_schema import slack_limits
from shared.store.jobs import RELEASE, put
from shared.store.queue.leases import BUNDLE, ChannelLease, ChannelRefused, Outcome, Sent, Unknown
from shared.store.queue.lookups import Look
from shared.store.queue.outbox import PlannedPost
from shared.store.queue.post_kinds import ALERT, ANSWER
from shared.store.queue.posts import INCIDENT
from shared.store.queue.slack_state import POST, paced_posts
from tests.bot.harness import interested
from tests.bot.manual_clock import ManualClock, arrive
from tests.growth import DatabaseWork, database_work

FEW, MANY = 500, 5_000
FIRST = 1_000_000
"""The id of the first delivery: far beyond those that PostgreSQL numbers."""


def waiting(store: Store, count: int, *, state: str = "ready", email: str = "", **values: object) -> None:
    """Alerts in one channel, of three urgencies; of as many leads, or all of one."""
    now = store.database.clock()
    numbers = range(FIRST, FIRST + count)
    with store.database.engine.begin() as connection:
        connection.execute(
            sa.insert(deliveries),
            [
                {"id": n, "dkey": b"%d" % n, "workspace": "default", "kind": "reply.interested", "body": b"{}",
                 "received_at": now, "last_at": now, "seen": 1, "pending": False}
                for n in numbers
            ],
        )  # fmt: skip
        connection.execute(
            sa.insert(alerts),
            [
                {"id": f"al_{n}", "delivery_id": n, "workspace": "default", "kind": "reply.interested",
                 "email": email or f"lead{n}@acme.example", "reply": f"text {n}", "received_at": now, "sequence": "Q3"}
                for n in numbers
            ],
        )  # fmt: skip
        connection.execute(
            sa.insert(posts),
            [
                {"dedupe": f"p{n}", "workspace": "default", "channel": "C1", "kind": ALERT, "alert_id": f"al_{n}",
                 "state": state, "ts": f"{n}.0" if state == "sent" else "", "urgency": n % 3, "created_at": now, **values}
                for n in numbers
            ],
        )  # fmt: skip
        connection.execute(sa.insert(channel_leases), {"channel": "C1", "due_at": now})


Act = Callable[[Store, ManualClock], Awaitable[None]]


async def work(url: sa.URL, clock: ManualClock, count: int, act: Act, **state: object) -> DatabaseWork:
    """What the database does for an act while so much waits in one channel; what was there before is deleted."""
    async with open_store(url, clock=clock) as store:
        with store.database.engine.begin() as connection:
            for table in (posts, alerts, deliveries, channel_leases):
                connection.execute(sa.delete(table))
        waiting(store, count, **state)  # type: ignore[arg-type] # columns of posts
        with database_work(store.database.engine) as done:
            await act(store, clock)
    return done


async def turns(store: Store, clock: ManualClock, count: int, outcome: Outcome) -> list[ChannelLease]:
    """So many turns of the channel, one after the other, which come to this."""
    taken: list[ChannelLease] = []
    for _ in range(count):
        (turn,) = (await store.leases.claim(limit=5)).turns
        await store.outcomes.settle(turn, outcome)
        taken.append(turn)
        clock.now += 2.0
    return taken


async def shared_messages(store: Store, clock: ManualClock) -> None:
    bundles = await turns(store, clock, 6, Sent(ts="1.0"))
    assert {len(bundle.posts) for bundle in bundles} == {BUNDLE}
    assert {post.alert.kind for bundle in bundles for post in bundle.posts if post.alert} == {
        "reply.interested"
    }


async def shared_messages_after_an_uncertain_one(store: Store, clock: ManualClock) -> None:
    await turns(store, clock, 1, Unknown())
    clock.now += 30.0
    taken = await turns(store, clock, 5, Sent(ts="1.0"))
    assert [len(turn.posts) for turn in taken] == [BUNDLE] * 5


async def messages_before_all_others(store: Store, clock: ManualClock) -> None:
    await turns(store, clock, 1, Sent(ts="1.0"))
    for number, (kind, urgency) in enumerate([(ANSWER, 0), ("note", INCIDENT)]):
        planned = PlannedPost(dedupe=f"first{number}", channel="C1", kind=kind, urgency=urgency)
        await store.outbox.plan("default", planned)
    first, second = await turns(store, clock, 2, Sent(ts="2.0"))
    assert [turn.posts[0].dedupe for turn in (first, second)] == ["first0", "first1"]


async def posts_left_by_a_dead_process(store: Store, clock: ManualClock) -> None:
    await turns(store, clock, 1, Sent(ts="1.0"))
    await store.leases.claim(limit=5)
    clock.now += 60.0
    await turns(store, clock, 2, Sent(ts="2.0"))


async def message_while_others_are_not_due(store: Store, clock: ManualClock) -> None:
    await store.outbox.plan("default", PlannedPost(dedupe="now", channel="C1", kind="note"))
    (turn,) = await turns(store, clock, 1, Sent(ts="1.0"))
    assert turn.posts[0].kind == "note"
    assert (await store.leases.claim(limit=5)).turns == ()


async def trials_of_a_broken_channel(store: Store, clock: ManualClock) -> None:
    with store.database.engine.begin() as connection:
        broken = {"trouble": "is_archived", "trouble_since": clock.now, "due_at": clock.now}
        connection.execute(sa.update(channel_leases).values(**broken))
    for _ in range(3):
        await turns(store, clock, 1, ChannelRefused(error="is_archived"))
        clock.now += 700.0


async def refusal(store: Store, clock: ManualClock) -> None:
    await turns(store, clock, 1, ChannelRefused(error="is_archived"))
    assert (await store.records.backlogs())["default"].counts["waiting"] == 0


async def break_channel(store: Store) -> None:
    broken = {"trouble": "is_archived", "trouble_since": 0.0, "due_at": 0.0}
    await store.database.write(lambda tx: tx.execute(sa.update(channel_leases).values(**broken)))


async def nothing_is_dead(store: Store) -> bool:
    return not (await store.records.backlogs())["default"].counts["dead"]


async def recovery(store: Store, clock: ManualClock) -> None:
    await break_channel(store)
    await turns(store, clock, 1, Sent(ts="1.0"))
    assert await nothing_is_dead(store)


async def recovery_seen_by_a_look_up(store: Store, clock: ManualClock) -> None:
    await break_channel(store)
    await turns(store, clock, 1, Unknown(answered=True))
    clock.now += 30.0
    (lookup,) = await store.lookups.claim(limit=1)
    found = {post.key: "1.0" for post in lookup.posts}
    assert (await store.lookups.settle(lookup, Look(found=found, complete=True))).recovered
    assert await nothing_is_dead(store)


async def opened(store: Store, clock: ManualClock) -> None:
    await break_channel(store)
    await store.outcomes.open_channel("C1", report=lambda *_: None)
    assert await nothing_is_dead(store)


async def test_a_channel_is_claimed_without_a_look_at_the_limits_of_other_methods(store: Store) -> None:
    limits = [{"key": f"chat.update C{n}", "slow_until": 0.0} for n in range(MANY)]
    limits += [{"key": POST, "slow_until": store.database.clock() + 60.0}]
    with store.database.engine.begin() as connection:
        connection.execute(sa.insert(slack_limits), limits)
    with database_work(store.database.engine) as work:
        await store.leases.claim(limit=5)
    assert work.most_read[0] < 20, work.most_read
    assert await store.database.read(paced_posts) is not None


async def refused_repaint(store: Store, clock: ManualClock) -> None:
    (message, *_) = await store.repaints.claim(limit=5)
    await store.repaints.failed(message, channel_refuses=True)
    assert (await store.repaints.next_in() or 0.0) > 0.0


async def closed(store: Store, clock: ManualClock) -> None:
    await store.outcomes.close_channel("C1", "is_archived", report=lambda *_: None, used=True)
    assert (await store.records.backlogs())["default"].counts["waiting"] == 0


async def revived(store: Store, clock: ManualClock) -> None:
    assert await store.dead_letters.revive() > 0
    assert await nothing_is_dead(store)


async def given_up(store: Store, clock: ManualClock) -> None:
    await break_channel(store)
    await store.records.give_up_channel("C1")
    assert await store.leases.broken() == {}
    assert await nothing_is_dead(store)


async def end_of_quiet_hours(store: Store, clock: ManualClock) -> None:
    now = clock.now
    await store.database.write(lambda tx: put(tx, RELEASE, "C1", at=now, how="sooner"))
    while held := await store.jobs.claim(RELEASE, lease=10.0, limit=9, workspaces=[]):
        for job in held:
            await store.outbox.release(job)
    assert (await store.records.backlogs())["default"].counts["held"] == 0


@pytest.mark.parametrize(
    ("act", "state"),
    [
        (refusal, {}),
        (closed, {}),
        (recovery, {"state": "dead"}),
        (recovery_seen_by_a_look_up, {"state": "dead"}),
        (opened, {"state": "dead"}),
        (opened, {"state": "sent", "repaint_at": 1e12}),
        (refused_repaint, {"state": "sent", "repaint_at": 0.0}),
        (revived, {"state": "dead"}),
        (revived, {"state": "dead", "unsure": True}),
        (given_up, {"state": "dead"}),
        (end_of_quiet_hours, {"state": "held", "held_until": 0.0}),
    ],
)
async def test_what_befalls_all_posts_of_a_channel_is_written_in_portions(
    url: sa.URL, clock: ManualClock, act: Act, state: dict[str, object]
) -> None:
    few, many = [await work(url, clock, count, act, **state) for count in (FEW, MANY)]
    assert many.growth.excess(few.growth, is_flat=False) == {}, many.most_read
    assert many.written >= MANY
    assert many.most_written <= AT_ONCE + 5, "the intake waits for one portion"


@pytest.mark.parametrize(
    ("act", "state"),
    [
        (shared_messages, {}),
        (shared_messages, {"urgency": 0}),
        (shared_messages_after_an_uncertain_one, {}),
        (messages_before_all_others, {}),
        (posts_left_by_a_dead_process, {}),
        (message_while_others_are_not_due, {"state": "held", "held_until": 1e12}),
        (message_while_others_are_not_due, {"state": "dead", "error": "msg_too_long"}),
        (trials_of_a_broken_channel, {"state": "dead", "error": "is_archived"}),
    ],
)
async def test_a_turn_of_a_channel_costs_the_same_however_much_waits_there(
    url: sa.URL, clock: ManualClock, act: Act, state: dict[str, object]
) -> None:
    few, many = [await work(url, clock, count, act, **state) for count in (FEW, MANY)]
    assert many.growth.excess(few.growth, is_flat=True) == {}, many.most_read


async def replies_of_one_lead(store: Store, clock: ManualClock) -> None:
    """Of two kinds: one that says less of each reply than what is there, and one that says as much."""
    bodies = [
        interested(1, reply=f"Text {n}", event=kind)
        for n in range(10)
        for kind in ("lead.replied", "reply.interested")
    ]
    await arrive(store, *bodies)


async def test_a_reply_costs_the_same_however_many_of_its_lead_came_within_the_hour(
    url: sa.URL, clock: ManualClock
) -> None:
    lead = {"email": "ada1@acme.example", "state": "sent"}
    few, many = [await work(url, clock, count, replies_of_one_lead, **lead) for count in (FEW, MANY)]
    assert many.growth.excess(few.growth, is_flat=True) == {}, many.most_read


async def repaints(store: Store, clock: ManualClock) -> None:
    for _ in range(3):
        assert await store.repaints.next_in() == 0.0
        messages = await store.repaints.claim(limit=4)
        assert len(messages) == 4
        for message in messages:
            await store.repaints.done(message)
        clock.now += 10.0  # Slack takes more of them again


async def test_a_repaint_costs_the_same_however_many_are_due(url: sa.URL, clock: ManualClock) -> None:
    due = {"state": "sent", "repaint_at": clock.now - 60.0}
    few, many = [await work(url, clock, count, repaints, **due) for count in (FEW, MANY)]
    assert many.growth.excess(few.growth, is_flat=True) == {}, many.most_read
