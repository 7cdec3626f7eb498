"""What guardrails find on one domain is one message: the card of its pause, or else a message of their own."""

from __future__ import annotations

import json

import sqlalchemy as sa

from bot.alerts import rendering
from shared.domain.card import Card
from shared.store.db.schema import posts
from tests.bot.jobs.guarded_workspace import GuardedWorkspace
from tests.bot.manual_clock import MINUTE, arrive

PAUSED = json.dumps({"event": "domain.paused", "domain": "mail.example"}).encode()
ALL_THAT_FIRE = {
    "domain-bounces-10-1h",
    "domain-bounces-5-1h",
    "bounces-10",
    "domain-bounces-10",
}


async def messages(guarded: GuardedWorkspace) -> list[tuple[bool, Card]]:
    """The messages of guardrails as they stand, and whether each is a line only."""
    query = sa.select(posts.c.condensed, posts.c.note).where(posts.c.kind == "note").order_by(posts.c.id)
    rows = await guarded.store.database.read(lambda tx: tx.execute(query).all())
    return [(row.condensed, rendering.read_note(row.note)) for row in rows]


async def test_all_rules_that_find_one_trouble_share_one_message(guarded: GuardedWorkspace) -> None:
    guarded.sent(100)
    await guarded.advance()
    await guarded.bounce(12)
    said = await guarded.advance(10 * MINUTE)
    open_ = await guarded.store.incidents.open("default")
    assert {one.rule for one in open_} == ALL_THAT_FIRE
    assert len({one.told for one in open_}) == 1, "the sequence's bounces came from the domain"
    assert len(said) == 1
    ((_, card),) = await messages(guarded)
    assert "suggests pausing" in card.title, "a suggestion says more than a notice"
    assert all(name in f"{card.title} {card.text}" for name in ALL_THAT_FIRE)
    assert card.buttons[0].label.startswith("Pause ")


async def test_a_notice_has_no_daily_limit(guarded: GuardedWorkspace) -> None:
    await guarded.rule("notify about sequence when bounces > 4 in 1h")
    for number in range(7):
        await guarded.bounce(5, name=f"Sequence {number}", first=10 * number, inbox=f"sam@d{number}.example")
    assert len(await guarded.advance()) == 7


async def test_troubles_of_two_domains_are_two_messages(guarded: GuardedWorkspace) -> None:
    await guarded.rule("notify about domain when bounces > 4 in 1h")
    for number in range(2):
        await guarded.bounce(5, first=10 * number, inbox=f"sam@d{number}.example")
    assert len(await guarded.advance()) == 2


async def test_the_pause_of_a_domain_takes_over_what_rules_said_of_it_before(
    guarded: GuardedWorkspace,
) -> None:
    await guarded.rule("notify about domain when bounces > 4 in 1h")
    await guarded.bounce(5)
    assert len(await guarded.advance()) == 1
    # The service pauses the domain after the rules have spoken: one trouble must not stay two messages.
    await arrive(guarded.store, PAUSED)
    await guarded.advance(10 * MINUTE)
    ((_, card),) = await messages(guarded)
    assert "see the card of its pause" in card.title
