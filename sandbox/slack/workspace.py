"""A Slack workspace with the app installed: its connections stay, its contents are made new by a reset."""

from __future__ import annotations

import secrets

from sandbox.slack.people.people import People
from sandbox.slack.people.response_urls import ResponseUrls
from sandbox.slack.state.faults import Faults
from sandbox.slack.state.feed import Feed
from sandbox.slack.state.rate_limits import RateLimiter
from sandbox.slack.state.settings import Clock, Credentials, Settings
from sandbox.slack.state.traffic import Traffic
from sandbox.slack.to_bot.delivery import Delivery
from sandbox.slack.to_bot.events import Events
from sandbox.slack.to_bot.sockets import Sockets
from sandbox.slack.world.world import World


class Workspace:
    """Everything that the Web API, the control API and the page read and change.

    `origin` is the stand-in's own address; `boot` differs for every start, so that a page notices a restart.
    """

    def __init__(self, *, settings: Settings, credentials: Credentials, clock: Clock, origin: str) -> None:
        self.settings = settings
        self.credentials = credentials
        self.clock = clock
        self.origin = origin
        self.boot = secrets.token_hex(8)
        self.feed = Feed()
        self.traffic = Traffic(self.feed)
        self.sockets = Sockets(clock=clock, feed=self.feed)
        self.delivery = Delivery(
            settings=settings,
            credentials=credentials,
            clock=clock,
            sockets=self.sockets,
            traffic=self.traffic,
        )
        self._create_contents()

    def _create_contents(self) -> None:
        self.world = World(clock=self.clock, feed=self.feed, settings=self.settings)
        self.faults = Faults()
        self.rate_limiter = RateLimiter()
        self.response_urls = ResponseUrls(self.world, origin=self.origin)
        self.events = Events(
            self.world, settings=self.settings, credentials=self.credentials, delivery=self.delivery
        )
        self.people = People(
            self.world,
            settings=self.settings,
            credentials=self.credentials,
            delivery=self.delivery,
            response_urls=self.response_urls,
        )

    def reset(self) -> None:
        """Forget messages, views, faults and counts; settings and connections stay."""
        self.traffic.clear()
        self._create_contents()
        self.feed.publish("reset", {})
