"""`expect(...)`: wait for what should happen; a failure shows what happened instead."""

from __future__ import annotations

import re
import time
from typing import NoReturn, overload

from outreach_ops.testing.control import DEFAULT_SECONDS, wait_for
from outreach_ops.testing.models import Message, Modal
from outreach_ops.testing.slack import Channel, User

Text = str | re.Pattern[str]


def _matches(wanted: Text, text: str) -> bool:
    return wanted in text if isinstance(wanted, str) else wanted.search(text) is not None


def _shown(wanted: Text) -> str:
    return repr(wanted if isinstance(wanted, str) else wanted.pattern)


def _fail(sentence: str, subject: Channel | User) -> NoReturn:
    raise AssertionError(f"{sentence}\n\n{subject.transcript()}")


class ChannelExpectation:
    """Expectations of a channel."""

    def __init__(self, channel: Channel, timeout: float) -> None:
        self._channel = channel
        self._timeout = timeout

    def _found(self, text: Text, from_: str | None, thread: Message | None) -> Message | None:
        for message in reversed(self._channel.messages):
            in_thread = thread is None or message.thread_ts == thread.ts
            if in_thread and from_ in (None, message.user) and _matches(text, message.text):
                return message
        return None

    def to_have_message(
        self, text: Text, *, from_: str | None = None, thread: Message | None = None
    ) -> Message:
        """Wait for a message that contains `text`, and return the newest one."""
        found = wait_for(lambda: self._found(text, from_, thread), seconds=self._timeout)
        if found is None:
            by = f" from {from_}" if from_ else ""
            _fail(
                f"No message{by} with {_shown(text)} in {self._channel!r} within {self._timeout:g} s.",
                self._channel,
            )
        return found

    def not_to_have_message(self, text: Text, *, from_: str | None = None, for_seconds: float = 0.3) -> None:
        """No message contains `text`, nor does one come within `for_seconds`."""
        found = wait_for(lambda: self._found(text, from_, None), seconds=for_seconds)
        if found is not None:
            _fail(f"There is a message with {_shown(text)} in {self._channel!r}: {found.text}", self._channel)

    def to_have_count(self, count: int) -> list[Message]:
        """Wait until there are exactly `count` messages."""
        deadline = time.monotonic() + self._timeout
        while len(messages := self._channel.messages) != count:
            if time.monotonic() > deadline:
                _fail(f"{len(messages)} messages in {self._channel!r}, not {count}.", self._channel)
            time.sleep(0.02)
        return messages


class UserExpectation:
    """Expectations of what a person sees."""

    def __init__(self, user: User, timeout: float) -> None:
        self._user = user
        self._timeout = timeout

    def to_have_modal(self, title: Text = "") -> Modal:
        """Wait for an open modal, and return it."""

        def found() -> Modal | None:
            modal = self._user.modal
            return modal if modal is not None and _matches(title, modal.title) else None

        modal = wait_for(found, seconds=self._timeout)
        if modal is None:
            _fail(f"No modal {_shown(title)} in front of {self._user!r}.", self._user)
        return modal

    def to_have_no_modal(self) -> None:
        """Wait until no modal is open."""
        if wait_for(lambda: True if self._user.modal is None else None, seconds=self._timeout) is None:
            _fail(f"A modal is in front of {self._user!r}.", self._user)


@overload
def expect(subject: Channel, *, timeout: float = ...) -> ChannelExpectation: ...
@overload
def expect(subject: User, *, timeout: float = ...) -> UserExpectation: ...
def expect(
    subject: Channel | User, *, timeout: float = DEFAULT_SECONDS
) -> ChannelExpectation | UserExpectation:
    """Expect something of a channel or of a person, within `timeout` seconds."""
    if isinstance(subject, Channel):
        return ChannelExpectation(subject, timeout)
    return UserExpectation(subject, timeout)
