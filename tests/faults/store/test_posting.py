"""Posts, edits and look-ups: what comes next in a channel, what is posted instead of it, and within which limits."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest
import sqlalchemy as sa

from bot import cards
from shared.records import Actor
from shared.settings.sections import RouteRule
from shared.store import Store, facts
from shared.store.messages import (
    MOST_FAILED,
    ChannelLease,
    ChannelRefused,
    Look,
    Lookup,
    NotSent,
    Outcome,
    PlannedPost,
    Post,
    Sent,
    Unknown,
    Unpostable,
    redraw,
)
from tests.faults.store.test_deliveries import event
from tests.kit.bot import interested
from tests.kit.due import claim_lookups, claim_paints, claim_repaints, claim_turns, next_in, sweep_jobs
from tests.kit.manual_clock import ANN, CHANNEL, ManualClock, append, arrive, post_all, routes

WEEK = 7 * 86_400
REFUSED = ChannelRefused(error="is_archived")
HIDDEN = Look(error="can't look it up: is_archived", hidden=True)
ABSENT = Look(complete=True)
THROTTLED = Look(error="ratelimited", after=60.0)
ANSWERED = Unknown(answered=True)


async def take(store: Store) -> ChannelLease:
    (turn,) = await claim_turns(store, limit=5)
    return turn


async def is_idle(store: Store) -> bool:
    return await claim_turns(store, limit=5) == []


async def meet(store: Store, outcome: Outcome) -> tuple[Post, bool]:
    """One turn: its first post, and what it came to."""
    turn = await take(store)
    return turn.posts[0], await store.posting.settle(turn, outcome)


async def claim(store: Store, clock: ManualClock) -> Lookup:
    """The next look-up, once it is due."""
    while not (claimed := await claim_lookups(store, limit=5)):
        clock.now += await next_in(store, "lookup") or 0.0
    return claimed[0]


async def look(store: Store, clock: ManualClock, seen: Look) -> bool:
    return await store.posting.settle_lookup(await claim(store, clock), seen)


async def find(store: Store, clock: ManualClock, ts: str) -> bool:
    """A look-up that finds all it looks for."""
    lookup = await claim(store, clock)
    found = {post.key: ts for post in lookup.posts}
    return await store.posting.settle_lookup(lookup, Look(found=found, complete=True))


def note(number: int) -> PlannedPost:
    return PlannedPost(dedupe=f"note:{number}", channel="C1", kind="note", note="{}")


async def test_a_lost_lease_changes_nothing(store: Store, clock: ManualClock) -> None:
    await arrive(store, interested(1))
    late = await take(store)
    # Whoever finds a post `sending` after its lease can't know if Slack has it: it has to be read first.
    clock.now += store.posting.timings.lease + 1
    assert await is_idle(store), "a dead process's attempt is looked up first"
    clock.now += 1
    (slow,) = await claim_lookups(store, limit=5)
    # A process that wakes up writes with its old token: believed, it would have the post sent twice.
    await store.posting.settle(late, NotSent(after=0))
    assert (await store.summary("default")).counts["uncertain"] == 1
    clock.now += store.posting.timings.lease + 1
    (now,) = await claim_lookups(store, limit=5)
    # Two readings would have the post sent again: the first is of who lost the place.
    await store.posting.settle_lookup(slow, ABSENT)
    await store.posting.settle_lookup(now, ABSENT)
    assert (await store.summary("default")).counts["uncertain"] == 1


@pytest.mark.parametrize(
    ("outcome", "look_ups"),
    [(ANSWERED, 2), (Unknown(), 4)],
    ids=["answered with an error", "never answered: it may be under way for twenty seconds"],
)
async def test_an_uncertain_post_is_looked_up_twice_or_until_it_cannot_arrive_any_more(
    store: Store, clock: ManualClock, outcome: Unknown, look_ups: int
) -> None:
    await arrive(store, interested(1))
    post, _ = await meet(store, outcome)
    # Two readings must find nothing (READS), and none of them counts while the attempt may be under way.
    for _ in range(look_ups):
        assert await is_idle(store)
        clock.now += 5
        await look(store, clock, ABSENT)
    assert (await take(store)).posts[0].id == post.id


async def test_a_reading_that_began_before_an_attempt_proves_nothing_about_it(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1), interested(2))
    first, _ = await meet(store, ANSWERED)
    reading = await claim(store, clock)
    clock.now += 1
    await meet(store, ANSWERED)
    # It was under way before the second attempt: what it lacks says nothing of that.
    await store.posting.settle_lookup(reading, ABSENT)
    assert await is_idle(store)
    await look(store, clock, ABSENT)
    turns = await claim_turns(store, limit=5)
    assert turns[0].posts[0].id == first.id
    await store.posting.settle(turns[0], Sent(ts="1"))
    counts = (await store.backlogs())["default"].counts
    assert (counts["uncertain"], counts["unsure"]) == (1, 0)


async def test_an_attempt_that_may_be_under_way_is_not_repeated_by_a_reading_that_began_before_its_end(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1))
    await meet(store, Unknown())
    clock.now += 2
    await look(store, clock, ABSENT)
    clock.now += store.posting.timings.longest - 5
    lookup = await claim(store, clock)
    clock.now += 9  # a long reading: the message may have come behind it
    await store.posting.settle_lookup(lookup, ABSENT)
    assert await is_idle(store)


async def test_what_belongs_into_the_thread_of_an_uncertain_card_waits_for_it(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1), interested(2))
    card, _ = await meet(store, ANSWERED)
    reminder = replace(note(1), kind="reminder", alert_id=card.alert_id, urgency=3)
    await store.outbox.plan([("default", reminder)])
    clock.now += 1
    other, _ = await meet(store, Sent(ts="2"))
    assert other.alert_id not in {card.alert_id, ""}
    clock.now += 1
    assert await is_idle(store)
    # The card's `ts` is the thread: sent before it is known, the reminder would stand in the channel.
    await find(store, clock, "1.1")
    clock.now += 1
    turn = await take(store)
    assert (turn.posts[0].kind, turn.posts[0].thread_ts) == ("reminder", "1.1")


# Each way in which a reading proves nothing: taken for a proof of absence, it would double the message.
FAILED = [
    Look(error="HTTP 500"),
    Look(error="unexpected_answer"),
    THROTTLED,
    Look(error="invalid_cursor"),
]


@pytest.mark.parametrize("seen", FAILED, ids=lambda seen: seen.error)
async def test_a_post_that_cannot_be_looked_up_is_unsure_after_a_bounded_time(
    store: Store, clock: ManualClock, seen: Look
) -> None:
    await arrive(store, interested(1))
    await meet(store, ANSWERED)
    began = clock.now
    for _ in range(MOST_FAILED):
        await look(store, clock, seen)
    assert clock.now - began < 400
    summary = await store.summary("default")
    assert [summary.counts[state] for state in ("uncertain", "unsure", "dead")] == [0, 1, 0]
    assert await claim_lookups(store, limit=5) == []
    assert await store.posting.revive() == 1
    await look(store, clock, seen)
    assert (await store.summary("default")).counts["unsure"] == 1, "one more look is enough"


async def test_throttled_readings_of_a_slack_workspace_wait_together(
    store: Store, clock: ManualClock
) -> None:
    for channel in ("C1", "C2", "C3"):
        await store.outbox.plan([("default", replace(note(0), dedupe=channel, channel=channel))])
    for turn in await claim_turns(store, limit=5):
        await store.posting.settle(turn, ANSWERED)
    clock.now += 2
    first, *_others = await claim_lookups(store, limit=5)
    await store.posting.settle_lookup(first, THROTTLED)
    clock.now += 30
    assert await claim_lookups(store, limit=5) == [], "Slack closed the method for all of them"
    clock.now += 31
    assert len(await claim_lookups(store, limit=5)) == 3


async def test_a_clock_that_is_set_back_does_not_shorten_the_doubt(store: Store, clock: ManualClock) -> None:
    await arrive(store, interested(1))
    await take(store)
    clock.now -= WEEK  # a dead process's attempt: it may be under way still
    began = clock.now
    await sweep_jobs(store)
    while await is_idle(store):
        clock.now += store.posting.timings.read_pause
        await look(store, clock, ABSENT)
    assert clock.now - began >= store.posting.timings.longest


async def test_taking_over_from_a_dead_bot_needs_no_waiting(store: Store, clock: ManualClock) -> None:
    await arrive(store, interested(1))
    await meet(store, NotSent(after=600.0))
    clock.now -= 300
    assert await is_idle(store)
    # Nobody knows by whose clock the channel was put off: what only a failure put off is tried at once.
    await store.jobs.take_over()
    assert len((await take(store)).posts) == 1


async def test_a_message_that_is_found_in_a_broken_channel_cures_nothing(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1), interested(2))
    await meet(store, Unknown())
    clock.now += 60
    await look(store, clock, HIDDEN)
    assert (await meet(store, REFUSED))[1]
    clock.now += 60
    await store.posting.revive()
    # That a message is found says that the channel took it then, and not that it takes others now.
    assert not await find(store, clock, "1")
    assert (await store.summary("default")).counts["dead"] == 1
    clock.now += 60
    assert (await meet(store, Sent(ts="2")))[1]


async def test_a_broken_channel_tries_another_letter_each_time(store: Store, clock: ManualClock) -> None:
    await arrive(store, interested(1), interested(2))
    await meet(store, REFUSED)
    tried = set()
    # Always the same post, if Slack refuses that for itself, would keep a healthy channel broken.
    for _ in range(2):
        clock.now += 601
        post, is_news = await meet(store, Unpostable(error="msg_too_long"))
        tried.add(post.alert_id)
        assert not is_news, "Slack refused the message before it looked at the channel"
    assert len(tried) == 2


async def test_a_channel_speaks_once_a_second_after_a_short_burst(store: Store, clock: ManualClock) -> None:
    await arrive(store, *(interested(number) for number in range(50)))
    await arrive(store, *(interested(number) for number in range(50, 100)))
    began, sent = clock.now, []
    for _ in range(60):
        for turn in await claim_turns(store, limit=5):
            sent.append(clock.now - began)
            await store.posting.settle(turn, Sent(ts=str(len(sent))))
        clock.now += 0.1
    # Slack takes a message a second in a channel, and short bursts: https://docs.slack.dev/apis/web-api/rate-limits
    assert sent[:2] == pytest.approx([0, 0.1])
    assert all(later - earlier >= 0.89 for earlier, later in itertools.pairwise(sent[1:]))
    assert len(sent) == 7


async def test_unrouted_deliveries_are_never_deleted(store: Store, clock: ManualClock) -> None:
    await append(store, interested(1))
    clock.now += 1_000
    # No alert was made of it yet: deleted by its age, an accepted delivery would be told to nobody.
    await store.retention.prune(bodies_after=10, hashes_after=100)
    await store.deliveries.route(routes().decide)
    assert len((await take(store)).posts) == 1


EVERYTHING = routes(rules=(RouteRule(channel=CHANNEL, events=("*",)),))
REPLIED, INTERESTED = event("lead.replied"), event("reply.interested")
BEN = Actor(name="ben", id="U2", face="slack")


async def refuse(store: Store) -> int:
    """Have Slack refuse every edit that is due; returns how many messages were to be edited."""
    due = await claim_paints(store)
    for job in due:
        await store.repaints.refused(job, await store.repaints.message(job))
    return len(due)


async def make_stale(store: Store) -> None:
    """Have each message drawn again for a reason that isn't a person's."""
    await store.database.write(lambda tx: redraw(tx, sa.true()))


def title(post: Post) -> str:
    return cards.card_of(post, cards.CardSettings()).title


async def test_a_late_note_about_a_card_that_turned_gives_way_to_the_new_card(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, REPLIED, by=EVERYTHING)
    await post_all(store, clock)
    clock.now += 300
    await arrive(store, INTERESTED, by=EVERYTHING)
    await refuse(store)
    assert [post.kind for post in await post_all(store, clock)] == ["alert"]


async def test_a_refused_edit_of_what_replaced_a_card_is_replaced_too(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1))
    (card,) = await post_all(store, clock)
    for actor, other in ((ANN, BEN), (BEN, ANN), (ANN, BEN)):
        await store.alerts.act(card.alert_id, "takeover", actor, instead_of=other.id)
        await store.alerts.act(card.alert_id, "claim", actor)
        assert await refuse(store) == 1
        (shown,) = [post for post in await post_all(store, clock) if post.kind == "current"]
        assert shown.alert is not None
        assert shown.alert.claimed_name == actor.name


async def test_a_click_between_a_claim_of_the_repaint_and_its_refusal_is_shown(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1))
    (card,) = await post_all(store, clock)
    await make_stale(store)
    (job,) = await claim_paints(store)
    message = await store.repaints.message(job)
    # Drawn for a reason that no person waits for, it would be dropped when Slack refuses it: now one waits.
    await store.alerts.act(card.alert_id, "claim", ANN)
    assert await store.repaints.refused(job, message)
    assert [post.kind for post in await post_all(store, clock)] == ["current"]


async def test_a_change_while_a_message_is_drawn_is_drawn_after_it(store: Store, clock: ManualClock) -> None:
    await arrive(store, interested(1))
    (card,) = await post_all(store, clock)
    await store.alerts.act(card.alert_id, "claim", ANN)
    (job,) = await claim_paints(store)
    message = await store.repaints.message(job)
    await store.alerts.act(card.alert_id, "done", ANN)
    # What was drawn is older than the change: counted as done, the card would show a claim for good.
    await store.repaints.done(job, message)
    ((after,),) = await claim_repaints(store)
    assert after.alert is not None
    assert after.alert.handled_name == "ann"
    assert await claim_repaints(store) == []


async def test_an_interested_reply_whose_card_may_be_in_slack_is_posted_anew(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, REPLIED, by=EVERYTHING)
    (lease,) = await claim_turns(store, limit=5)
    await store.posting.settle(lease, Unknown(answered=True))
    await arrive(store, INTERESTED, by=EVERYTHING)
    for _ in range(MOST_FAILED):
        clock.now += 70
        (lookup,) = await claim_lookups(store, limit=5)
        await store.posting.settle_lookup(lookup, Look(error="HTTP 500"))
    clock.now += 1
    (card,) = await post_all(store, clock)
    assert title(card) == "Ada is interested"
    assert await store.posting.revive() == 0


async def post_cards(store: Store, clock: ManualClock, count: int) -> list[Post]:
    """Posted cards, none of which is to be repainted."""
    await arrive(store, *(interested(number) for number in range(count)))
    found = await post_all(store, clock)
    clock.now += 600
    return found


async def repaint_for(store: Store, clock: ManualClock, seconds: float) -> list[Sequence[Post]]:
    """What is repainted within so many seconds."""
    painted: list[Sequence[Post]] = []
    ends = clock.now + seconds
    while clock.now < ends:
        for job in await claim_paints(store, limit=4):
            painted.append(await store.repaints.message(job))
            await store.repaints.done(job, painted[-1])
        clock.now += 0.5
    return painted


async def test_updates_stay_within_slacks_limits(store: Store, clock: ManualClock) -> None:
    await post_cards(store, clock, 50)
    for _ in range(2):
        await make_stale(store)
        # Half of the burst is left for the cards that people click (BACKGROUND_UPDATES).
        assert len(await repaint_for(store, clock, 30)) <= 20 + 30 / facts.UPDATE_SECONDS + 1


async def test_repaints_that_fail_are_tried_less_and_less(store: Store, clock: ManualClock) -> None:
    await post_cards(store, clock, 1)
    await make_stale(store)
    tries = 0
    ends = clock.now + 600
    while clock.now < ends:
        for job in await claim_paints(store):
            tries += 1
            await store.repaints.failed(job)
        clock.now += 5
    assert 4 <= tries <= 10


async def test_one_throttled_channel_does_not_hold_up_the_others(store: Store, clock: ManualClock) -> None:
    await arrive(store, interested(1))
    (turn,) = await claim_turns(store, limit=5)
    await store.posting.settle(turn, NotSent(after=30.0, error="ratelimited"))
    # Slack limits chat.postMessage by channel, so that another one takes messages.
    await arrive(store, interested(2), by=replace(routes(), alert_channels={"default": "C2"}))
    (other,) = await claim_turns(store, limit=5)
    assert other.channel == "C2"
    clock.now += 31
    assert [turn.channel for turn in await claim_turns(store, limit=5)] == [CHANNEL]
