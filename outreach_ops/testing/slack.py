"""Controls a Slack workspace from a test: people and channels."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outreach_ops.testing.control import DEFAULT_SECONDS, Control, Refused, wait_for
from outreach_ops.testing.models import Message, Modal, Result

_NOT_YET = ("no such element", "no modal is open", "nothing is open")
"""Errors that go away when the bot has done what the test waits for."""


class Slack:
    """The stand-in: connection data for the bot under test, people, channels and messages."""

    def __init__(self, announcement: Mapping[str, Any]) -> None:
        self._control = Control(announcement["slack_control_url"])
        self.page: str = announcement["slack_page"]
        """The page of the workspace, for a browser."""
        self.api_url: str = announcement["slack_api_url"]
        """The `base_url` of the bot's `WebClient`."""
        self.bot_token: str = announcement["slack_bot_token"]
        self.app_token: str = announcement["slack_app_token"]
        self.signing_secret: str = announcement["slack_signing_secret"]
        self.users = Users(self._control)

    @property
    def bot_user_id(self) -> str:
        """The bot's id, for mentions: `<@U…>`."""
        return str(self._control.get("state")["apps"][0]["bot_user"])

    @property
    def environment(self) -> dict[str, str]:
        """The variables that Slack's own examples read, for a bot that runs in its own process."""
        return _environment(self, self.api_url)

    def add_app(
        self, manifest: Mapping[str, Any] | Path | None = None, *, name: str = "", **more: Any
    ) -> App:
        """Install another app, with its own tokens and bot; it is there until the next reset.

        `name` is needed where the manifest has none; `channels` are those its bot is in.
        """
        body = _manifest(manifest or {})
        return App(self, self._control.post("app", manifest=body, name=name, **more)["app"])

    def install(self, manifest: Mapping[str, Any] | Path) -> None:
        """Apply a manifest (an object, or a JSON file): its commands, events and scopes."""
        self._control.post("manifest", **_manifest(manifest))

    def deliver_to(self, url: str | None) -> None:
        """Send commands, clicks and events to `url`; None: only Socket Mode."""
        self._control.post("request_url", url=url)

    def world(self, **contents: Any) -> None:
        """Replace `team`, `users`, `groups` and `channels`: docs/slack-stand-in.md, "Your own people and channels"."""
        self._control.post("world", **contents)

    def load_world(self, world: Mapping[str, Any] | Path) -> None:
        """Replace people, groups and channels by those of `save_world`, or of a JSON file of it."""
        self._control.post("world", **_manifest(world))

    def save_world(self) -> dict[str, Any]:
        """Team, people, groups and channels as they are now, without messages."""
        world = self._control.get("world")
        return {part: world[part] for part in ("team", "users", "groups", "channels")}

    def keep(self) -> None:
        """Keep the current manifest, address, settings and world as the state after `reset`."""
        self._control.post("keep")

    def reset(self) -> None:
        """Reset everything; connections stay open."""
        self._control.post("reset", everything=True)

    def fail(
        self, method: str = "*", *, kind: str | None = None, status: int | None = None, **details: Any
    ) -> None:
        """Make the next call of a Web API method fail: docs/slack-stand-in.md, "Actions of Slack".

        Without a `kind`, `status=429` is Slack's rate limit, any other `status` that answer, and neither an error.
        """
        if kind is None:
            kind = "error" if status is None else "rate_limited" if status == 429 else "status"
        if status is not None and kind != "rate_limited":
            details["status"] = status
        self._control.post("faults", method=method, kind=kind, **details)

    def advance(self, seconds: float) -> None:
        """Advance the time, for triggers, response URLs and limits."""
        self._control.post("clock", advance=seconds)

    def event(self, kind: str, **fields: Any) -> None:
        """Send the bot any event."""
        self._control.post("event", event={"type": kind, **fields})

    def act(self, act: str, /, **body: Any) -> dict[str, Any]:
        """Any action of the control API: docs/slack-stand-in.md, "The control API"."""
        return self._control.post(act, **body)

    def channel(self, name: str) -> Channel:
        """A channel by name or id."""
        return Channel(self._control, name.lstrip("#"))

    @property
    def calls(self) -> dict[str, int]:
        """The number of calls of each Web API method."""
        return dict(self._control.get("summary")["calls"])

    def transcript(self) -> str:
        """A readable transcript so far."""
        return str(self._control.get("transcript")["text"])

    def recording(self) -> dict[str, Any]:
        """The transcript so far, for `replay`."""
        return dict(self._control.get("transcript")["transcript"])

    def replay(self, recording: Mapping[str, Any]) -> list[str]:
        """Repeat the people's actions of a recording; returns the differences of the bot's messages."""
        return list(self._control.post("replay", transcript=recording)["differences"])


