"""Look-ups of uncertain posts, by a clock that the test holds: what waits for them, and what goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import sqlalchemy as sa

from shared.store import Store, open_store
from shared.store.jobs import LOOKUP
from shared.store.messages import PlannedPost, Post
from shared.store.posting import (
    BUNDLE,
    LONGEST_DOUBT_SECONDS,
    MOST_FAILED,
    ChannelLease,
    Look,
    Lookup,
    Sent,
    Unknown,
    Unpostable,
)
from tests.bot.due import claim_lookups, claim_turns, next_in, sweep_jobs
from tests.bot.harness import interested
from tests.bot.manual_clock import ManualClock, arrive

ABSENT = Look(complete=True, pages=1)
THROTTLED = Look(error="ratelimited", after=60.0)


@pytest.fixture
async def store(url: sa.URL, clock: ManualClock) -> AsyncIterator[Store]:
    async with open_store(url, clock=clock) as opened:
        yield opened


async def take(store: Store) -> ChannelLease | None:
    turns = await claim_turns(store, limit=5)
    return turns[0] if turns else None


async def post_next(store: Store, clock: ManualClock, ts: str) -> Post | None:
    clock.now += 1.0
    turn = await take(store)
    if turn is not None:
        await store.posting.settle(turn, Sent(ts=ts))
    return turn.posts[0] if turn else None


async def doubt(store: Store, *, answered: bool = True) -> Post:
    turn = await take(store)
    assert turn is not None
    await store.posting.settle(turn, Unknown(answered=answered))
    return turn.posts[0]


async def claim(store: Store) -> Lookup:
    (lookup,) = await claim_lookups(store, limit=5)
    return lookup


async def find(store: Store, *posts: Post, ts: str = "9.1") -> None:
    lookup = await claim(store)
    found = {post.key: ts for post in posts}
    await store.posting.settle_lookup(lookup, Look(found=found, pages=1, complete=True))


def note(number: int) -> PlannedPost:
    return PlannedPost(dedupe=f"note:{number}", channel="C1", kind="note", note="{}")


async def test_other_posts_go_on_while_one_is_looked_up(store: Store, clock: ManualClock) -> None:
    await arrive(store, interested(1), interested(2), interested(3))
    uncertain = await doubt(store)
    lookup = await claim_when_due(store, clock)
    posted = [await post_next(store, clock, ts) for ts in ("2", "3")]
    assert all(posted)
    assert uncertain.id not in {post.id for post in posted if post}
    await store.posting.settle_lookup(lookup, Look(found={uncertain.key: "1"}, pages=1))
    assert (await store.records.summary("default")).uncertain == 0
    assert await post_next(store, clock, "4") is None


async def claim_when_due(store: Store, clock: ManualClock) -> Lookup:
    while not (claimed := await claim_lookups(store, limit=5)):
        clock.now += await next_in(store, LOOKUP) or 0.0
    return claimed[0]


async def test_what_belongs_into_the_thread_of_an_uncertain_card_waits_for_it(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1), interested(2))
    card = await doubt(store)
    reminder = PlannedPost(
        dedupe="r", channel="C1", kind="reminder", note="{}", alert_id=card.alert_id, urgency=3
    )
    await store.outbox.plan("default", reminder)
    other = await post_next(store, clock, "2")
    assert other is not None
    assert other.alert_id not in {card.alert_id, ""}
    assert await post_next(store, clock, "3") is None
    await find(store, card, ts="1.1")
    clock.now += 1
    turn = await take(store)
    assert turn is not None
    assert (turn.posts[0].kind, turn.thread_ts) == ("reminder", "1.1")


async def test_notes_keep_their_order(store: Store, clock: ManualClock) -> None:
    await store.outbox.plan("default", note(1))
    first = await doubt(store)
    await store.outbox.plan("default", note(2))
    assert await post_next(store, clock, "2") is None
    for _ in range(2):
        clock.now += 2
        await store.posting.settle_lookup(await claim(store), ABSENT)
    posted = [await post_next(store, clock, ts) for ts in ("1", "2")]
    assert [post and post.dedupe for post in posted] == [first.dedupe, "note:2"]


async def test_what_shares_an_uncertain_message_waits_for_it_and_the_rest_goes_on(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, *(interested(number) for number in range(30)))
    turn = await take(store)
    assert turn is not None
    assert len(turn.posts) == BUNDLE
    await store.posting.settle(turn, Unknown())
    clock.now += 2
    following = await take(store)
    assert following is not None
    assert not {post.id for post in following.posts} & {post.id for post in turn.posts}
    await store.posting.settle(following, Sent(ts="2.0"))
    (lookup,) = await claim_lookups(store, limit=5)
    found = {post.id: "1.0" for post in lookup.posts}
    assert {post.key for post in lookup.posts} == {turn.posts[0].key}, "one key finds them all"
    assert len(found) == BUNDLE


FAILED = [
    Look(error="HTTP 500"),
    Look(error="unexpected_answer", pages=1, position="{}"),
    THROTTLED,
    Look(error="invalid_cursor", pages=1),
]


@pytest.mark.parametrize("look", FAILED, ids=lambda look: look.error)
async def test_a_post_that_cannot_be_looked_up_is_unsure_after_a_bounded_time(
    store: Store, clock: ManualClock, look: Look
) -> None:
    await arrive(store, interested(1))
    await doubt(store)
    began = clock.now
    for _ in range(MOST_FAILED):
        await store.posting.settle_lookup(await claim_when_due(store, clock), look)
    assert clock.now - began < 400
    summary = await store.records.summary("default")
    assert (summary.uncertain, summary.unsure, summary.dead) == (0, 1, 0)
    assert await store.posting.counts() == {"uncertain": 0, "unsure": 1}
    assert await claim_lookups(store, limit=5) == []
    assert await store.posting.revive() == 1
    await store.posting.settle_lookup(await claim_when_due(store, clock), look)
    assert (await store.records.summary("default")).unsure == 1, "one more look is enough"


async def test_a_reading_that_is_throttled_after_each_page_goes_on_until_its_end(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1))
    card = await doubt(store)
    for page in range(3 * MOST_FAILED):
        lookup = await claim_when_due(store, clock)
        assert lookup.position == (f"page {page}" if page else "")
        await store.posting.settle_lookup(lookup, replace(THROTTLED, pages=1, position=f"page {page + 1}"))
    await find_when_due(store, clock, card)
    assert await store.posting.counts() == {"uncertain": 0, "unsure": 0}


async def find_when_due(store: Store, clock: ManualClock, post: Post) -> None:
    lookup = await claim_when_due(store, clock)
    await store.posting.settle_lookup(lookup, Look(found={post.key: "1"}, pages=1, complete=True))


async def test_a_reading_that_began_before_an_attempt_proves_nothing_about_it(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1), interested(2))
    first = await doubt(store)
    lookup = await claim_when_due(store, clock)
    await store.posting.settle_lookup(lookup, replace(THROTTLED, pages=1, position="page 2"))
    clock.now += 1
    second = await doubt(store)
    reads = 0
    while not (turn := await take(store)):
        await store.posting.settle_lookup(await claim_when_due(store, clock), ABSENT)
        reads += 1
    assert (turn.posts[0].id, reads) == (first.id, 2)
    await store.posting.settle(turn, Sent(ts="1"))
    assert await store.posting.counts() == {"uncertain": 1, "unsure": 0}
    await find_when_due(store, clock, second)


async def test_an_attempt_that_may_be_under_way_is_not_repeated_by_a_reading_that_began_before_its_end(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1))
    await doubt(store, answered=False)
    clock.now += 2
    await store.posting.settle_lookup(await claim(store), ABSENT)
    clock.now += store.posting.timings.longest - 5
    lookup = await claim(store)
    clock.now += 9  # a long reading: the message may have come behind it
    await store.posting.settle_lookup(lookup, ABSENT)
    assert await take(store) is None


async def test_one_reading_answers_for_all_uncertain_posts_of_a_channel(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, *(interested(number) for number in range(5)))
    waiting = []
    for _ in range(5):
        waiting.append(await doubt(store))
        clock.now += LONGEST_DOUBT_SECONDS
    lookup = await claim_when_due(store, clock)
    assert {post.id for post in lookup.posts} == {post.id for post in waiting}


async def test_while_slack_answers_nothing_a_channel_tries_ever_fewer_posts(
    store: Store, clock: ManualClock
) -> None:
    for first in range(0, 300, 50):
        await arrive(store, *(interested(number) for number in range(first, first + 50)))
    tried = 0
    for _ in range(300):
        clock.now += 1
        if turn := await take(store):
            tried += 1
            await store.posting.settle(turn, Unknown())
    assert 5 <= tried <= 16


async def test_throttled_readings_of_a_slack_workspace_take_turns(store: Store, clock: ManualClock) -> None:
    for channel in ("C1", "C2", "C3"):
        await store.outbox.plan("default", replace(note(0), dedupe=channel, channel=channel))
    for turn in await claim_turns(store, limit=5):
        await store.posting.settle(turn, Unknown(answered=True))
    clock.now += 2
    first, *_others = await claim_lookups(store, limit=5)
    await store.posting.settle_lookup(first, THROTTLED)
    clock.now += 30
    assert await claim_lookups(store, limit=5) == [], "Slack closed the method for all of them"
    clock.now += 31
    assert len(await claim_lookups(store, limit=5)) == 1


async def test_a_post_without_a_key_is_neither_looked_up_nor_repeated(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1))
    turn = await take(store)
    assert turn is not None
    await store.posting.settle(turn, Unpostable(error="connection lost", keyless=True))
    clock.now += 60
    assert await store.posting.revive() == 0
    assert (await store.records.summary("default")).unsure == 1


async def test_a_look_up_waits_for_no_clock_that_was_set_back(store: Store, clock: ManualClock) -> None:
    await arrive(store, interested(1))
    await doubt(store)
    clock.now -= 7 * 86_400
    await sweep_jobs(store)
    assert (await claim(store)).channel == "C1"
