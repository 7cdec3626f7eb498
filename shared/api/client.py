"""The client: one method per endpoint, each to the letter of the service's document.

A request that the service would reject is rejected here, without sending it. The others wait for the rate limit, are sent
by `transport` and repeated by the rules of `pipeline`, and `decode` reads what comes back.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from collections.abc import Sequence as Many
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from typing import Any, Self, TypedDict, TypeVar, Unpack
from urllib.parse import quote

from . import decode, words
from .errors import InvalidRequest, NoResponse, NotFound, OutreachError, RateLimited, Uncertain, Unreachable
from .messages import Request, check_api_key, check_base_url, decipher, read_date
from .models import AddResult, Inbox, Lead, Page, Sequence, StatsRow, Subscription
from .pace import BudgetState, LocalBudget, Priority
from .pipeline import (
    RequestCounts,
    attempts,
    decode_in_thread,
    failed_attempts,
    final_error,
    retry_delay,
)
from .transport import Http, Transport

T = TypeVar("T")

MOST_LEADS = 1000
LARGEST_PAGE = 100
REMEMBERED_LEADS = 50_000
"""The last leads that are remembered to show none twice; a list does not shift further than that."""
STALE_PAGES = 10
"""Pages without a new lead after which a list ends that would never end."""
TOO_LATE_SECONDS = 0.08
"""After its turn, at which a request takes another one; less than the interval between two."""
LARGE_BODY_BYTES = 100_000
"""These take about a millisecond to parse."""
PATIENCE_SECONDS = 2.5
"""A person gets an error for a service that can't be reached instead of waiting longer."""
LOG = logging.getLogger("outreach_ops")
"""Endpoints, statuses and times at DEBUG; never an address, a header or a body."""
NORMAL, INTERACTIVE = Priority.NORMAL, Priority.INTERACTIVE


class Pages(TypedDict, total=False):
    """The choice of leads: `page_size` (1-100) of them in a request, from the page at `cursor` on."""

    sequence_id: str | None
    status: words.LeadStatus | None
    page_size: int
    cursor: str | None
    priority: Priority


