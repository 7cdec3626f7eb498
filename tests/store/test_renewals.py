"""What is posted instead of a message that Slack lets nobody edit: once, and only what must be seen."""

from __future__ import annotations

import sqlalchemy as sa

from bot import cards
from shared.records.audit import Actor
from shared.settings.sections import RouteRule
from shared.store import Store
from shared.store.messages import MOST_FAILED, Look, Post, Unknown, redraw
from tests.bot.due import claim_lookups, claim_paints, claim_repaints, claim_turns
from tests.bot.harness import interested
from tests.bot.manual_clock import ANN, CHANNEL, ManualClock, arrive, post_all, routes
from tests.store.test_same_reply import event

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
    """Have each message drawn again for a reason that is no person's."""
    await store.database.write(lambda tx: redraw(tx, sa.true()))


def title(post: Post) -> str:
    return cards.card_of(post).title


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
