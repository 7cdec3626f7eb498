"""What can go wrong with the service, by what the reader can do about it.

    OutreachError
    ├── Refused               the service understood and said no; repeating changes nothing
    │   ├── InvalidRequest    400: correct the field it names
    │   ├── Unauthorized      401: a new key is needed
    │   └── NotFound          404: not in this workspace
    ├── RateLimited           429: wait `retry_after` seconds
    ├── Unavailable           nothing was carried out; try later
    │   ├── Unreachable       no connection
    │   └── ServiceBroken     5xx, HTML, half an answer
    ├── Uncertain             sent, and no answer came: it may have been carried out
    └── Unreadable            answered 2xx in a shape unknown to us; a `[fields]` line cures it

The first line of each class's docstring is its default message.
"""

from __future__ import annotations

from collections.abc import Mapping


class OutreachError(Exception):
    """The outreach service could not do this."""

    def __init__(
        self,
        message: str = "",
        *,
        endpoint: str = "",
        status: int | None = None,
        code: str | None = None,
        hint: str = "",
        cure: str = "",
    ) -> None:
        self.message = message or (type(self).__doc__ or "").partition("\n")[0]
        self.endpoint = endpoint
        """Method and path, as the service's API names it: `GET /leads`."""
        self.status = status
        self.code = code
        self.hint = hint
        """What the reader can do next, one sentence; may be empty."""
        self.cure = cure
        """The argument of the client that needs another value: `api_key`, `base_url` or `fields.SECTION.NAME`; or empty."""
        self.headers: Mapping[str, str] = {}
        """The headers of the service's answer, names in lower case; empty where there was none."""
        self.body = b""
        """The body of the service's answer, as it came."""
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
    """There is no such thing in this workspace."""


class RateLimited(OutreachError):
    """Too many requests for this key."""

    def __init__(self, message: str = "", *, retry_after: float, **kwargs: object) -> None:
        self.retry_after = retry_after
        super().__init__(message, **kwargs)  # type: ignore[arg-type] # handed on as it came


class Unavailable(OutreachError):
    """The outreach service is not available at the moment; nothing was changed."""


class Unreachable(Unavailable):
    """The outreach service can't be reached; nothing was changed."""


class ServiceBroken(Unavailable):
    """The outreach service answered with an error of its own."""


class Uncertain(OutreachError):
    """The connection broke before the answer came: it may or may not have been carried out."""


class Unreadable(OutreachError):
    """The service answered in a shape that this program does not know."""
