"""The requests of the service's API, one function for each endpoint. Pure.

Nothing undocumented is sent. Requests that the service would reject are rejected here, without sending them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlsplit

from ..errors import InvalidRequest
from ..words import EVENT_KINDS, GROUPINGS, LEAD_STATUSES

MOST_LEADS = 1000
LARGEST_PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request; `endpoint` is method and path as the API names them."""

    method: str
    path: str
    endpoint: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    safe_to_repeat: bool = True

    @property
    def reads(self) -> bool:
        """It changes nothing."""
        return self.method == "GET"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


def list_leads(*, sequence_id: str | None, status: str | None, limit: int, cursor: str | None) -> Request:
    """GET /leads; page size 1-100."""
    endpoint = "GET /leads"
    if isinstance(limit, bool) or not 1 <= limit <= LARGEST_PAGE:
        raise InvalidRequest(f"The page size must be 1 to {LARGEST_PAGE}.", field="limit", endpoint=endpoint)
    if status is not None:
        _one_of(status, LEAD_STATUSES, field="status", endpoint=endpoint)
    return _request(endpoint, sequence_id=sequence_id, status=status, limit=str(limit), cursor=cursor)


def add_leads(sequence_id: str, *, leads: Sequence[Mapping[str, Any]]) -> Request:
    """POST /leads; 1-1,000 leads, each with an `email`. Safe to repeat: what is already there is skipped."""
    endpoint = "POST /leads"
    if not 1 <= len(leads) <= MOST_LEADS:
        message = f"A request takes 1 to {MOST_LEADS:,} leads, not {len(leads):,}."
        raise InvalidRequest(message, field="leads", endpoint=endpoint)
    for number, lead in enumerate(leads):
        if not isinstance(lead.get("email"), str) or not lead["email"].strip():
            message = f"Lead {number + 1} has no email address."
            raise InvalidRequest(message, field=f"leads[{number}].email", endpoint=endpoint)
    sequence_id = _identifier(sequence_id, endpoint=endpoint)
    return _request(endpoint, body={"sequence_id": sequence_id, "leads": [dict(lead) for lead in leads]})


def remove_lead(lead_id: str) -> Request:
    return _request("DELETE /leads/{id}", of=lead_id)


def list_sequences() -> Request:
    return _request("GET /sequences")


def set_sequence_status(sequence_id: str, *, status: str) -> Request:
    return _request("PATCH /sequences/{id}", of=sequence_id, body={"status": status})


def list_inboxes() -> Request:
    return _request("GET /inboxes")


def stats(*, group_by: str, start: date | None, end: date | None) -> Request:
    """GET /stats; both ends of the range or neither."""
    endpoint = "GET /stats"
    _one_of(group_by, GROUPINGS, field="group_by", endpoint=endpoint)
    if start is None and end is None:
        return _request(endpoint, group_by=group_by)
    if start is None or end is None:
        missing = "from" if start is None else "to"
        raise InvalidRequest(
            "Give both the start and the end of the range, or neither.", field=missing, endpoint=endpoint
        )
    if start > end:
        message = f"The range ends ({end}) before it starts ({start})."
        raise InvalidRequest(message, field="to", endpoint=endpoint)
    return _request(endpoint, group_by=group_by, **{"from": f"{start:%Y-%m-%d}", "to": f"{end:%Y-%m-%d}"})


def create_webhook(url: str, *, events: Iterable[str]) -> Request:
    """POST /webhooks. Not safe to repeat: a second subscription would deliver everything twice."""
    endpoint = "POST /webhooks"
    kinds = list(dict.fromkeys(events))
    if not kinds:
        raise InvalidRequest("Name at least one event.", field="events", endpoint=endpoint)
    for kind in kinds:
        _one_of(kind, EVENT_KINDS, field="events", endpoint=endpoint)
    if not _is_web_address(url):
        raise InvalidRequest("The endpoint must be an https address.", field="url", endpoint=endpoint)
    return replace(_request(endpoint, body={"url": url, "events": kinds}), safe_to_repeat=False)


def _request(endpoint: str, *, of: str | None = None, body: Any = None, **query: str | None) -> Request:
    """The request to an endpoint; `of` is the id in its path."""
    method, _, path = endpoint.partition(" ")
    return Request(
        method=method,
        path=path if of is None else path.replace("{id}", _segment(of, endpoint=endpoint)),
        endpoint=endpoint,
        query=tuple((name, value) for name, value in query.items() if value is not None),
        body=None if body is None else _json(body, endpoint=endpoint),
    )


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"https", "http"} and bool(parts.hostname)


def _one_of(value: str, known: tuple[str, ...], *, field: str, endpoint: str) -> None:
    if value not in known:
        raise InvalidRequest(
            f"{value[:60]!r} isn't a valid {field}; the service knows {', '.join(known)}.",
            field=field,
            endpoint=endpoint,
        )


def _identifier(text: str, *, endpoint: str) -> str:
    if not text or text in {".", ".."}:
        raise InvalidRequest("An id is missing.", field="id", endpoint=endpoint)
    return text


def _segment(text: str, *, endpoint: str) -> str:
    try:
        return quote(_identifier(text, endpoint=endpoint), safe="")
    except UnicodeEncodeError:
        raise InvalidRequest("This isn't a valid id.", field="id", endpoint=endpoint) from None


def _json(value: Any, *, endpoint: str) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"This can't be sent as JSON: {error}", endpoint=endpoint) from None


KEY = re.compile(r"[\x21-\x7e]+")


def check_base_url(text: str) -> str:
    """The base address without a trailing slash; raises ValueError that says how to fix it."""
    parts = urlsplit(text.strip())
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("The base URL must be a web address such as https://api.example.com/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("The base URL must not contain a user, password, query or fragment. It ends in /v1.")
    if not parts.path.rstrip("/").endswith("/v1"):
        raise ValueError(f"The base URL must end in /v1. Try {parts.scheme}://{parts.netloc}/v1")
    return text.strip().rstrip("/")


def check_api_key(text: str) -> str:
    """The key as it is; raises ValueError, without quoting it, when it could not stand in a header."""
    if not KEY.fullmatch(text):
        raise ValueError("The API key is empty, or contains a space, a line break or an invalid character")
    return text


def retry_after_of(reply: Reply, *, default: float = 1.0) -> float:
    """Seconds that `Retry-After` asks for, a number or an HTTP date (against the reply's own clock)."""
    text = reply.headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        return float(text)
    until, now = read_date(text), read_date(reply.headers.get("date", ""))
    if until is None or now is None:
        return default
    return max(0.0, (until - now).total_seconds())


def read_date(text: str) -> datetime | None:
    """An HTTP date as an aware datetime in UTC, or None; also None for one beyond the calendar's first or last day."""
    try:
        moment = parsedate_to_datetime(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
