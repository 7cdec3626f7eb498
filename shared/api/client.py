"""The outreach service as an object: one method for each endpoint. The only module that knows httpx.

Every request climbs one staircase, each step with one concern: `_request` (its shape is noted) -> retrying
-> paced (both in `staircase`) -> one exchange over HTTP.
"""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import cache, partial
from typing import Any, Self, TypeVar

import httpx

from shared.api import answers, decode, models, paging, wire
from shared.api.errors import OutreachError, Uncertain, Unreachable
from shared.api.pacing import BudgetState, Pacer, Priority
from shared.api.shapes import ShapeLog
from shared.api.staircase import Answer, RequestCounts, Staircase
from shared.api.turns import LocalBudget

LARGEST_ANSWER = 32 * 2**20
"""Bytes; more is refused while it comes."""
LONGEST_CONNECTING = 3.0
"""Seconds; a machine that is there answers a knock within one, and once more where a packet was lost."""
PUNCTUAL = 0.005
"""A request that goes within so many seconds of its turn is in time."""

NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


T = TypeVar("T")
LONG = 500
"""Rows."""


class OutreachClient:
    """The service, seen with one API key. An async context manager; safe for concurrent use.

    `timeout` bounds one silence of the service (opening a connection 3 s at most), `total_timeout` a whole call with its waiting and its
    repetitions, both in seconds; `jitter` gives numbers in 0-1 that spread the repetitions. `fields` are the
    `[fields.…]` sections of the settings. Every method raises `OutreachError`; the constructor raises
    ValueError for an address or a key that cannot be one.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        pacer: Pacer | None = None,
        fields: Mapping[str, Mapping[str, str]] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        timeout: float = 10.0,
        total_timeout: float = 45.0,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.base_url = wire.check_base_url(base_url)
        self._pacer: Pacer = pacer or LocalBudget()
        self._fields = fields or {}
        self._shapes = ShapeLog()
        self._http = _Http(
            self.base_url, api_key=wire.check_api_key(api_key), transport=transport, timeout=timeout
        )
        self._staircase = Staircase(
            self._http.exchange, pacer=self._pacer, total=total_timeout, jitter=jitter
        )

    def __repr__(self) -> str:
        return f"<OutreachClient {self.base_url}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.client.aclose()

    @property
    def budget(self) -> BudgetState:
        """How the key's share of requests stands."""
        return self._pacer.state()

    @property
    def counts(self) -> RequestCounts:
        """What this client has sent."""
        return self._staircase.counts

    @property
    def service_time(self) -> datetime | None:
        """The service's clock at its last answer."""
        return self._staircase.service_time

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
        request = wire.list_leads(sequence_id=sequence_id, status=status, limit=limit, cursor=cursor)
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
        answer = await self._request(wire.add_leads(sequence_id, leads=leads), priority=priority)
        return decode.added(answer.value, repeated=answer.repeated)

    async def remove_lead(self, lead_id: str) -> None:
        """Remove a lead from all sequences (DELETE /leads/{id}); its reply history stays."""
        await self._request(wire.remove_lead(lead_id), priority=Priority.INTERACTIVE)

    async def list_sequences(self, *, priority: Priority = Priority.NORMAL) -> tuple[models.Sequence, ...]:
        """All sequences (GET /sequences)."""
        value = await self._value(wire.list_sequences(), priority=priority)
        return decode.sequences(value, fields=self._section("sequence"))

    async def pause_sequence(self, sequence_id: str) -> None:
        """Set a sequence to `paused` (PATCH /sequences/{id}); no error when it is already."""
        await self._set_status(sequence_id, "paused")

    async def resume_sequence(self, sequence_id: str) -> None:
        """Set a sequence to `active` (PATCH /sequences/{id}); no error when it is already."""
        await self._set_status(sequence_id, "active")

    async def list_inboxes(self, *, priority: Priority = Priority.NORMAL) -> tuple[models.Inbox, ...]:
        """All connected inboxes (GET /inboxes)."""
        value = await self._value(wire.list_inboxes(), priority=priority)
        return await _beside(partial(decode.inboxes, value, fields=self._section("inbox")), value)

    async def stats(
        self,
        *,
        group_by: str = "sequence",
        start: date | None = None,
        end: date | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> tuple[models.StatsRow, ...]:
        """Counts by sequence, step, variant or inbox (GET /stats); the last 30 days unless both ends are given."""
        value = await self._value(wire.stats(group_by=group_by, start=start, end=end), priority=priority)
        return await _beside(
            partial(decode.stats, value, group_by=group_by, fields=self._section("stats")), value
        )

    async def create_webhook(self, url: str, events: Sequence[str]) -> models.Subscription:
        """Subscribe an endpoint (POST /webhooks). Store the secret at once: it is shown this once.

        Never repeated by itself: raises `Uncertain` when the subscription may exist and its secret is lost.
        """
        request = wire.create_webhook(url, events=events)
        value = await self._value(request, priority=Priority.INTERACTIVE)
        return decode.subscription(value, url=url, events=tuple(events), fields=self._section("webhook"))

    async def _set_status(self, sequence_id: str, status: str) -> None:
        request = wire.set_sequence_status(sequence_id, status=status)
        await self._request(request, priority=Priority.INTERACTIVE)

    def _section(self, name: str) -> Mapping[str, str]:
        return self._fields.get(name, {})

    async def _value(self, request: wire.Request, *, priority: Priority) -> Any:
        return (await self._request(request, priority=priority)).value

    async def _request(self, request: wire.Request, *, priority: Priority) -> Answer:
        answer = await self._staircase.carry_out(request, priority=priority)
        self._shapes.note(request.endpoint, answer.value)
        return answer


async def _beside(act: Callable[[], T], value: Any) -> T:
    """Long lists are decoded in a thread: ten thousand inboxes would hold up the event loop for 50 ms and more."""
    rows = value.get("data", value) if isinstance(value, dict) else value
    return await asyncio.to_thread(act) if isinstance(rows, list) and len(rows) > LONG else act()


class _Http:
    """One exchange over HTTP, and nothing of its meaning."""

    def __init__(
        self, base_url: str, *, api_key: str, transport: httpx.AsyncBaseTransport | None, timeout: float
    ) -> None:
        self.client = _open_http(api_key, transport=transport, timeout=timeout)
        self._base_url = base_url

    async def exchange(
        self, request: wire.Request, *, deadline: float, late: Callable[[float], Awaitable[None]]
    ) -> wire.Reply:
        """See `Exchange`."""
        sending = _Sending(late)
        left = deadline - time.monotonic()
        if left <= 0:
            raise Unreachable("No time was left to send it.", endpoint=request.endpoint)
        try:
            async with asyncio.timeout(left):
                return await self._answered(self._outgoing(request, sending), request)
        except NOT_SENT as error:
            raise Unreachable(endpoint=request.endpoint, hint=answers.cause(error)) from None
        except (httpx.HTTPError, TimeoutError) as error:
            raise _broken_off(request, error, was_sent=sending.was_sent) from None

    def _outgoing(self, request: wire.Request, sending: _Sending) -> httpx.Request:
        return self.client.build_request(
            request.method,
            f"{self._base_url}{request.path}",
            params=request.query or None,
            content=request.body,
            headers={"Content-Type": "application/json"} if request.body else None,
            extensions={"trace": sending},
        )

    async def _answered(self, outgoing: httpx.Request, request: wire.Request) -> wire.Reply:
        response = await self.client.send(outgoing, stream=True)
        try:
            body = await _read(response, request)
        finally:
            await response.aclose()
        headers = {name.lower(): value for name, value in response.headers.items()}
        reply = wire.Reply(status=response.status_code, headers=headers, body=body)
        return reply if response.is_success else self._without_key(reply)

    def _without_key(self, reply: wire.Reply) -> wire.Reply:
        """A service that quotes the key in an error must not bring it into a log."""
        key = self.client.headers["Authorization"].removeprefix("Bearer ")
        headers = {name: value.replace(key, "[key]") for name, value in reply.headers.items()}
        return replace(reply, headers=headers, body=reply.body.replace(key.encode(), b"[key]"))


class _Sending:
    """What httpx tells while it sends (its trace hook): lets a request go only in time, and knows whether it went.

    Opening a connection may outlast the turn; the others are told so before a byte of the request goes.
    """

    def __init__(self, late: Callable[[float], Awaitable[None]]) -> None:
        self._late = late
        self._turn_at = time.monotonic()
        self._is_traced = False
        self._has_begun = False

    @property
    def was_sent(self) -> bool:
        """Whether anything of it may have gone; a transport that does not tell counts as one that sent."""
        return self._has_begun or not self._is_traced

    async def __call__(self, name: str, _info: Mapping[str, Any]) -> None:
        self._is_traced = True
        if name.endswith("send_request_headers.started"):
            late = time.monotonic() - self._turn_at
            if late > PUNCTUAL:
                await self._late(late)
            self._has_begun = True


@cache
def _tls() -> ssl.SSLContext:
    """One for all clients: reading the certificates takes longer than a request."""
    return httpx.create_ssl_context()


def _open_http(
    api_key: str, *, transport: httpx.AsyncBaseTransport | None, timeout: float
) -> httpx.AsyncClient:
    for name in ("httpx", "httpcore"):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)  # below, they write addresses with ids, and headers
    return httpx.AsyncClient(
        headers={
            "Authorization": f"Bearer {api_key}",
            "Accept": "application/json",
            "User-Agent": "outreach-ops",
        },
        timeout=httpx.Timeout(timeout, connect=min(timeout, LONGEST_CONNECTING)),
        follow_redirects=False,
        transport=transport,
        verify=_tls(),
        # Servers commonly drop idle connections after 5 s; a request on one of those would be uncertain.
        limits=httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=4.0),
    )


async def _read(response: httpx.Response, request: wire.Request) -> bytes:
    """The body, up to the limit."""
    length = response.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length[:20]) > LARGEST_ANSWER:
        raise answers.too_large(request, most=LARGEST_ANSWER)
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > LARGEST_ANSWER:
            raise answers.too_large(request, most=LARGEST_ANSWER)
    return bytes(body)


def _broken_off(request: wire.Request, error: Exception, *, was_sent: bool) -> OutreachError:
    if not was_sent:
        return Unreachable(endpoint=request.endpoint, hint=answers.cause(error))
    if request.reads:
        message = "The connection broke before the answer came."
        return Unreachable(message, endpoint=request.endpoint, hint=answers.cause(error))
    return Uncertain(endpoint=request.endpoint, hint=answers.cause(error))
