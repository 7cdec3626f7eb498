"""A request and its reply, and what the reply means: a value, or the matching error. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from ..frozen import frozen
from .errors import (
    InvalidRequest,
    NotFound,
    OutreachError,
    RateLimited,
    Refused,
    ServiceBroken,
    Unauthorized,
    Uncertain,
)
from .values import as_text, first, parse_json

LONGEST_MESSAGE = 300
NOTHING_DONE = (501, 503)
"""Errors of the service's own that say it carried nothing out."""
LATER = (408, 425)
"""Refusals that are really a request to come again."""

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
KEY = re.compile(r"[\x21-\x7e]+")
BASE_URL = re.compile(r"https?://[^\s/@?#]+(/[^\s@?#]*)?/v1")
SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


@frozen
class Request:
    """One request; `endpoint` is method and path as the API names them."""

    endpoint: str
    method: str
    path: str
    query: Mapping[str, str]
    body: bytes | None = None

    @property
    def reads(self) -> bool:
        """It changes nothing."""
        return self.method == "GET"

    @property
    def is_safe_to_repeat(self) -> bool:
        """A second subscription would deliver everything twice; leads that are there already are skipped."""
        return self.endpoint != "POST /webhooks"


@frozen
class Reply:
    """One reply; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    def retry_after(self) -> float:
        """Seconds that `Retry-After` asks for; one for what isn't a number."""
        text = self.headers.get("retry-after", "").strip()
        return float(text) if SECONDS.fullmatch(text) else 1.0


def read_date(text: str) -> datetime | None:
    """An HTTP date as an aware datetime in UTC, or None; also None for one beyond the calendar's first or last day."""
    try:
        moment = parsedate_to_datetime(text)
        return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def check_base_url(text: str) -> str:
    """The base address without a trailing slash; raises ValueError that says how to fix it."""
    address = text.strip().rstrip("/")
    if not BASE_URL.fullmatch(address):
        raise ValueError(
            "The base URL must be a web address that ends in /v1, such as https://api.example.com/v1, "
            "without a user, password, query or fragment"
        )
    return address


def check_api_key(text: str) -> str:
    """The key as it is; raises ValueError, without quoting it, when it could not stand in a header."""
    if not KEY.fullmatch(text):
        raise ValueError("The API key is empty, or contains a space, a line break or an invalid character")
    return text


def decipher(reply: Reply, request: Request) -> Any:
    """The JSON value of a success (None: no body). Raises the error that fits otherwise."""
    if reply.status >= 500 or reply.status in LATER:
        raise _broken(f"returned {reply.status}.", reply, request)
    if not 200 <= reply.status < 300:
        raise _refusal(reply)
    start = reply.body.lstrip()[:1]
    # A proxy may answer 200 with its own page, whatever type it names.
    is_html = "html" in reply.headers.get("content-type", "") and start not in {b"{", b"[", b""}
    if start == b"<" or is_html:
        what = "returned a web page instead of JSON: is there a proxy or a login page in between?"
        raise _broken(what, reply, request)
    try:
        return parse_json(reply.body) if start else None
    except ValueError:
        # A success of PATCH or DELETE is one whatever its body says.
        if request.method in {"PATCH", "DELETE"}:
            return None
        raise _broken("returned invalid or incomplete JSON.", reply, request) from None


def _broken(what: str, reply: Reply, request: Request) -> OutreachError:
    """Without a change it is broken; a change that may have been carried out is uncertain."""
    message = f"The service {what}"
    if request.reads or reply.status in NOTHING_DONE:
        return ServiceBroken(message, status=reply.status)
    message = f"{message} The change may or may not have been made."
    return Uncertain(message, status=reply.status)


_ERROR_PLACES = {
    "code": ("error.code", "code", "error.type", "error"),
    "field": ("error.field", "field", "error.param", "param"),
    "message": ("error.message", "message", "error.detail", "detail"),
}
"""The paths at which the body of an error may have each value."""


def _refusal(reply: Reply) -> OutreachError:
    try:
        body = parse_json(reply.body)
    except ValueError:
        body = None
    if isinstance(body, dict) and isinstance(body.get("errors"), list) and body["errors"]:
        body = body["errors"][0]
    code, field, message = (plain(first(body, as_text, *places) or "") for places in _ERROR_PLACES.values())
    about: dict[str, Any] = {"status": reply.status, "code": code or None, "field": field or None}
    match reply.status:
        case 429:
            return RateLimited(retry_after=reply.retry_after(), **{**about, "code": "rate_limited"})
        case 400 | 422:
            if field and field not in message:
                message = f"The field {field} is missing or invalid. {message}".rstrip()
            return InvalidRequest(message, **about)
        case 401:
            return Unauthorized(hint=Unauthorized.advice, argument="api_key", **about)
        case 404:
            return NotFound(message, **about)
        case status if status < 400:
            return Refused(
                "The service redirects to another address. The redirect was not followed.",
                hint="If the service has moved, pass its new address as `base_url`.",
                argument="base_url",
                **about,
            )
    return Refused(message or f"The service refused the request ({reply.status}).", **about)


def plain(text: str) -> str:
    """Text from outside on one line, without control characters, shortened."""
    line = CONTROL.sub(" ", text).strip()
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]}…"
