"""What must hold at any moment of a run, and what must hold when it is quiet."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.simulation.world import World

SILENCE = 45.0
"""Seconds without a message while one waits, Slack takes posts and a bot lives. The longest pause between two tries is
30 s."""


def none_twice(world: World) -> None:
    """No alert, and no other message, is in a channel twice."""
    for channel, messages in world.slack.messages.items():
        keys = Counter(key for message in messages if (key := _payload(message).get("key")))
        alerts = Counter(name for message in messages for name in alerts_of(message))
        for name, count in (keys + alerts).items():
            if count > 1:
                world.violated(f"{name} is {count} times in {channel}")
    for one in world.deliveries:
        for channel in one.channels:
            cards = [m["all"] for m in world.slack.messages[channel] if _is_card(m)]
            count = sum(one.words in card for card in cards)
            if count > 1:
                world.violated(f"delivery {one.number} is in {count} messages of {channel}")


def requests_within_the_limit(world: World) -> None:
    if world.service.most_in_a_second > 10:
        world.violated(f"{world.service.most_in_a_second} requests within a second")


def no_silent_channel(world: World) -> None:
    """Where Slack takes posts and something waits, something is posted."""
    waiting: dict[str, float] = {}
    for one in world.deliveries:
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


def _payload(message: dict[str, Any]) -> dict[str, Any]:
    return (message.get("metadata") or {}).get("event_payload") or {}


def guardrails_act_once(world: World) -> None:
    """An incident that goes on is acted on once, by whichever bot."""
    for sequence, count in world.guardrail_pauses().items():
        if count > 1:
            world.violated(f"a guardrail paused {sequence} {count} times in one incident")


def _is_card(message: dict[str, Any]) -> bool:
    """An alert's own message: a list may name an alert also in a reminder of it."""
    return bool(alerts_of(message)) and not str(_payload(message).get("key")).startswith("b")


def alerts_of(message: dict[str, Any]) -> list[str]:
    payload = _payload(message)
    return list(payload.get("alert_ids") or filter(None, [payload.get("alert_id")]))
