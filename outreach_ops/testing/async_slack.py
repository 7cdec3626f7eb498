"""Slack for asynchronous tests; nothing blocks the event loop, in which the bot may run too."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from outreach_ops.testing.control import DEFAULT_SECONDS
from outreach_ops.testing.expectations import Text, expect
from outreach_ops.testing.models import Message, Modal, Result
from outreach_ops.testing.slack import App, Channel, Slack, User


class AsyncSlack:
    """`Slack` with coroutines; addresses and tokens are in `sync`."""

    def __init__(self, slack: Slack) -> None:
        self.sync = slack
        self.page, self.api_url = slack.page, slack.api_url
        self.bot_token, self.app_token = slack.bot_token, slack.app_token
        self.signing_secret = slack.signing_secret

    @property
    def environment(self) -> dict[str, str]:
        """The variables that Slack's own examples read."""
        return self.sync.environment

    async def bot_user_id(self) -> str:
        """The bot's id, for mentions."""
        return await asyncio.to_thread(lambda: self.sync.bot_user_id)

    async def calls(self) -> dict[str, int]:
        """The number of calls of each Web API method."""
        return await asyncio.to_thread(lambda: self.sync.calls)

    async def fail(
        self, method: str = "*", *, kind: str | None = None, status: int | None = None, **details: Any
    ) -> None:
        """Make the next call of a Web API method fail."""
        await asyncio.to_thread(self.sync.fail, method, kind=kind, status=status, **details)

    async def advance(self, seconds: float) -> None:
        """Advance the time."""
        await asyncio.to_thread(self.sync.advance, seconds)

    async def event(self, kind: str, **fields: Any) -> None:
        """Send the bot any event."""
        await asyncio.to_thread(self.sync.event, kind, **fields)

    async def keep(self) -> None:
        """Keep the current state as that after `reset`."""
        await asyncio.to_thread(self.sync.keep)

    async def reset(self) -> None:
        """Reset everything."""
        await asyncio.to_thread(self.sync.reset)

    async def load_world(self, world: Mapping[str, Any] | Path) -> None:
        """Replace people, groups and channels by saved ones."""
        await asyncio.to_thread(self.sync.load_world, world)

    async def save_world(self) -> dict[str, Any]:
        """Team, people, groups and channels as they are now."""
        return await asyncio.to_thread(self.sync.save_world)

    async def users(self) -> list[str]:
        """The names of the people."""
        return await asyncio.to_thread(lambda: list(self.sync.users))

    async def recording(self) -> dict[str, Any]:
        """The transcript so far, for `replay`."""
        return await asyncio.to_thread(self.sync.recording)

    async def replay(self, recording: Mapping[str, Any]) -> list[str]:
        """Repeat the people's actions of a recording."""
        return await asyncio.to_thread(self.sync.replay, recording)

    async def install(self, manifest: Mapping[str, Any] | Path) -> None:
        """Apply a manifest (an object, or a JSON file)."""
        await asyncio.to_thread(self.sync.install, manifest)

    async def add_app(
        self, manifest: Mapping[str, Any] | Path | None = None, *, name: str = "", **more: Any
    ) -> App:
        """Install another app."""
        return await asyncio.to_thread(self.sync.add_app, manifest, name=name, **more)

    async def world(self, **contents: Any) -> None:
        """Replace people, groups and channels."""
        await asyncio.to_thread(self.sync.world, **contents)

    async def act(self, act: str, /, **body: Any) -> dict[str, Any]:
        """Any action of the control API."""
        return await asyncio.to_thread(self.sync.act, act, **body)

    async def deliver_to(self, url: str | None) -> None:
        """Send commands, clicks and events to `url`."""
        await asyncio.to_thread(self.sync.deliver_to, url)

    async def user(self, name: str) -> AsyncUser:
        """A person by name; raises `KeyError`."""
        return AsyncUser(await asyncio.to_thread(lambda: self.sync.users[name]))

    def channel(self, name: str) -> AsyncChannel:
        """A channel by name or id."""
        return AsyncChannel(self.sync.channel(name))

    async def transcript(self) -> str:
        """A readable transcript so far."""
        return await asyncio.to_thread(self.sync.transcript)


class AsyncChannel:
    """`Channel` with coroutines."""

    def __init__(self, channel: Channel) -> None:
        self.sync = channel

    async def id(self) -> str:
        """As the bot sees it."""
        return await asyncio.to_thread(lambda: self.sync.id)

    async def transcript(self) -> str:
        """A readable transcript so far."""
        return await asyncio.to_thread(self.sync.transcript)

    async def messages(self) -> list[Message]:
        """All messages, including threads and ephemerals, oldest first."""
        return await asyncio.to_thread(lambda: self.sync.messages)


class AsyncUser:
    """`User` with coroutines."""

    def __init__(self, user: User) -> None:
        self.sync = user

    async def id(self) -> str:
        """As the bot sees it."""
        return await asyncio.to_thread(lambda: self.sync.id)

    async def deactivate(self) -> None:
        """Deactivate the account."""
        await asyncio.to_thread(self.sync.deactivate)

    async def transcript(self) -> str:
        """A readable transcript so far."""
        return await asyncio.to_thread(self.sync.transcript)

    async def command(self, text: str, *, channel: str | None = None) -> Result:
        """Run a slash command."""
        return await asyncio.to_thread(self.sync.command, text, channel=channel)

    async def say(self, text: str, *, channel: str | None = None, thread: Message | None = None) -> Message:
        """Post a message."""
        return await asyncio.to_thread(self.sync.say, text, channel=channel, thread=thread)

    async def click(self, element: str, *, on: Message | None = None, value: Any = None) -> Result:
        """Wait for a button and click it."""
        return await asyncio.to_thread(self.sync.click, element, on=on, value=value)

    async def submit(self, values: Mapping[str, Any] | None = None, /, **more: Any) -> Result:
        """Wait for a modal, fill it in, and submit it."""
        return await asyncio.to_thread(self.sync.submit, values, **more)

    async def close(self) -> Result:
        """Close the open modal."""
        return await asyncio.to_thread(self.sync.close)

    async def react(self, message: Message, name: str) -> None:
        """Add or remove a reaction."""
        await asyncio.to_thread(self.sync.react, message, name)

    async def shortcut(self, callback_id: str, *, on: Message | None = None) -> Result:
        """Run a global or message shortcut."""
        return await asyncio.to_thread(self.sync.shortcut, callback_id, on=on)

    async def modal(self) -> Modal | None:
        """The open modal."""
        return await asyncio.to_thread(lambda: self.sync.modal)

    def sees(self, channel: str) -> AsyncChannel:
        """A channel as this person sees it."""
        return AsyncChannel(self.sync.sees(channel))

    async def open_home(self, *, app: App | None = None) -> Modal | None:
        """Open the bot's Home, or another app's, and wait for it."""
        return await asyncio.to_thread(self.sync.open_home, app=app)


class AsyncChannelExpectation:
    """Awaitable expectations of a channel."""

    def __init__(self, channel: Channel, timeout: float) -> None:
        self._expected = expect(channel, timeout=timeout)

    async def to_have_message(
        self, text: Text, *, from_: str | None = None, thread: Message | None = None
    ) -> Message:
        """Wait for a message that contains `text`, and return the newest one."""
        return await asyncio.to_thread(self._expected.to_have_message, text, from_=from_, thread=thread)


def expect_async(
    subject: AsyncChannel,
    *,
    timeout: float = DEFAULT_SECONDS,
) -> AsyncChannelExpectation:
    """Expect something of a channel within `timeout` seconds."""
    return AsyncChannelExpectation(subject.sync, timeout)