class App:
    """Another app in the workspace: its tokens, and its bot's name."""

    def __init__(self, slack: Slack, told: Mapping[str, Any]) -> None:
        self._slack = slack
        self.name: str = told["name"]
        self.bot_name: str = told["bot_name"]
        """The name of its bot: `expect(channel).to_have_message("…", from_=app.bot_name)`."""
        self.bot_user: str = told["bot_user"]
        """Its bot's id, for mentions: `<@U…>`."""
        self.bot_token: str = told["bot_token"]
        self.app_token: str = told["app_token"]
        self.signing_secret: str = told["signing_secret"]

    @property
    def environment(self) -> dict[str, str]:
        """The variables that Slack's own examples read."""
        return _environment(self, self._slack.api_url)

    def deliver_to(self, url: str | None) -> None:
        """Send its commands, clicks and events to `url`; None: only Socket Mode."""
        self._slack.act("request_url", app=self.name, url=url)


def _environment(of: Slack | App, api_url: str) -> dict[str, str]:
    return {
        "SLACK_BOT_TOKEN": of.bot_token,
        "SLACK_APP_TOKEN": of.app_token,
        "SLACK_SIGNING_SECRET": of.signing_secret,
        "SLACK_API_URL": api_url,
    }


def _manifest(given: Mapping[str, Any] | Path) -> dict[str, Any]:
    return dict(json.loads(given.read_text("utf-8")) if isinstance(given, Path) else given)


