"""Which channels get an event."""

from __future__ import annotations

import pytest

from bot.delivery.routing import Routes
from shared.api.events import Event
from shared.records.records import Subscription
from shared.settings.sections import RouteRule, Routing


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
    event = Event(kind="lead.bounced", sequence="Q3 founders", inbox="sam@mail.example")
    given = {"channel": "C2", "event": "lead.bounced", **wanted}
    subscription = Subscription(**given)  # type: ignore[arg-type] # texts alone
    targets = Routes(alert_channels={"w": "C1"}).targets(event, "w", [subscription, subscription], now=0.0)
    assert [target.channel for target in targets] == (["C2"] if matches else [])


def test_a_rule_of_the_settings_decides_the_form_and_the_mention() -> None:
    rule = RouteRule(channel="C2", events=("reply.interested",), condensed=True, mention="U0ANN")
    routes = Routes(alert_channels={}, routing=Routing(fallback="C7", rules=(rule,)))
    lost, ruled = routes.targets(Event(kind="reply.interested"), "w", now=0.0)
    assert (lost.channel, lost.condensed, lost.mention) == ("C7", False, "")
    assert (ruled.channel, ruled.condensed, ruled.mention) == ("C2", True, "U0ANN")
    assert not routes.targets(Event(kind="lead.bounced"), "w", now=0.0)
