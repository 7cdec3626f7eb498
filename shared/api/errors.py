"""Errors of the service, by what you can do about them.

    OutreachError
    ├── Refused               the service rejected it; repeating won't help
    │   ├── InvalidRequest    400: correct the field it names
    │   ├── Unauthorized      401: create a new key
    │   └── NotFound          404: not in this workspace
    ├── RateLimited           429: wait `retry_after` seconds
    ├── Unavailable           nothing was changed; try again later
    │   ├── Unreachable       no connection
    │   │   └── NoResponse    connected, but nothing came in time
    │   └── ServiceBroken     5xx, HTML, or an incomplete response
    ├── Uncertain             sent, but no response: the change may have been made
    └── Unreadable            2xx in an unknown format; a `[fields]` line fixes it

The first line of each class's docstring is its default message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class OutreachError(Exception):
    """The outreach service couldn't do this."""

    advice: ClassVar[str] = "Try again in a moment."
    """The hint of an error that has none of its own."""
    did_nothing: ClassVar[bool] = False
    """The service surely carried nothing out, so that the request may be sent again."""
    may_pass: ClassVar[bool] = False
    """Another attempt may succeed, where it is safe to carry the request out twice."""

    def __init__(
        self,
        message: str = "",
        *,
        endpoint: str = "",
        status: int | None = None,
        code: str | None = None,
        cause: str = "",
        hint: str = "",
        argument: str = "",
        field: str | None = None,
        retry_after: float = 0.0,
    ) -> None:
        self.message = message or (type(self).__doc__ or "").partition("\n")[0]
        self.endpoint = endpoint
        """Method and path, as the service's API names it: `GET /leads`."""
        self.status = status
        self.code = code
        self.cause = cause
        """The cause of a failed connection, as a sentence, or empty."""
        self.own_hint = hint
        """The part of `hint` that only this error has; may be empty."""
        self.argument = argument
        """The argument of the client that needs another value: `api_key`, `base_url` or `fields.SECTION.NAME`; or empty."""
        self.field = field
        """The field that the service, or this client, names as wrong."""
        self.retry_after = retry_after
        """The seconds for which a `RateLimited` asks to wait."""
        self.headers: Mapping[str, str] = {}
        """The response's headers, names in lower case; empty without a response."""
        self.body = b""
        """The response's body, as raw bytes."""
        super().__init__(self.message)

    @property
    def hint(self) -> str:
        """Say in a sentence what to do next."""
        return self.own_hint or self.advice

    def __str__(self) -> str:
        where = f"{self.endpoint}: " if self.endpoint else ""
        return where + " ".join(filter(None, (self.message, self.cause, self.own_hint)))


class Refused(OutreachError):
    """The service refused the request."""

    advice = "Change the request: repeating it as it is won't help."


class InvalidRequest(Refused):
    """A field is missing or invalid."""

    advice = "Correct the field it names, then try again."


class Unauthorized(Refused):
    """The API key is missing or revoked."""

    advice = "Create a new key in the account settings and pass it as `api_key`."


class NotFound(Refused):
    """This doesn't exist in this workspace."""

    advice = "Check the id: it may have been deleted, or belong to another workspace."


class RateLimited(OutreachError):
    """This key has reached its rate limit."""

    advice = "Wait `retry_after` seconds, then try again."
    did_nothing = may_pass = True


class Unavailable(OutreachError):
    """The outreach service isn't available right now."""

    may_pass = True


class Unreachable(Unavailable):
    """The outreach service can't be reached."""

    did_nothing = True
    advice = "Check `base_url`, the network and the proxy, then try again."


class NoResponse(Unreachable):
    """The outreach service didn't respond in time."""

    advice = "Try again in a moment: the service is slow to respond."


class ServiceBroken(Unavailable):
    """The outreach service returned an error."""

    advice = (
        "Try again in a moment. If it goes on, report the endpoint, the status and the time to the service."
    )


class Uncertain(OutreachError):
    """The connection was lost before a response arrived. The change may or may not have been made."""

    advice = "Read the current state before you try again."
    may_pass = True


class Unreadable(OutreachError):
    """The service's response isn't in a known format."""

    advice = "Compare it with the error's `body`, and name the paths in `fields`."
