"""The client: one method per endpoint.

A request is built by `http.requests`, retried and paced by `http.pipeline`, and sent by `http.transport`; its response
is read by `http.responses` and `decoding.decode`.
"""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from typing import Any, Self, TypeVar

from . import decode, models, paging, words
from .errors import OutreachError
from .http import requests
from .http.decode_thread import LARGE_LIST, decode_in_thread
from .http.pipeline import ATTEMPTS, Answer, Limits, Pipeline, RequestCounts
from .http.transport import Http, Transport
from .pace import BudgetState, LocalBudget, Pacer, Priority
from .shapes import ShapeLog

T = TypeVar("T")


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
        pacer: Pacer | None = None,
        fields: Mapping[str, Mapping[str, str]] | None = None,
        transport: Transport | None = None,
        timeout: float = 10.0,
        total_timeout: float = 45.0,
        retries: int = ATTEMPTS - 1,
        jitter: Callable[[], float] = random.random,
        explain: Callable[[str], str] | None = None,
    ) -> None:
        self.base_url = requests.check_base_url(_given(base_url, "base_url", "OUTREACH_BASE_URL"))
        key = requests.check_api_key(_given(api_key, "api_key", "OUTREACH_API_KEY"))
        self._pacer: Pacer = pacer or LocalBudget()
        self._fields = fields or {}
        self._shapes = ShapeLog()
        self._limits = Limits(timeout=timeout, total=total_timeout, retries=retries)
        self._explain = explain
        self._http = Http(self.base_url, api_key=key, transport=transport)
        self._pipeline = Pipeline(self._http, pacer=self._pacer, jitter=jitter)

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

    @property
    def counts(self) -> RequestCounts:
        """The requests that this client has sent."""
        return self._pipeline.counts

    @property
    def service_time(self) -> datetime | None:
        """The service's clock at its last response."""
        return self._pipeline.service_time

    @property
    def shapes(self) -> Mapping[str, frozenset[str]]:
        """The format of responses by endpoint: `path: type`, never a value."""
        return self._shapes.seen

    async def list_leads(
        self,
        *,
        sequence_id: str | None = None,
        status: words.LeadStatus | None = None,
        limit: int = 100,
        cursor: str | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> models.Page[models.Lead]:
        """One page of leads, newest first (GET /leads); `limit` is 1-100."""
        request = requests.list_leads(sequence_id=sequence_id, status=status, limit=limit, cursor=cursor)
        read = partial(decode.leads, fields=self._section("lead"))
        return await self._read(request, read, priority=priority)

    async def iter_pages(
        self,
        *,
        sequence_id: str | None = None,
        status: words.LeadStatus | None = None,
        page_size: int = 100,
        cursor: str | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> AsyncIterator[models.Page[models.Lead]]:
        """All pages, without repeated leads; continue later from `next_cursor`."""
        fetch = partial(
            self.list_leads, sequence_id=sequence_id, status=status, limit=page_size, priority=priority
        )
        async for page in paging.pages(fetch, cursor=cursor):
            yield page

    async def iter_leads(
        self,
        *,
        sequence_id: str | None = None,
        status: words.LeadStatus | None = None,
        page_size: int = 100,
        cursor: str | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> AsyncIterator[models.Lead]:
        """All leads once, newest first, over all pages."""
        async for page in self.iter_pages(
            sequence_id=sequence_id, status=status, page_size=page_size, cursor=cursor, priority=priority
        ):
            for lead in page.items:
                yield lead

    async def add_leads(
        self, sequence_id: str, leads: Sequence[Mapping[str, Any]], *, priority: Priority = Priority.NORMAL
    ) -> models.AddResult:
        """Add 1-1,000 leads to a sequence (POST /leads); duplicates and blocked leads are reported, not errors."""
        answer = await self._request(requests.add_leads(sequence_id, leads=leads), priority=priority)
        return decode.added(answer.value, repeated=answer.repeated)

    async def remove_lead(self, lead_id: str, *, priority: Priority = Priority.INTERACTIVE) -> None:
        """Remove a lead from all sequences (DELETE /leads/{id}); its reply history is kept."""
        await self._request(requests.remove_lead(lead_id), priority=priority)

    async def list_sequences(self, *, priority: Priority = Priority.NORMAL) -> tuple[models.Sequence, ...]:
        """All sequences (GET /sequences)."""
        read = partial(decode.sequences, fields=self._section("sequence"))
        return await self._read(requests.list_sequences(), read, priority=priority)

    async def pause_sequence(self, sequence_id: str) -> models.Sequence:
        """Set a sequence to `paused` (PATCH /sequences/{id}) and return it; no error if it already is.

        If the response has no body, only id and status are known.
        """
        return await self._set_status(sequence_id, "paused")

    async def resume_sequence(self, sequence_id: str) -> models.Sequence:
        """Set a sequence to `active` (PATCH /sequences/{id}) and return it; no error if it already is.

        If the response has no body, only id and status are known.
        """
        return await self._set_status(sequence_id, "active")

    async def list_inboxes(self, *, priority: Priority = Priority.NORMAL) -> tuple[models.Inbox, ...]:
        """All connected inboxes (GET /inboxes)."""
        read = partial(decode.inboxes, fields=self._section("inbox"))
        return await self._read(requests.list_inboxes(), read, priority=priority)

    async def stats(
        self,
        *,
        group_by: words.Grouping = "sequence",
        start: date | None = None,
        end: date | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> tuple[models.StatsRow, ...]:
        """Counts by sequence, step, variant or inbox (GET /stats); default: the last 30 days."""
        read = partial(decode.stats, group_by=group_by, fields=self._section("stats"))
        request = requests.stats(group_by=group_by, start=start, end=end)
        return await self._read(request, read, priority=priority)

    async def create_webhook(self, url: str, events: Sequence[words.EventKind]) -> models.Subscription:
        """Subscribe an endpoint (POST /webhooks). Store the secret at once: it is shown only once.

        Never retried automatically: raises `Uncertain` when the subscription may exist and its secret is lost.
        """
        request = requests.create_webhook(url, events=events)
        section = self._section("webhook")
        read = partial(decode.subscription, url=url, events=tuple(events), fields=section)
        return await self._read(request, read, priority=Priority.INTERACTIVE)

    async def _set_status(self, sequence_id: str, status: words.SequenceStatus) -> models.Sequence:
        request = requests.set_sequence_status(sequence_id, status=status)
        answer = await self._request(request, priority=Priority.INTERACTIVE)
        section = self._section("sequence")
        return decode.changed_sequence(answer.value, id=sequence_id, status=status, fields=section)

    def _section(self, name: str) -> Mapping[str, str]:
        return self._fields.get(name, {})

    async def _read(self, request: requests.Request, read: Callable[[Any], T], *, priority: Priority) -> T:
        answer = await self._request(request, priority=priority)
        rows = answer.value.get("data") if isinstance(answer.value, dict) else answer.value
        count = len(rows) if isinstance(rows, list) else 0
        try:
            return await decode_in_thread(partial(read, answer.value), is_large=count > LARGE_LIST)
        except OutreachError as error:
            shown = self._http.without_key(answer.reply)
            error.headers, error.body = shown.headers, shown.body
            raise self._explained(error) from None

    async def _request(self, request: requests.Request, *, priority: Priority) -> Answer:
        answer = await self._send(request, priority=priority)
        self._shapes.note(request.endpoint, answer.value)
        return answer

    async def _send(self, request: requests.Request, *, priority: Priority) -> Answer:
        try:
            answer = await self._pipeline.send(request, priority=priority, limits=self._limits)
        except OutreachError as error:
            raise self._explained(error) from error.__cause__
        return answer

    def _explained(self, error: OutreachError) -> OutreachError:
        if error.argument and self._explain is not None:
            error.own_hint = self._explain(error.argument)
        return error


def _given(value: str | None, argument: str, variable: str) -> str:
    found = os.environ.get(variable) if value is None else value
    if found is None:
        raise ValueError(f"Pass {argument}, or set the environment variable {variable}")
    return found
