"""The errors that Slack answers with, and those of people who try what can't be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class SlackError(Exception):
    """A request that Slack answers with `"ok": false`.

    `error` is Slack's own word, `messages` go to `response_metadata.messages`, and `extra` holds
    further fields (`needed`, `provided`). `retry_after` makes the answer an HTTP 429.
    """

    def __init__(
        self,
        error: str,
        *,
        messages: Sequence[str] = (),
        extra: Mapping[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(error)
        self.error = error
        self.messages = tuple(messages)
        self.extra = dict(extra or {})
        self.retry_after = retry_after

    def body(self) -> dict[str, Any]:
        """Return the JSON that Slack answers with."""
        body: dict[str, Any] = {"ok": False, "error": self.error, **self.extra}
        if self.messages:
            body["response_metadata"] = {"messages": [f"[ERROR] {line}" for line in self.messages]}
        return body

    def headers(self) -> dict[str, str]:
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


def refuse_if(condition: object, error: str) -> None:
    """Raise `SlackError` with this word if the condition holds."""
    if condition:
        raise SlackError(error)


class InvalidActionError(Exception):
    """An act that nobody could do in Slack, such as a click on a button that isn't there."""
