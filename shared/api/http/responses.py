"""Turns a response into its value or the matching error. Pure."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

from ..errors import (
    InvalidRequest,
    NotFound,
    OutreachError,
    RateLimited,
    Refused,
    ServiceBroken,
    Unauthorized,
    Uncertain,
)
from ..values import as_text, first
from . import requests

LONGEST_MESSAGE = 300
NOTHING_DONE = (501, 503)
"""Errors of the service's own that say it carried nothing out."""
LATER = (408, 425)
"""Refusals that are really a request to come again."""

LONGEST_INTEGER = 1000
"""Digits; Python converts some more, but not as many as a hostile service may send."""
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


def decipher(reply: requests.Reply, request: requests.Request) -> Any:
    """The JSON value of a success (None: no body), or the error that fits."""
    if 200 <= reply.status < 300:
        return _success(reply, request)
    if reply.status >= 500 or reply.status in LATER:
        raise broken(f"returned {reply.status}.", reply, request)
    raise _redirect(reply, request) if reply.status < 400 else _refusal(reply, request)


def _success(reply: requests.Reply, request: requests.Request) -> Any:
    if looks_like_html(reply):
        raise broken(
            "returned a web page instead of JSON: is there a proxy or a login page in between?",
            reply,
            request,
        )
    if not reply.body.strip():
        return None
    try:
        return parse_json(reply.body)
    except ValueError:
        if request.method in {"PATCH", "DELETE"}:
            return None  # what they change is changed, whatever the body says
        raise broken("returned invalid or incomplete JSON.", reply, request) from None


def parse_json(body: bytes) -> Any:
    """JSON in UTF-8, with or without BOM; raises ValueError for anything else, also for nesting without end.

    Integers too long to convert stay text, and lone surrogates, which can't be encoded, are replaced.
    """
    text = body.decode("utf-8-sig")
    try:
        value = _loaded(text)
        return _encodable(value) if SURROGATE.search(text) else value
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, parse_int=_integer)  # slower: a call for each integer


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= LONGEST_INTEGER else digits


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return (
            value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    if isinstance(value, dict):
        return {_encodable(key): _encodable(inner) for key, inner in value.items()}
    return [_encodable(inner) for inner in value] if isinstance(value, list) else value


def looks_like_html(reply: requests.Reply) -> bool:
    """By its first character, or by its type if it isn't JSON."""
    start = reply.body.lstrip()[:1]
    return start == b"<" or (
        "html" in reply.headers.get("content-type", "") and start not in {b"{", b"[", b""}
    )


def broken(what: str, reply: requests.Reply, request: requests.Request) -> OutreachError:
    """For a reading: broken. For a change that may have been carried out: uncertain."""
    if request.reads or reply.status in NOTHING_DONE:
        return ServiceBroken(f"The service {what}", endpoint=request.endpoint, status=reply.status)
    return Uncertain(
        f"The service {what} The change may or may not have been made.",
        endpoint=request.endpoint,
        status=reply.status,
    )


def _refusal(reply: requests.Reply, request: requests.Request) -> OutreachError:
    error = _error_of(reply)
    message, field = error["message"] or "", error["field"]
    about: dict[str, Any] = {"endpoint": request.endpoint, "status": reply.status, "code": error["code"]}
    match reply.status:
        case 429:
            wait = requests.retry_after_of(reply)
            return RateLimited(retry_after=wait, **{**about, "code": "rate_limited"})
        case 400 | 422:
            missing = f"The field {field} is missing or invalid." if field else ""
            return InvalidRequest(message or missing, field=field, **about)
        case 401:
            return Unauthorized(
                hint="Create a new key in the account settings and pass it as `api_key`.",
                argument="api_key",
                **about,
            )
        case 404:
            return NotFound(message, **about)
    return Refused(message or f"The service refused the request ({reply.status}).", **about)


def _redirect(reply: requests.Reply, request: requests.Request) -> OutreachError:
    return Refused(
        f"The service redirects to {_place(reply.headers.get('location', ''))}. The redirect was not followed.",
        endpoint=request.endpoint,
        status=reply.status,
        hint="If the service has moved, pass its new address as `base_url`.",
        argument="base_url",
    )


def _place(location: str) -> str:
    try:
        parts = urlsplit(location)
        host = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
    except ValueError:
        return "another address"
    return plain(f"{parts.scheme}://{host}{parts.path}") if host else plain(parts.path) or "another address"


def _error_of(reply: requests.Reply) -> dict[str, str | None]:
    """Code, field and message, wherever the error body keeps them."""
    try:
        body = parse_json(reply.body)
    except ValueError:
        body = None
    if isinstance(body, dict) and isinstance(body.get("errors"), list) and body["errors"]:
        body = body["errors"][0]
    values = {name: first(body, as_text, *places) for name, places in _ERROR_PLACES.items()}
    return {name: plain(text) if text else None for name, text in values.items()}


_ERROR_PLACES = {
    "code": ("error.code", "code", "error.type", "error"),
    "field": ("error.field", "field", "error.param", "param"),
    "message": ("error.message", "message", "error.detail", "detail"),
}


def plain(text: str) -> str:
    """Text from outside on one line, without control characters, shortened."""
    line = CONTROL.sub(" ", text).strip()
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]}…"
