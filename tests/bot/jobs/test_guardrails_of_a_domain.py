"""What guardrails find on one domain is one message: the card of its pause, or else a message of their own."""

from __future__ import annotations

import sqlalchemy as sa

from bot import cards
from shared.domain.card import Card
from shared.store.db.schema import posts
from tests.bot.jobs.guarded_workspace import GuardedWorkspace
from tests.bot.manual_clock import MINUTE

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
    return [(row.condensed, cards.read_note(row.note)) for row in rows]


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
