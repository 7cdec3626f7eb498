"""Lanes in trouble, letters in doubt and clocks that are set: the store alone, by a clock that the test holds."""

from __future__ import annotations

from pathlib import Path

from shared.storage.database import parse_url
from shared.store import Store, open_store
from shared.store.deliveries import Arrival
from shared.store.messages import PlannedPost
from shared.store.posting import (
    ChannelLease,
    ChannelRefused,
    Look,
    Lookup,
    NotSent,
    Outcome,
    Sent,
    Settled,
    Unknown,
    Unpostable,
)
from tests.bot.due import claim_lookups, claim_turns, sweep_jobs
from tests.bot.harness import interested
from tests.bot.manual_clock import ManualClock, arrive, routes

REFUSED = ChannelRefused(error="is_archived")
HIDDEN = Look(error="can't look it up: is_archived", hidden=True)
ABSENT = Look(complete=True, pages=1)


async def take(store: Store) -> ChannelLease:
    (turn,) = await claim_turns(store, limit=5)
    return turn


async def meet(store: Store, outcome: Outcome) -> tuple[ChannelLease, Settled]:
    """One turn, and what it came to."""
    turn = await take(store)
    return turn, await store.posting.settle(turn, outcome)


async def look(store: Store, seen: Look) -> tuple[Lookup, Settled]:
    """One look-up, and what it came to."""
    (lookup,) = await claim_lookups(store, limit=5)
    return lookup, await store.posting.settle_lookup(lookup, seen)


async def find(store: Store, ts: str) -> Settled:
    """A look-up that finds all it looks for."""
    (lookup,) = await claim_lookups(store, limit=5)
    found = {post.key: ts for post in lookup.posts}
    return await store.posting.settle_lookup(lookup, Look(found=found, pages=1, complete=True))


async def test_a_clock_that_is_set_back_does_not_shorten_the_doubt(store: Store, clock: ManualClock) -> None:
    await arrive(store, interested(1))
    await take(store)
    clock.now -= 7 * 86_400  # a dead process's attempt: it may be under way still
    began = clock.now
    await sweep_jobs(store)
    assert (await claim_turns(store, limit=5)) == []
    while not (await claim_turns(store, limit=5)):
        clock.now += store.posting.timings.read_pause
        await look(store, ABSENT)
    assert clock.now - began >= store.posting.timings.longest


async def test_a_clock_set_back_by_minutes_delays_nothing(store: Store, clock: ManualClock) -> None:
    await arrive(store, interested(1), interested(2), interested(3))
    for ts in ("1", "2"):
        await meet(store, Sent(ts=ts))
    clock.now -= 700
    await sweep_jobs(store)
    turn, _ = await meet(store, NotSent(after=30.0, error="ratelimited"))
    assert (await claim_turns(store, limit=5)) == [], "and Slack's pauses hold"
    clock.now += 31
    assert (await take(store)).posts[0].id == turn.posts[0].id


async def test_taking_over_from_a_dead_bot_needs_no_waiting(store: Store, clock: ManualClock) -> None:
    await arrive(store, interested(1))
    await meet(store, NotSent(after=600.0))
    clock.now -= 300
    assert (await claim_turns(store, limit=5)) == []
    await store.jobs.take_over()
    assert len((await take(store)).posts) == 1


async def test_a_late_outcome_counts_unless_the_post_was_retried(store: Store, clock: ManualClock) -> None:
    await arrive(store, interested(1))
    late = await take(store)
    clock.now += store.posting.timings.longest + 1
    assert (await claim_turns(store, limit=5)) == []
    for _ in range(2):
        clock.now += store.posting.timings.read_pause
        await look(store, ABSENT)
    assert not (await store.posting.settle(late, Sent(ts="1"))).held
    assert (await claim_turns(store, limit=5)) == []


async def test_a_message_that_is_found_in_a_broken_channel_cures_nothing(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1), interested(2))
    await meet(store, Unknown())
    clock.now += 60
    await look(store, HIDDEN)
    assert (await meet(store, REFUSED))[1].broke
    clock.now += 60
    await store.posting.revive()
    assert not (await find(store, "1")).recovered
    assert (await store.records.summary("default")).dead == 1
    clock.now += 60
    assert (await meet(store, Sent(ts="2")))[1].recovered


async def test_a_message_that_was_tried_since_the_channel_broke_and_is_found_there_cures_it(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1), interested(2))
    await meet(store, REFUSED)
    clock.now += 31
    await meet(store, Unknown())
    clock.now += 5
    assert (await find(store, "1")).recovered
    clock.now += 5
    await meet(store, Sent(ts="2"))


async def test_a_broken_channel_whose_only_letter_is_in_doubt_is_looked_at_again(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1))
    assert (await meet(store, REFUSED))[1].broke
    clock.now += 31
    await meet(store, Unknown())
    clock.now += 31
    await look(store, HIDDEN)
    assert (await claim_turns(store, limit=5)) == []
    assert await claim_lookups(store, limit=5) == []
    assert await store.posting.revive() == 1
    await find(store, "1")
    summary = await store.records.summary("default")
    assert (summary.dead, summary.unsure) == (0, 0)


async def test_a_broken_channel_tries_another_letter_each_time(store: Store, clock: ManualClock) -> None:
    await arrive(store, interested(1), interested(2))
    await meet(store, REFUSED)
    tried = set()
    for _ in range(2):
        clock.now += 601
        turn, settled = await meet(store, Unpostable(error="msg_too_long"))
        tried.add(turn.posts[0].alert_id)
        assert not settled.recovered, "Slack refused the message before it looked at the channel"
    assert len(tried) == 2


async def test_the_note_about_a_broken_channel_is_planned_in_the_same_transaction(store: Store) -> None:
    await arrive(store, interested(1))

    def report(turn: ChannelLease, outcome: Outcome, settled: Settled) -> PlannedPost | None:
        return PlannedPost(dedupe="note", channel="C2", kind="note") if settled.broke else None

    await store.posting.settle(await take(store), REFUSED, report=report)
    assert (await take(store)).channel == "C2"


async def test_a_message_has_a_name_that_no_other_database_gives(tmp_path: Path, clock: ManualClock) -> None:
    names: list[str] = []
    for number in (1, 2, 1):
        url = parse_url(f"sqlite:///{tmp_path}/{len(names)}.db")
        async with open_store(url, clock=clock) as store:
            await arrive(store, interested(number))
            names.append((await take(store)).posts[0].key)
    assert names[0] != names[1]
    assert names[0] == names[2], "the same alert in the same channel"


async def test_unrouted_deliveries_are_never_deleted(store: Store, clock: ManualClock) -> None:
    await store.arrivals.append([Arrival(workspace="default", body=interested(1), at=clock.now)])
    clock.now += 1_000
    await store.retention.prune(bodies_after=10, hashes_after=100)
    await store.deliveries.route(routes().decide)
    assert len((await take(store)).posts) == 1
