"""How many calls Slack is asked for, by the store alone and a clock that the test holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import sqlalchemy as sa

from shared.store import Store, slack_limits
from shared.store.messages import NotSent, Post, redraw
from tests.bot.due import claim_paints, claim_turns
from tests.bot.harness import interested
from tests.bot.manual_clock import CHANNEL, ManualClock, arrive, post_all, routes


async def cards(store: Store, clock: ManualClock, count: int) -> list[Post]:
    """Posted cards, none of which is to be repainted."""
    await arrive(store, *(interested(number) for number in range(count)))
    found = await post_all(store, clock)
    clock.now += 600
    return found


async def make_stale(store: Store) -> None:
    await store.database.write(lambda tx: redraw(tx, sa.true()))


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
    await cards(store, clock, 50)
    for _ in range(2):
        await make_stale(store)
        # Half of the burst is left for the cards that people click (UPDATES.background).
        assert len(await repaint_for(store, clock, 30)) <= 20 + 30 / slack_limits.UPDATES.period + 1


@pytest.mark.parametrize(
    ("channel_refuses", "seconds", "most"),
    [pytest.param(True, 600, 10, id="refused"), pytest.param(False, 60, 30, id="unanswered")],
)
async def test_repaints_that_fail_are_tried_less_and_less(
    store: Store, clock: ManualClock, seconds: float, most: int, *, channel_refuses: bool
) -> None:
    await cards(store, clock, 40)
    await make_stale(store)
    tries = 0
    ends = clock.now + seconds
    while clock.now < ends:
        for job in await claim_paints(store, limit=1 if channel_refuses else 4):
            tries += 1
            await store.repaints.failed(job, CHANNEL, channel_refuses=channel_refuses)
        clock.now += 0.5
    assert 4 <= tries <= most


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
