"""A Slack workspace with its apps; a reset keeps connections and recreates the content."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sandbox.slack.people.assistant import Assistant
from sandbox.slack.people.people import People
from sandbox.slack.people.response_urls import ResponseUrls
from sandbox.slack.state import given, seed
from sandbox.slack.state.errors import InvalidActionError
from sandbox.slack.state.faults import Faults
from sandbox.slack.state.feed import Feed
from sandbox.slack.state.model import App
from sandbox.slack.state.own_world import fresh
from sandbox.slack.state.rate_limits import RateLimiter
from sandbox.slack.state.settings import AppSettings, Clock, Credentials, Settings
from sandbox.slack.state.traffic import Traffic
from sandbox.slack.to_bot.delivery import Delivery, Requests
from sandbox.slack.to_bot.events import Events
from sandbox.slack.to_bot.installation import Installation
from sandbox.slack.to_bot.sockets import Sockets
from sandbox.slack.world.world import World


class Workspace:
    """Everything that the Web API, the control API and the page read and change.

    `origin` is the address of its page; `boot` differs for every start, so that a page notices a restart. The first app
    is there from the start; `installations` are in the order in which the apps were installed.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        credentials: Credentials,
        clock: Clock,
        origin: str,
        requests: Requests,
        contents: seed.Contents = seed.FIRST,
        sockets: Sockets | None = None,
        bot_token: str | None = None,
        installed: bool = True,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.origin = origin
        self.contents = contents
        self.boot = secrets.token_hex(8)
        self.feed = Feed()
        self.traffic = Traffic(self.feed)
        self._requests = requests
        self.installations: list[Installation] = []
        self.first = self._install(seed.APP, settings, credentials, sockets=sockets)
        self.first.token, self.first.installed = bot_token or credentials.bot_token, installed
        self._create_contents()
        self.keep()

    def _install(
        self, app: App, settings: AppSettings, credentials: Credentials, *, sockets: Sockets | None = None
    ) -> Installation:
        sockets = sockets or Sockets(app_id=app.id, clock=self.clock, feed=self.feed)
        delivery = Delivery(
            app=app,
            settings=settings,
            limits=self.settings,
            credentials=credentials,
            clock=self.clock,
            sockets=sockets,
            traffic=self.traffic,
            requests=self._requests,
        )
        one = Installation(
            app=app,
            settings=settings,
            credentials=credentials,
            sockets=sockets,
            delivery=delivery,
            token=credentials.bot_token,
        )
        self.installations.append(one)
        return one

    def _create_contents(self) -> None:
        self.world = World(
            clock=self.clock,
            feed=self.feed,
            settings=self.settings,
            team=self.contents.team,
            app=self.first.app,
            channels={one.id: one for one in self.contents.channels()},
            users={one.id: one for one in self.contents.users},
            groups={one.id: one for one in self.contents.groups},
        )
        self.faults = Faults()
        self.response_urls = ResponseUrls(self.world, origin=self.origin)
        self.events = Events(self.world, self.installations)
        self.people = People(self.world, installations=self.installations, response_urls=self.response_urls)
        self.assistant = Assistant(self.world, installations=self.installations)
        for one in self.installations:
            one.rate_limiter = RateLimiter()
            self._seat(one)

    def _seat(self, one: Installation) -> None:
        """Let an app's bot be in the workspace, and in the channels that it joins."""
        bot = self.world.users.get(one.app.user, replace(seed.BOT, team_id=self.world.team.id))
        self.world.users[one.app.user] = replace(
            bot, id=one.app.user, name=one.app.handle, real_name=one.app.name
        )
        for channel in filter(None, map(self.world.channels.get, one.joins)):
            if one.app.user not in channel.members:
                channel.members.append(one.app.user)

    def installation(self, name: Any = None) -> Installation:
        """An app by its name, its id or its bot's; the first one where none is named.

        Raises `InvalidActionError`: there is no such app.
        """
        if not name:
            return self.first
        wanted = str(name).casefold()
        for one in self.installations:
            if wanted in {one.app.name.casefold(), one.app.id.casefold(), one.app.user.casefold()}:
                return one
        known = ", ".join(one.app.name for one in self.installations)
        raise InvalidActionError(f"app: no app {name!r}; there are: {known}")

    def add_app(
        self, manifest: Mapping[str, Any], *, name: str = "", joins: Iterable[str] | None = None
    ) -> Installation:
        """Install another app with separate credentials; it is reached by Socket Mode until it has an address.

        Its bot joins the channels of `joins`, or those in which the first app's bot is.

        Raises `InvalidActionError`: it has no name, or that of another app or person, or joins a channel that is not there.
        """
        name = name or _name_of(manifest)
        handle = App(id="", bot_id="", user="", name=name).handle
        if not handle:
            raise InvalidActionError("name: needed, here or as display_information.name of the manifest")
        ending = f"0{re.sub('[^A-Z0-9]', '', handle.upper()):0<8}"
        app = App(id=f"A{ending}", bot_id=f"B{ending}", user=f"U{ending}", name=name)
        if app.user in self.world.users or any(one.name == handle for one in self.world.users.values()):
            raise InvalidActionError(f"name: {name!r} is taken")
        known = self.world.channels.values()
        if joins is None:
            joins = [one.id for one in known if self.first.app.user in one.members and not one.direct]
        joins = tuple(self.people.named_channel(one).id for one in joins)
        settings = AppSettings(request_url=None, commands=())
        settings.read_manifest(manifest)
        one = self._install(app, settings, Credentials())
        one.joins = joins
        self._seat(one)
        self.feed.publish("settings", {})
        return one

    def read_manifest(self, one: Installation, manifest: Mapping[str, Any]) -> None:
        """Let all that a manifest says of an app take effect, its name included."""
        name = _name_of(manifest) or one.app.name
        one.settings.read_manifest(manifest)
        one.app = replace(one.app, name=name)
        self._seat(one)
        self.feed.publish("settings", {})

    def remove_app(self, one: Installation) -> None:
        """Take an app away for good; raises `InvalidActionError` for the first one."""
        if one is self.first:
            raise InvalidActionError("app: the first app stays; it can be uninstalled")
        self._forget(one)
        self.world.users.pop(one.app.user)
        for channel in self.world.channels.values():
            channel.members[:] = [member for member in channel.members if member != one.app.user]
        self.feed.publish("settings", {})

    def _forget(self, one: Installation) -> None:
        self.installations.remove(one)
        one.sockets.cut()
        one.delivery.forget()

    def install(self, one: Installation) -> str:
        """Install an app, or install it again, which leaves its token as it is; answers the token."""
        one.installed, one.revoked = True, False
        self.installations.sort(key=lambda other: other is one)  # the newest installation comes last
        self.feed.publish("settings", {})
        return one.token

    def uninstall(self, one: Installation) -> None:
        """Take an app away; its token is of no use any more."""
        one.installed = False
        one.token = f"xoxb-{secrets.token_hex(16)}"
        self.feed.publish("settings", {})

    def post_scheduled(self) -> None:
        """Post the messages whose time has come; asked before everything that could see them."""
        now = self.clock.now()
        due = [one for one in self.world.scheduled.values() if one["post_at"] <= now]
        for one in sorted(due, key=lambda one: float(one["post_at"])):
            del self.world.scheduled[one["id"]]
            channel = self.world.channels.get(one["channel_id"])
            if channel is not None and not channel.is_archived:
                self.world.post(channel, **one["message"])

    def keep(self) -> None:
        """Make the present settings, apps, people and channels those that a full reset returns to."""
        world = self.world
        channels = [fresh(one) for one in world.channels.values() if one.direct is None]
        self.contents = replace(
            self.contents,
            users=tuple(world.users.values()),
            groups=tuple(world.groups.values()),
            channels=lambda: [fresh(one) for one in channels],
        )
        self._start = (self.contents, [(one, one.kept()) for one in self.installations])

    def reset(self, *, everything: bool = False) -> None:
        """Forget messages, views, faults and counts; settings and connections stay.

        With `everything`, also settings, apps, people, channels and the time are as at the start; connections stay.
        """
        if everything:
            self.contents, kept = self._start
            for one in [one for one in self.installations if one not in {known for known, _ in kept}]:
                self._forget(one)
            self.installations[:] = [one for one, _ in kept]
            for one, start in kept:
                one.restore(start)
            self.clock.reset()
        self.traffic.clear()
        self._create_contents()
        self.feed.publish("reset", {})

    def change_world(self, contents: seed.Contents) -> None:
        self.contents = contents
        self.reset()

    async def close(self) -> None:
        await asyncio.gather(*(one.delivery.close() for one in self.installations))
        await asyncio.gather(*(one.sockets.close() for one in self.installations))
        self.feed.close()


def _name_of(manifest: Mapping[str, Any]) -> str:
    return given.text(given.section(manifest, "display_information").get("name"), "display_information.name")
