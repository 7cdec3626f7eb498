"""What must hold at any moment of a run, and what must hold when it is quiet."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

ALERTS = "C0ALERTS"
PEOPLE_IN_ROTA = ("U1ROTA", "U2ROTA", "U3ROTA")

if TYPE_CHECKING:
    from tests.faults.simulation.world import World

SILENCE = 45.0
"""Seconds without a message while one waits, Slack takes posts and a bot lives. The longest pause between two tries is
30 s."""


def requests_within_the_limit(world: World) -> None:
    if world.service.most_in_a_second > 10:
        world.violated(f"{world.service.most_in_a_second} requests within a second")


def no_silent_channel(world: World) -> None:
    """Where Slack takes posts and something waits, something is posted."""
    waiting: dict[str, float] = {}
    world.unseen = [one for one in world.unseen if not all(world.is_shown(one, c) for c in one.channels)]
    for one in world.unseen:
        if one.acknowledged_at is None:
            continue
        for channel in one.channels:
            if not world.is_shown(one, channel):
                waiting[channel] = min(waiting.get(channel, one.acknowledged_at), one.acknowledged_at)
    for channel, since in waiting.items():
        last = max(
            since, world.slack.posted_at[channel], world.slack.post_failed_at[channel], world.disturbed_at
        )
        if world.now - last > SILENCE:
            world.violated(f"{channel} is silent for {world.now - last:.0f} s while Slack takes posts")


def everything_appears(world: World) -> None:
    """Each acknowledged delivery is in each of its channels, or counted where it has none."""
    counted = Counter(kind for (kind,) in world.rows("SELECT kind FROM deliveries"))
    told = Counter(one.kind for one in world.deliveries)
    if counted != told:
        world.violated(f"deliveries are counted as {dict(counted)} instead of {dict(told)}")
    for one in world.deliveries:
        for channel in one.channels:
            if not world.is_shown(one, channel):
                world.violated(f"delivery {one.number} ({one.kind}) never appeared in {channel}")


def guardrails_act_once(world: World) -> None:
    """An incident that goes on is acted on once, by whichever bot."""
    for sequence, count in world.guardrail_pauses().items():
        if count > 1:
            world.violated(f"a guardrail paused {sequence} {count} times in one incident")


def each_reply_has_one_owner(world: World) -> None:
    """Each reply of a route with a rota had one turn, nobody's was skipped or doubled, and it passed on once at most."""
    turns = world.turns()
    for one in world.deliveries:
        if one.kind != "reply.interested":
            continue
        had = turns.get(one.alert, [])
        if len(had) != 1:
            world.violated(f"delivery {one.number} has {len(had)} owners instead of one")
        called, passed = world.slack.calls_of(ALERTS, one.alert, one.number)
        if (called is not None and len(called) != 1) or passed > 1:
            world.violated(f"delivery {one.number} calls {called} and passed on {passed} times")
    counts = Counter(dict.fromkeys(PEOPLE_IN_ROTA, 0))
    counts.update(person for had in turns.values() for person in had)
    if max(counts.values()) - min(counts.values()) > 1:
        world.violated(f"turns were skipped or doubled: {dict(counts)}")