class OutreachClient:
    """The outreach service, with one API key. An async context manager; safe for concurrent use.

    `base_url` and `api_key` default to the environment variables OUTREACH_BASE_URL and OUTREACH_API_KEY. `timeout`
    bounds one silence of the service (opening a connection 3 s at most), `total_timeout` a whole call with its waiting
    and its repetitions, both in seconds; `retries` is how often a call is repeated at most, and `jitter` gives numbers
    in 0-1 that spread the repetitions. `fields` says where an answer keeps a value that is not found: section -> name ->
    dotted path. `transport` sends in place of the client's own connections. `explain`
    gives another hint for an error with an `argument`. Every method raises `OutreachError`; the constructor raises
    ValueError for an address or a key that cannot be one.
    """

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        pacer: LocalBudget | None = None,
        fields: Mapping[str, Mapping[str, str]] | None = None,
        transport: Transport | None = None,
        timeout: float = 10.0,
        total_timeout: float = 45.0,
        retries: int = 5,
        jitter: Callable[[], float] = random.random,
        explain: Callable[[str], str] | None = None,
    ) -> None:
        self.base_url = check_base_url(_given(base_url, "base_url", "OUTREACH_BASE_URL"))
        key = check_api_key(_given(api_key, "api_key", "OUTREACH_API_KEY"))
        if timeout <= 0 or total_timeout <= 0 or retries < 0:
            raise ValueError("timeout and total_timeout must be above 0, and retries must not be negative")
        self._timeout, self._total, self._retries = timeout, total_timeout, retries
        self._jitter = jitter
        self._pacer = pacer or LocalBudget()
        self._fields = fields or {}
        self._explain = explain
        self._http = Http(self.base_url, api_key=key, transport=transport)
        self.counts = RequestCounts()
        """The requests that this client has sent."""
        self.service_time: datetime | None = None
        """The service's clock at its last response."""

    def __repr__(self) -> str:
        return f"<OutreachClient {self.base_url}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    @property
    def budget(self) -> BudgetState:
        """The state of the key's request budget."""
        return self._pacer.state()

    async def list_leads(
        self,
        *,
        sequence_id: str | None = None,
        status: words.LeadStatus | None = None,
        limit: int = LARGEST_PAGE,
        cursor: str | None = None,
        priority: Priority = NORMAL,
    ) -> Page[Lead]:
        """One page of leads, newest first (GET /leads); `limit` is 1-100."""
        # To Python, True is an integer.
        is_size = not isinstance(limit, bool) and 1 <= limit <= LARGEST_PAGE
        _check(is_size, "GET /leads", "limit", f"The page size must be 1 to {LARGEST_PAGE}.")
        if status is not None:
            _check_word(status, words.LEAD_STATUSES, "GET /leads", "status")
        request = _request(
            "GET /leads", sequence_id=sequence_id, status=status, limit=str(limit), cursor=cursor
        )
        return await self._call(request, decode.leads, "lead", priority)

    async def iter_pages(self, **which: Unpack[Pages]) -> AsyncIterator[Page[Lead]]:
        """All pages, without repeated leads; continue later from `next_cursor`.

        They end at a null, absent, empty or repeated cursor, or at an empty page.
        """
        more: dict[str, Any] = {"page_size": LARGEST_PAGE, "cursor": None, **which}
        size, cursor = more.pop("page_size"), more.pop("cursor")
        cursors, seen, stale = {cursor}, OrderedDict[str, None](), 0
        while stale < STALE_PAGES:
            page = await self.list_leads(limit=size, cursor=cursor, **more)
            if not page.items:
                return
            # Leads that are added in front push others to later pages, where they come again.
            fresh = {lead.id: lead for lead in page.items if lead.id not in seen}
            seen.update(dict.fromkeys(fresh))
            while len(seen) > REMEMBERED_LEADS:
                seen.popitem(last=False)
            stale = 0 if fresh else stale + 1
            # One that was used before would begin the same pages again.
            cursor = None if page.next_cursor in cursors else page.next_cursor
            yield replace(page, items=tuple(fresh.values()), next_cursor=cursor)
            if cursor is None:
                return
            cursors.add(cursor)

    async def iter_leads(self, **which: Unpack[Pages]) -> AsyncIterator[Lead]:
        """All leads once, newest first, over all pages."""
        async for page in self.iter_pages(**which):
            for lead in page.items:
                yield lead

    async def add_leads(
        self, sequence_id: str, leads: Many[Mapping[str, Any]], *, priority: Priority = NORMAL
    ) -> AddResult:
        """Add 1-1,000 leads to a sequence (POST /leads); duplicates and blocked leads are reported, not errors."""
        endpoint = "POST /leads"
        bounds = f"A request takes 1 to {MOST_LEADS:,} leads, not {len(leads):,}."
        _check(1 <= len(leads) <= MOST_LEADS, endpoint, "leads", bounds)
        for number, lead in enumerate(leads):
            email, place = lead.get("email"), f"leads[{number}].email"
            has_address = isinstance(email, str) and bool(email.strip())
            _check(has_address, endpoint, place, f"Lead {number + 1} has no email address.")
        body = {"sequence_id": sequence_id, "leads": list(map(dict, leads))}
        request = _request(endpoint, sequence_id, body=body)
        with failed_attempts() as made:
            result = await self._call(request, lambda answer, **_: decode.added(answer), "", priority)
        return replace(result, repeated=made.is_uncertain)

    async def remove_lead(self, lead_id: str, *, priority: Priority = INTERACTIVE) -> None:
        """Remove a lead from all sequences (DELETE /leads/{id}); its reply history is kept."""
        await self._call(_request("DELETE /leads/{id}", lead_id), lambda _, **__: None, "", priority)

    async def list_sequences(self, *, priority: Priority = NORMAL) -> tuple[Sequence, ...]:
        """All sequences (GET /sequences)."""
        return await self._list(decode.sequences, priority)

    async def pause_sequence(self, sequence_id: str) -> Sequence:
        """Set a sequence to `paused` (PATCH /sequences/{id}) and return it; no error if it already is.

        If the response has no body, only id and status are known.
        """
        return await self.set_status(sequence_id, "paused")

    async def resume_sequence(self, sequence_id: str) -> Sequence:
        """Set a sequence to `active` (PATCH /sequences/{id}) and return it; no error if it already is.

        If the response has no body, only id and status are known.
        """
        return await self.set_status(sequence_id, "active")

    async def list_inboxes(self, *, priority: Priority = NORMAL) -> tuple[Inbox, ...]:
        """All connected inboxes (GET /inboxes)."""
        return await self._list(decode.inboxes, priority)

    async def stats(
        self,
        *,
        group_by: words.Grouping = "sequence",
        start: date | None = None,
        end: date | None = None,
        priority: Priority = NORMAL,
    ) -> tuple[StatsRow, ...]:
        """Counts by sequence, step, variant or inbox (GET /stats); default: the last 30 days."""
        endpoint = "GET /stats"
        _check_word(group_by, words.GROUPINGS, endpoint, "group_by")
        both = "Give both the start and the end of the range, or neither."
        _check((start is None) == (end is None), endpoint, "to" if start else "from", both)
        days: dict[str, str] = {}
        if start is not None and end is not None:
            _check(start <= end, endpoint, "to", f"The range ends ({end}) before it starts ({start}).")
            days = {"from": f"{start:%Y-%m-%d}", "to": f"{end:%Y-%m-%d}"}
        return await self._list(decode.stats, priority, days, group_by=group_by)

    async def create_webhook(self, url: str, events: Many[words.EventKind]) -> Subscription:
        """Subscribe an endpoint (POST /webhooks). Store the secret at once: it is shown only once.

        Never retried automatically: raises `Uncertain` when the subscription may exist and its secret is lost.
        """
        endpoint, kinds = "POST /webhooks", list(dict.fromkeys(events))
        _check(bool(kinds), endpoint, "events", "Name at least one event.")
        for kind in kinds:
            _check_word(kind, words.EVENT_KINDS, endpoint, "events")
        _check(bool(re.match(r"https?://\w", url)), endpoint, "url", "The endpoint must be an https address.")
        request = _request(endpoint, body={"url": url, "events": kinds})
        about = {"url": url, "events": tuple(events)}
        return await self._call(request, decode.subscription, "webhook", INTERACTIVE, **about)

    async def set_status(self, sequence_id: str, status: words.SequenceStatus) -> Sequence:
        """Set the status of a sequence (PATCH /sequences/{id}) and return it, as the two methods of its statuses do."""
        request = _request("PATCH /sequences/{id}", sequence_id, body={"status": status})
        about = {"id": sequence_id, "status": status}
        return await self._call(request, decode.changed_sequence, "sequence", INTERACTIVE, **about)

    async def _list(
        self, kind: decode.Kind, priority: Priority, query: Mapping[str, str] = decode.NONE, **about: str
    ) -> tuple[Any, ...]:
        request = _request(kind.endpoint, **about, **query)
        return await self._call(request, kind, kind.section, priority, **about)

    async def _call(
        self, request: Request, decoded: Callable[..., T], section: str, priority: Priority, **about: Any
    ) -> T:
        """Send until there is an answer, or no sense in another attempt.

        The answer is read with what `[fields.SECTION]` says of its shape.
        """
        read: Callable[[Any], T] = partial(decoded, fields=self._fields.get(section, {}), **about)
        started, attempt, uncertain, made = time.monotonic(), 0, False, attempts()
        total = min(self._total, made.patience)
        while True:
            attempt += 1
            try:
                return await self._attempt(request, read, priority, deadline=started + total)
            except OutreachError as error:
                # Here for all of them: whoever notices a failure below knows nothing of endpoints.
                error.endpoint = request.endpoint
                if uncertain and isinstance(error, NotFound) and request.method == "DELETE":
                    return read(None)  # the attempt whose outcome was unknown has removed it
                made.failures.append(error)
                if isinstance(error, Uncertain):
                    uncertain = made.is_uncertain = True
                is_impatient = priority is INTERACTIVE and isinstance(error, Unreachable)
                end = started + (min(total, PATIENCE_SECONDS) if is_impatient else total)
                is_repeatable = error.did_nothing or (error.may_pass and request.is_safe_to_repeat)
                delay = retry_delay(error, attempt=attempt, jitter=self._jitter())
                is_late = delay >= end - time.monotonic()
                if not is_repeatable or is_late or attempt > self._retries:
                    final = final_error(error, uncertain=uncertain)
                    if isinstance(final, NoResponse):
                        made.silent = request.endpoint
                    if final.argument and self._explain is not None:
                        final.own_hint = self._explain(final.argument)
                    raise final from error.__cause__
            self.counts.retried += 1
            await asyncio.sleep(delay)

    async def _attempt(
        self, request: Request, read: Callable[[Any], T], priority: Priority, *, deadline: float
    ) -> T:
        async def late(seconds: float) -> None:
            if seconds < TOO_LATE_SECONDS:
                await self._pacer.late(seconds)
            else:  # others have gone in the meantime, and only its own turn is safe
                await self._pacer.reserve(priority=priority, deadline=deadline)

        await self._pacer.reserve(priority=priority, deadline=deadline)
        self.counts.requests += 1
        began = time.monotonic()
        reply = await self._http.exchange(request, deadline=deadline, timeout=self._timeout, late=late)
        took = time.monotonic() - began
        LOG.debug("%s: %d, %d bytes in %.3f s", request.endpoint, reply.status, len(reply.body), took)
        self.service_time = read_date(reply.headers.get("date", "")) or self.service_time
        try:
            is_large = len(reply.body) > LARGE_BODY_BYTES
            return await decode_in_thread(lambda: read(decipher(reply, request)), is_large=is_large)
        except OutreachError as error:
            error.headers, error.body = reply.headers, reply.body
            if isinstance(error, RateLimited):
                self.counts.throttled += 1
                await self._pacer.throttled(error.retry_after)
            raise


