"""Errors of the service, by what you can do about them.

    OutreachError
    ├── Refused               the service rejected it; repeating won't help
    │   ├── InvalidRequest    400: correct the field it names
    │   ├── Unauthorized      401: create a new key
    │   └── NotFound          404: not in this workspace
    ├── RateLimited           429: wait `retry_after` seconds
    ├── Unavailable           nothing was changed; try again later
    │   ├── Unreachable       no connection
    │   └── ServiceBroken     5xx, HTML, or an incomplete response
    ├── Uncertain             sent, but no response: the change may have been made
    └── Unreadable            2xx in an unknown format; a `[fields]` line fixes it

The first line of each class's docstring is its default message.
"""

from __future__ import annotations

from collections.abc import Mapping


class OutreachError(Exception):
    """The outreach service couldn't do this."""

    def __init__(
        self,
        message: str = "",
        *,
        endpoint: str = "",
        status: int | None = None,
        code: str | None = None,
        hint: str = "",
        argument: str = "",
    ) -> None:
        self.message = message or (type(self).__doc__ or "").partition("\n")[0]
        self.endpoint = endpoint
        """Method and path, as the service's API names it: `GET /leads`."""
        self.status = status
        self.code = code
        self.hint = hint
        """What to do next, in one sentence; may be empty."""
        self.argument = argument
        """The argument of the client that needs another value: `api_key`, `base_url` or `fields.SECTION.NAME`; or empty."""
        self.headers: Mapping[str, str] = {}
        """The response's headers, names in lower case; empty without a response."""
        self.body = b""
        """The response's body, as raw bytes."""
        super().__init__(self.message)

    def __str__(self) -> str:
        where = f"{self.endpoint}: " if self.endpoint else ""
        return f"{where}{self.message}" + (f" {self.hint}" if self.hint else "")


class Refused(OutreachError):
    """The service refused the request."""


class InvalidRequest(Refused):
    """A field is missing or invalid."""

    def __init__(self, message: str = "", *, field: str | None = None, **kwargs: object) -> None:
        self.field = field
        super().__init__(message, **kwargs)  # type: ignore[arg-type] # handed on as it came


class Unauthorized(Refused):
    """The API key is missing or revoked."""


class NotFound(Refused):
    """This doesn't exist in this workspace."""


class RateLimited(OutreachError):
    """This key has reached its rate limit."""

    def __init__(self, message: str = "", *, retry_after: float, **kwargs: object) -> None:
        self.retry_after = retry_after
        super().__init__(message, **kwargs)  # type: ignore[arg-type] # handed on as it came


class Unavailable(OutreachError):
    """The outreach service isn't available right now. Nothing was changed."""


class Unreachable(Unavailable):
    """The outreach service can't be reached. Nothing was changed."""


class ServiceBroken(Unavailable):
    """The outreach service returned an error."""


class Uncertain(OutreachError):
    """The connection was lost before a response arrived. The change may or may not have been made."""


class Unreadable(OutreachError):
    """The service's response isn't in a known format."""
