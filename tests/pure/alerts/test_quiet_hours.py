"""Each channel in its own manner: who is called there, and when there is quiet by the clock on its wall."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from bot.delivery.routing import Routes
from shared.records.records import Subscription
from shared.settings.sections import ChannelPolicy, Routing
from shared.store.deliveries import PendingDelivery
from shared.store.messages import PlannedPost

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
BOUNCE = json.dumps({"event": "lead.bounced", "lead": {"email": "x@y.example"}}).encode()


def posts(body: bytes) -> dict[str, PlannedPost]:
    """What becomes of a delivery at that hour, by channel; all three have subscribed to everything."""
    kinds = ("reply.interested", "lead.bounced")
    wanted = [Subscription(channel=channel, event=kind) for channel in ("C1", "C2", "C3") for kind in kinds]
    now = AT_23_IN_BERLIN.timestamp()
    pending = PendingDelivery(
        id=1,
        alert_id="al_1",
        workspace="w",
        body=body,
        found=False,
        received_at=now,
        last_at=now,
        seen=1,
        is_new=True,
        subscriptions=wanted,
    )
    routes = Routes(alert_channels={"w": None}, routing=ROUTING)
    return {post.channel: post for post in routes.decide(pending).posts}


def test_alerts_are_held_only_in_channels_with_quiet_hours_now() -> None:
    held = {channel: post.held_until for channel, post in posts(BOUNCE).items()}
    assert held == {"C1": datetime(2026, 11, 21, 7, tzinfo=UTC).timestamp(), "C2": None, "C3": None}