class Users(Mapping[str, "User"]):
    """The people by name: `slack.users["ann"]`."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def _names(self) -> list[str]:
        people = self._control.get("state")["users"]
        return [person["name"] for person in people if not person["is_bot"]]

    def __getitem__(self, name: str) -> User:
        names = self._names()
        if name not in names:
            raise KeyError(f"no person is called {name!r}; there are: {', '.join(names)}")
        return User(self._control, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())


class Channel:
    """A conversation; with `user`, without messages that only others see."""

    def __init__(self, control: Control, name: str, *, user: str | None = None) -> None:
        self._control = control
        self.name = name
        self._user = user

    def __repr__(self) -> str:
        return f"#{self.name}"

    @property
    def id(self) -> str:
        """As the bot sees it: `C…`."""
        channels = self._control.get("state")["channels"]
        return next(str(one["id"]) for one in channels if self.name in {one.get("name"), one["id"]})

    @property
    def messages(self) -> list[Message]:
        """All messages, including threads and ephemerals, oldest first."""
        query = {"channel": self.name, **({"user": self._user} if self._user else {})}
        return [Message.from_json(row) for row in self._control.get("messages", **query)["messages"]]

    def transcript(self) -> str:
        """A readable transcript of the workspace so far."""
        return str(self._control.get("transcript")["text"])


class User:
    """A person who types, clicks and reads."""

    def __init__(self, control: Control, name: str) -> None:
        self._control = control
        self.name = name

    def __repr__(self) -> str:
        return f"@{self.name}"

    @property
    def id(self) -> str:
        """As the bot sees it: `U…`."""
        people = self._control.get("state")["users"]
        return next(str(person["id"]) for person in people if person["name"] == self.name)

    def deactivate(self) -> None:
        """Deactivate the account, as an admin does; the bot gets `user_change` if it is subscribed to it."""
        self._control.post("user", user=self.name, deleted=True)

    def command(self, text: str, *, channel: str | None = None) -> Result:
        """Run a slash command; returns when the bot has acknowledged it, or after three seconds."""
        return self._act("command", text=text, channel=channel)

    def say(self, text: str, *, channel: str | None = None, thread: Message | None = None) -> Message:
        """Post a message; `dm` as channel is the conversation with the bot. `@name` in it mentions who is called so."""
        ts = thread.ts if thread else None
        body = self._body(text=text, typed=True, channel=channel or (thread and thread.channel), thread_ts=ts)
        posted = self._control.post("message", **body)["message"]
        return Message.from_json(posted)

    def click(
        self,
        element: str,
        *,
        on: Message | None = None,
        value: Any = None,
        timeout: float = DEFAULT_SECONDS,
    ) -> Result:
        """Click a button by its text or action id; waits for it.

        It is looked for `on` a message, or in the modal in front, or on the newest message that has it, or at Home.
        `value` is what is chosen in a menu.
        """
        place = {"ts": on.ts, "channel": on.channel} if on else {}
        chosen = {} if value is None else {"value": value}
        return self._patiently("click", timeout, element=element, **place, **chosen)

    def submit(
        self, values: Mapping[str, Any] | None = None, /, *, timeout: float = DEFAULT_SECONDS, **more: Any
    ) -> Result:
        """Fill in and submit the open modal; waits for it. Inputs are named by label, block id or action id."""
        modal = wait_for(self._modal, seconds=timeout)
        if modal is None:
            raise Refused(f"no modal is open for {self.name}")
        return self._act("view/submit", values=modal.values({**(values or {}), **more}))

    def close(self) -> Result:
        """Close the open modal."""
        return self._act("view/close")

    def react(self, message: Message, name: str) -> None:
        """Add or remove a reaction."""
        self._act("reaction", ts=message.ts, channel=message.channel, name=name)

    def shortcut(self, callback_id: str, *, on: Message | None = None) -> Result:
        """Run a global or message shortcut."""
        place = {"ts": on.ts, "channel": on.channel} if on else {}
        return self._act("shortcut", callback_id=callback_id, **place)

    def open_home(self, *, app: App | None = None, timeout: float = DEFAULT_SECONDS) -> Modal | None:
        """Open the bot's Home, or another app's, and wait for it; None if the bot publishes none."""
        name = app.name if app else None
        view = self._control.post("home/open", **self._body(app=name, wait=timeout))["view"]
        return Modal.from_json(view) if view else None

    @property
    def modal(self) -> Modal | None:
        """The open modal."""
        return self._modal()

    def sees(self, channel: str) -> Channel:
        """A channel as this person sees it; `dm` is the conversation with the bot."""
        return Channel(self._control, channel.lstrip("#"), user=self.name)

    def transcript(self) -> str:
        """A readable transcript of the workspace so far."""
        return str(self._control.get("transcript")["text"])

    def _modal(self) -> Modal | None:
        view = self._control.get("view", user=self.name)["view"]
        return Modal.from_json(view) if view else None

    def _body(self, **body: Any) -> dict[str, Any]:
        return {"user": self.name, **{name: value for name, value in body.items() if value is not None}}

    def _act(self, act: str, **body: Any) -> Result:
        return Result.from_json(self._control.post(act, **self._body(**body)))

    def _patiently(self, act: str, timeout: float, **body: Any) -> Result:
        refusals: list[Refused] = []

        def attempt() -> Result | None:
            try:
                return self._act(act, **body)
            except Refused as refused:
                if not str(refused).startswith(_NOT_YET):
                    raise
                refusals.append(refused)
                return None

        done = wait_for(attempt, seconds=timeout)
        if done is None:
            raise Refused(f"{refusals[-1]}\n\n{self.transcript()}")
        return done