def _given(value: str | None, argument: str, variable: str) -> str:
    given = os.environ.get(variable) if value is None else value
    if given is None:
        raise ValueError(f"Pass {argument}, or set the environment variable {variable}")
    return given


def _check(holds: bool, endpoint: str, field: str, message: str) -> None:  # noqa: FBT001 -- what is checked
    if not holds:
        raise InvalidRequest(message, field=field, endpoint=endpoint)


def _check_word(value: str, choices: Many[str], endpoint: str, field: str) -> None:
    message = f"{value[:60]!r} isn't a valid {field}; the service knows {', '.join(choices)}."
    _check(value in choices, endpoint, field, message)


_NO_IDS = ("", ".", "..")


def _request(
    endpoint: str, identifier: str | None = None, *, body: Any = None, **query: str | None
) -> Request:
    """The request to an endpoint about an id, in its path or body; a parameter that is None is left out."""
    method, _, path = endpoint.partition(" ")
    content = None
    _check(identifier not in _NO_IDS, endpoint, "id", "An id is missing.")
    try:
        path = path.replace("{id}", quote(identifier or "", safe=""))
        if body is not None:
            content = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"This can't be sent: {error}", endpoint=endpoint) from None
    given = {name: value for name, value in query.items() if value is not None}
    return Request(endpoint=endpoint, method=method, path=path, query=given, body=content)
