"""Which channels get an event."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from bot.delivery import Routes
from shared.records import Subscription
from shared.settings.sections import ChannelPolicy, RouteRule, Routing
from shared.store.deliveries import PendingDelivery
from shared.store.messages import PlannedPost


def pending(kind: str, *wanted: Subscription, now: float = 0.0, **data: str) -> PendingDelivery:
    """A delivery to a workspace with these subscriptions."""
    return PendingDelivery(
        id=1,
        alert_id="al_1",
        workspace="w",
        body=json.dumps({"event": kind, "lead": {"email": "x@y.example"}, **data}).encode(),
        found=False,
        received_at=now,
        last_at=now,
        is_new=True,
        subscriptions=wanted,
    )


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        ({}, True),
        ({"event": "*"}, True),
        ({"sequence": "q3 FOUNDERS"}, True),
        ({"inbox": "mail.example"}, True),
        ({"inbox": "sam@mail.example"}, True),
        ({"event": "lead.replied"}, False),
        ({"sequence": "Q3"}, False),
        ({"inbox": "mail"}, False),
    ],
)
def test_a_subscription_matches_exactly_and_posts_once_per_channel(
    wanted: dict[str, str], *, matches: bool
) -> None:
    given = {"channel": "C2", "event": "lead.bounced", **wanted}
    subscription = Subscription(**given)  # type: ignore[arg-type] # texts alone
    bounce = pending("lead.bounced", subscription, sequence="Q3 founders", inbox="sam@mail.example")
    decision = Routes(alert_channels={"w": "C1"}).decide(bounce)
    assert [post.channel for post in decision.posts] == (["C2"] if matches else [])


def test_a_rule_of_the_settings_decides_the_form_and_the_mention() -> None:
    rule = RouteRule(channel="C2", events=("reply.interested",), condensed=True, mention="U0ANN")
    routes = Routes(alert_channels={}, routing=Routing(fallback="C7", rules=(rule,)))
    lost, ruled = routes.decide(pending("reply.interested")).posts
    assert (lost.channel, lost.condensed, lost.mention) == ("C7", False, "")
    assert (ruled.channel, ruled.condensed, ruled.mention) == ("C2", True, "U0ANN")
    assert not routes.decide(pending("lead.bounced")).posts


NIGHT = "20:00-08:00"
AT_23_IN_BERLIN = datetime(2026, 11, 20, 22, tzinfo=UTC)
"""And five in the afternoon in New York."""
ROUTING = Routing(
    mention="S0BERLIN",
    quiet=NIGHT,
    timezone="Europe/Berlin",
    channels={
        "C2": ChannelPolicy(mention="S0NEWYORK", quiet=NIGHT, timezone="America/New_York"),
        "C3": ChannelPolicy(mention="", quiet="off"),
    },
)


def posts(kind: str) -> dict[str, PlannedPost]:
    """What becomes of a delivery at that hour, by channel; all three have subscribed to it."""
    wanted = [Subscription(channel=channel, event=kind) for channel in ("C1", "C2", "C3")]
    routes = Routes(alert_channels={"w": None}, routing=ROUTING)
    came = pending(kind, *wanted, now=AT_23_IN_BERLIN.timestamp())
    return {post.channel: post for post in routes.decide(came).posts}


def test_alerts_are_held_only_in_channels_with_quiet_hours_now() -> None:
    held = {channel: post.held_until for channel, post in posts("lead.bounced").items()}
    assert held == {"C1": datetime(2026, 11, 21, 7, tzinfo=UTC).timestamp(), "C2": None, "C3": None}
