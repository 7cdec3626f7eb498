"""Everything that a reset exchanges for new, tied together once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sandbox.slack.people.people import People
from sandbox.slack.people.response_urls import Replies
from sandbox.slack.state.clock import Clock
from sandbox.slack.state.faults import Faults
from sandbox.slack.state.feed import Feed
from sandbox.slack.state.rate_limits import Buckets
from sandbox.slack.state.settings import Credentials, Settings
from sandbox.slack.state.traffic import Traffic
from sandbox.slack.to_bot.delivery import Delivery
from sandbox.slack.to_bot.events import Events
from sandbox.slack.to_bot.sockets import Sockets
from sandbox.slack.web_api.calls import Call
from sandbox.slack.world.world import World


@dataclass(slots=True, kw_only=True)
class Workspace:
    """One life of the stand-in: what is in it and who acts on it."""

    settings: Settings
    world: World
    traffic: Traffic
    faults: Faults
    buckets: Buckets
    people: People
    replies: Replies
    events: Events
    sockets: Sockets
    origin: str

    def call(self, args: dict[str, Any]) -> Call:
        """A call of the Web API with these arguments."""
        return Call(
            args=args,
            world=self.world,
            settings=self.settings,
            stage=self.people.stage,
            events=self.events,
            sockets=self.sockets,
            origin=self.origin,
        )


def furnish(
    *,
    settings: Settings,
    credentials: Credentials,
    clock: Clock,
    feed: Feed,
    sockets: Sockets,
    delivery: Delivery,
    origin: str,
) -> Workspace:
    """A fresh workspace on connections that stay."""
    world = World(clock=clock, feed=feed)
    replies = Replies(world, origin=origin)
    return Workspace(
        settings=settings,
        world=world,
        traffic=Traffic(announce=lambda exchange: feed.publish("traffic", exchange)),
        faults=Faults(),
        buckets=Buckets(),
        people=People(world, settings=settings, credentials=credentials, delivery=delivery, replies=replies),
        replies=replies,
        events=Events(world, settings=settings, credentials=credentials, delivery=delivery),
        sockets=sockets,
        origin=origin,
    )
