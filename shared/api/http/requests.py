"""The requests of the document, and what its answers mean. Pure: builds values and deciphers values.

Nothing undocumented is sent; what the document would refuse is refused here, before it costs a request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlsplit

from ..errors import InvalidRequest
from ..models import EVENT_KINDS, GROUPINGS, LEAD_STATUSES

MOST_LEADS = 1000
LARGEST_PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request; `endpoint` is its name in the document's summary."""

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
    if isinstance(limit, bool) or not 1 <= limit <= LARGEST_PAGE:
        raise InvalidRequest(
            f"The page size must be 1 to {LARGEST_PAGE}.", field="limit", endpoint="GET /leads"
        )
    if status is not None:
        _one_of(status, LEAD_STATUSES, field="status", endpoint="GET /leads")
    query = (("sequence_id", sequence_id), ("status", status), ("limit", str(limit)), ("cursor", cursor))
    return Request(
        method="GET",
        path="/leads",
        endpoint="GET /leads",
        query=tuple((k, v) for k, v in query if v is not None),
    )


def add_leads(sequence_id: str, *, leads: Sequence[Mapping[str, Any]]) -> Request:
    """POST /leads; 1-1,000 leads, each with an `email`. Safe to repeat: what is already there is skipped."""
    endpoint = "POST /leads"
    if not 1 <= len(leads) <= MOST_LEADS:
        raise InvalidRequest(
            f"A request takes 1 to {MOST_LEADS:,} leads, not {len(leads):,}.",
            field="leads",
            endpoint=endpoint,
        )
    for number, lead in enumerate(leads):
        if not isinstance(lead.get("email"), str) or not lead["email"].strip():
            raise InvalidRequest(
                f"Lead {number + 1} has no e-mail address.", field=f"leads[{number}].email", endpoint=endpoint
            )
    body = {
        "sequence_id": _identifier(sequence_id, endpoint=endpoint),
        "leads": [dict(lead) for lead in leads],
    }
    return Request(method="POST", path="/leads", endpoint=endpoint, body=_json(body, endpoint=endpoint))


def remove_lead(lead_id: str) -> Request:
    """DELETE /leads/{id}."""
    endpoint = "DELETE /leads/{id}"
    return Request(method="DELETE", path=f"/leads/{_segment(lead_id, endpoint=endpoint)}", endpoint=endpoint)


def list_sequences() -> Request:
    """GET /sequences."""
    return Request(method="GET", path="/sequences", endpoint="GET /sequences")


def set_sequence_status(sequence_id: str, *, status: str) -> Request:
    """PATCH /sequences/{id}."""
    endpoint = "PATCH /sequences/{id}"
    path = f"/sequences/{_segment(sequence_id, endpoint=endpoint)}"
    return Request(
        method="PATCH", path=path, endpoint=endpoint, body=_json({"status": status}, endpoint=endpoint)
    )


def list_inboxes() -> Request:
    """GET /inboxes."""
    return Request(method="GET", path="/inboxes", endpoint="GET /inboxes")


def stats(*, group_by: str, start: date | None, end: date | None) -> Request:
    """GET /stats; both ends of the range or neither."""
    endpoint = "GET /stats"
    _one_of(group_by, GROUPINGS, field="group_by", endpoint=endpoint)
    query: tuple[tuple[str, str], ...] = (("group_by", group_by),)
    if (start is None) != (end is None):
        missing = "from" if start is None else "to"
        raise InvalidRequest("Give both ends of the range, or neither.", field=missing, endpoint=endpoint)
    if start is not None and end is not None:
        if start > end:
            raise InvalidRequest(
                f"The range ends ({end}) before it starts ({start}).", field="to", endpoint=endpoint
            )
        query += (("from", f"{start:%Y-%m-%d}"), ("to", f"{end:%Y-%m-%d}"))
    return Request(method="GET", path="/stats", endpoint=endpoint, query=query)


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
    body = _json({"url": url, "events": kinds}, endpoint=endpoint)
    return Request(method="POST", path="/webhooks", endpoint=endpoint, body=body, safe_to_repeat=False)


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"https", "http"} and bool(parts.hostname)


def _one_of(value: str, known: tuple[str, ...], *, field: str, endpoint: str) -> None:
    if value not in known:
        raise InvalidRequest(
            f"{value[:60]!r} is no {field}; the service knows {', '.join(known)}.",
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
        raise InvalidRequest("This is no id.", field="id", endpoint=endpoint) from None


def _json(value: Any, *, endpoint: str) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"This cannot be sent as JSON: {error}", endpoint=endpoint) from None


KEY = re.compile(r"[\x21-\x7e]+")


def check_base_url(text: str) -> str:
    """The base address without a trailing slash; raises ValueError with the cure."""
    parts = urlsplit(text.strip())
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("The base URL must be a web address such as https://api.example.com/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("The base URL must hold no user, password, query or fragment; it ends in /v1")
    if not parts.path.rstrip("/").endswith("/v1"):
        raise ValueError(f"The base URL must end in /v1; try {parts.scheme}://{parts.netloc}/v1")
    return text.strip().rstrip("/")


def check_api_key(text: str) -> str:
    """The key as it is; raises ValueError, without quoting it, when it could not stand in a header."""
    if not KEY.fullmatch(text):
        raise ValueError("The API key is empty or holds a space, a line break or a character that no key has")
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
