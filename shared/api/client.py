"""The outreach service as an object: one method for each endpoint.

A request is built by `http.requests`, retried and paced by `http.pipeline`, and sent by `http.transport`; its answer
is read by `http.responses` and `decoding.decode`.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from typing import Any, Self, TypeVar

from . import models, paging
from .decoding import decode
from .decoding.shape_report import ShapeLog
from .http import requests
from .http.decode_thread import decode_in_thread
from .http.pipeline import Answer, Pipeline, RequestCounts
from .http.rate_limit import BudgetState, Pacer, Priority
from .http.rate_wait import LocalBudget
from .http.transport import Http, Transport

T = TypeVar("T")


class OutreachClient:
    """The service, seen with one API key. An async context manager; safe for concurrent use.

    `timeout` bounds one silence of the service (opening a connection 3 s at most), `total_timeout` a whole call
    with its waiting and its repetitions, both in seconds; `jitter` gives numbers in 0-1 that spread the
    repetitions. `fields` are the `[fields.…]` sections of the settings. Every method raises `OutreachError`; the
    constructor raises ValueError for an address or a key that cannot be one.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        pacer: Pacer | None = None,
        fields: Mapping[str, Mapping[str, str]] | None = None,
        transport: Transport | None = None,
        timeout: float = 10.0,
        total_timeout: float = 45.0,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.base_url = requests.check_base_url(base_url)
        self._pacer: Pacer = pacer or LocalBudget()
        self._fields = fields or {}
        self._shapes = ShapeLog()
        self._http = Http(
            self.base_url, api_key=requests.check_api_key(api_key), transport=transport, timeout=timeout
        )
        self._pipeline = Pipeline(self._http, pacer=self._pacer, total=total_timeout, jitter=jitter)

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
        """How the key's share of requests stands."""
        return self._pacer.state()

    @property
    def counts(self) -> RequestCounts:
        """What this client has sent."""
        return self._pipeline.counts

    @property
    def service_time(self) -> datetime | None:
        """The service's clock at its last answer."""
        return self._pipeline.service_time

    @property
    def shapes(self) -> Mapping[str, frozenset[str]]:
        """Endpoint -> `path: type` of everything that came; never a value."""
        return self._shapes.seen

    async def list_leads(
        self,
        *,
        sequence_id: str | None = None,
        status: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> models.Page[models.Lead]:
        """One page of leads, newest first (GET /leads); `limit` is 1-100."""
        request = requests.list_leads(sequence_id=sequence_id, status=status, limit=limit, cursor=cursor)
        return decode.leads(await self._value(request, priority=priority), fields=self._section("lead"))

    async def iter_pages(
        self,
        *,
        sequence_id: str | None = None,
        status: str | None = None,
        page_size: int = 100,
        cursor: str | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> AsyncIterator[models.Page[models.Lead]]:
        """Pages until the last, each without leads that came before; `next_cursor` is where to resume."""
        fetch = partial(
            self.list_leads, sequence_id=sequence_id, status=status, limit=page_size, priority=priority
        )
        async for page in paging.pages(fetch, cursor=cursor):
            yield page

    async def iter_leads(
        self,
        *,
        sequence_id: str | None = None,
        status: str | None = None,
        page_size: int = 100,
        cursor: str | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> AsyncIterator[models.Lead]:
        """Every lead once, newest first, over all pages."""
        async for page in self.iter_pages(
            sequence_id=sequence_id, status=status, page_size=page_size, cursor=cursor, priority=priority
        ):
            for lead in page.items:
                yield lead

    async def add_leads(
        self, sequence_id: str, leads: Sequence[Mapping[str, Any]], *, priority: Priority = Priority.NORMAL
    ) -> models.AddResult:
        """Add 1-1,000 leads to a sequence (POST /leads); duplicates and blocked ones are reported, not errors."""
        answer = await self._request(requests.add_leads(sequence_id, leads=leads), priority=priority)
        return decode.added(answer.value, repeated=answer.repeated)

    async def remove_lead(self, lead_id: str, *, priority: Priority = Priority.INTERACTIVE) -> None:
        """Remove a lead from all sequences (DELETE /leads/{id}); its reply history stays."""
        await self._request(requests.remove_lead(lead_id), priority=priority)

    async def list_sequences(self, *, priority: Priority = Priority.NORMAL) -> tuple[models.Sequence, ...]:
        """All sequences (GET /sequences)."""
        value = await self._value(requests.list_sequences(), priority=priority)
        return decode.sequences(value, fields=self._section("sequence"))

    async def pause_sequence(self, sequence_id: str) -> None:
        """Set a sequence to `paused` (PATCH /sequences/{id}); no error when it is already."""
        await self._set_status(sequence_id, "paused")

    async def resume_sequence(self, sequence_id: str) -> None:
        """Set a sequence to `active` (PATCH /sequences/{id}); no error when it is already."""
        await self._set_status(sequence_id, "active")

    async def list_inboxes(self, *, priority: Priority = Priority.NORMAL) -> tuple[models.Inbox, ...]:
        """All connected inboxes (GET /inboxes)."""
        read = partial(decode.inboxes, fields=self._section("inbox"))
        return await self._rows(requests.list_inboxes(), read, priority=priority)

    async def stats(
        self,
        *,
        group_by: str = "sequence",
        start: date | None = None,
        end: date | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> tuple[models.StatsRow, ...]:
        """Counts by sequence, step, variant or inbox (GET /stats); the last 30 days unless both ends are given."""
        read = partial(decode.stats, group_by=group_by, fields=self._section("stats"))
        request = requests.stats(group_by=group_by, start=start, end=end)
        return await self._rows(request, read, priority=priority)

    async def create_webhook(self, url: str, events: Sequence[str]) -> models.Subscription:
        """Subscribe an endpoint (POST /webhooks). Store the secret at once: it is shown this once.

        Never repeated by itself: raises `Uncertain` when the subscription may exist and its secret is lost.
        """
        request = requests.create_webhook(url, events=events)
        value = await self._value(request, priority=Priority.INTERACTIVE)
        return decode.subscription(value, url=url, events=tuple(events), fields=self._section("webhook"))

    async def _set_status(self, sequence_id: str, status: str) -> None:
        request = requests.set_sequence_status(sequence_id, status=status)
        await self._request(request, priority=Priority.INTERACTIVE)

    def _section(self, name: str) -> Mapping[str, str]:
        return self._fields.get(name, {})

    async def _value(self, request: requests.Request, *, priority: Priority) -> Any:
        return (await self._request(request, priority=priority)).value

    async def _rows(self, request: requests.Request, read: Callable[[Any], T], *, priority: Priority) -> T:
        value = await self._value(request, priority=priority)
        rows = value.get("data", value) if isinstance(value, dict) else value
        count = len(rows) if isinstance(rows, list) else 0
        return await decode_in_thread(partial(read, value), rows=count)

    async def _request(self, request: requests.Request, *, priority: Priority) -> Answer:
        answer = await self._pipeline.send(request, priority=priority)
        self._shapes.note(request.endpoint, answer.value)
        return answer
