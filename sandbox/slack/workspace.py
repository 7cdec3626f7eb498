"""A Slack workspace with the app installed: its connections stay, its contents are made new by a reset."""

from __future__ import annotations

import secrets
from dataclasses import fields, replace

from sandbox.slack.people.people import People
from sandbox.slack.people.response_urls import ResponseUrls
from sandbox.slack.state import seed
from sandbox.slack.state.faults import Faults
from sandbox.slack.state.feed import Feed
from sandbox.slack.state.own_world import fresh
from sandbox.slack.state.rate_limits import RateLimiter
from sandbox.slack.state.settings import Clock, Credentials, Settings
from sandbox.slack.state.traffic import Traffic
from sandbox.slack.to_bot.delivery import Delivery
from sandbox.slack.to_bot.events import Events
from sandbox.slack.to_bot.sockets import Sockets
from sandbox.slack.world.world import World


class Workspace:
    """Everything that the Web API, the control API and the page read and change.

    `origin` is the address of its page; `boot` differs for every start, so that a page notices a restart. Several
    workspaces share the app: its settings, credentials and Socket Mode connections, but not its bot token.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        credentials: Credentials,
        clock: Clock,
        origin: str,
        contents: seed.Contents = seed.FIRST,
        sockets: Sockets | None = None,
        bot_token: str | None = None,
        installed: bool = True,
    ) -> None:
        self.settings = settings
        self.credentials = credentials
        self.clock = clock
        self.origin = origin
        self.contents = contents
        self.bot_token = bot_token or credentials.bot_token
        self.revoked = False
        self.boot = secrets.token_hex(8)
        self.feed = Feed()
        self.traffic = Traffic(self.feed)
        self.sockets = sockets or Sockets(clock=clock, feed=self.feed)
        self.delivery = Delivery(
            settings=settings,
            credentials=credentials,
            clock=clock,
            sockets=self.sockets,
            traffic=self.traffic,
        )
        self._create_contents(installed=installed)
        self._start = (replace(settings), contents, installed)

    def _create_contents(self, *, installed: bool) -> None:
        self.world = World(
            clock=self.clock,
            feed=self.feed,
            settings=self.settings,
            team=self.contents.team,
            channels={one.id: one for one in self.contents.channels()},
            users={one.id: one for one in self.contents.users},
            groups={one.id: one for one in self.contents.groups},
            installed=installed,
        )
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

    def install(self) -> str:
        """Install the app, or install it again, which leaves its token as it is; answers the token."""
        self.world.installed, self.revoked = True, False
        self.feed.publish("settings", {})
        return self.bot_token

    def uninstall(self) -> None:
        """Take the app away; its token is of no use any more."""
        self.world.installed = False
        self.bot_token = f"xoxb-{secrets.token_hex(16)}"
        self.feed.publish("settings", {})

    def post_scheduled(self) -> None:
        """Post the messages whose time has come; asked before everything that could see them."""
        now = self.clock.now()
        due = [one for one in self.world.scheduled.values() if one["post_at"] <= now]
        for one in sorted(due, key=lambda one: float(one["post_at"])):
            del self.world.scheduled[one["id"]]
            channel = self.world.channels.get(one["channel_id"])
            if channel is not None and not channel.is_archived:
                self.world.post(channel, user=seed.BOT.id, by_app=True, **one["message"])

    def keep(self) -> None:
        """Make the present settings, people and channels those that a full reset returns to."""
        world = self.world
        channels = [fresh(one) for one in world.channels.values() if one.direct is None]
        self.contents = replace(
            self.contents,
            users=tuple(world.users.values()),
            groups=tuple(world.groups.values()),
            channels=lambda: [fresh(one) for one in channels],
        )
        self._start = (replace(self.settings), self.contents, world.installed)

    def reset(self, *, everything: bool = False) -> None:
        """Forget messages, views, faults and counts; settings and connections stay.

        With `everything`, also settings, people, channels and the time are as at the start; connections stay.
        """
        installed = self.world.installed
        if everything:
            settings, self.contents, installed = self._start
            for field in fields(settings):
                setattr(self.settings, field.name, getattr(settings, field.name))
            self.revoked = False
            self.clock.reset()
            self.sockets.silent = self.sockets.disabled = False
            self.delivery.forget()
        self.traffic.clear()
        self._create_contents(installed=installed)
        self.feed.publish("reset", {})

    def change_world(self, contents: seed.Contents) -> None:
        """Start over with other people and channels."""
        self.contents = contents
        self.reset()
