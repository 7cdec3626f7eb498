"""Signed deliveries: subscriptions, what waits for each, retries, and the sender."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from typing import Any

import aiohttp

from sandbox.service import payloads
from sandbox.service.account import Event
from sandbox.service.dice import between, roll
from sandbox.service.moments import DAY, HOUR, MINUTE, stamp

TIMEOUT = 10.0
RETRIES = 5
SENT_AT_ONCE = 32
KEPT_DAYS = 30
KEPT = 10_000
"""So many of the newest deliveries are listed, whatever their age."""
_GAPS = (MINUTE, 10 * MINUTE, HOUR, 5 * HOUR)
"""Nominal, before each retry; the last one ends with the day."""
_JITTER = 0.1
_POLL_SECONDS = 0.25
_SETTLE_SECONDS = 0.01
_ANSWER_BYTES = 16_384


@dataclass(slots=True, kw_only=True)
class Delivery:
    """An event on its way to a subscription; its bytes are the same at every attempt."""

    number: int
    subscription: int
    kind: str
    body: bytes
    first_at: float
    next_at: float
    state: str = "pending"
    first_sent: float | None = None
    """By the real clock, in Unix seconds."""
    attempts: list[dict[str, Any]] = field(default_factory=list)
    """What the control API shows of each."""


@dataclass(slots=True, kw_only=True)
class Subscription:
    """Where the events of a workspace are sent; `due` is a heap of its deliveries by when they are next due."""

    number: int
    workspace: int
    url: str
    secret: str = field(repr=False)
    events: Sequence[str]
    created_at: float
    due: list[tuple[float, int]] = field(default_factory=list)

    def is_due(self, now: float) -> bool:
        return bool(self.due) and self.due[0][0] <= now


class Deliveries:
    """Sends what is due by the service's clock, signs it, and writes each attempt down.

    Each subscriber has a worker of its own, so that a slow one doesn't delay others.

    Args:
        now: the service's time.
        seed: of the texts of replies and of the gaps between retries.
        timeout: real seconds in which a subscriber must answer 2xx.
    """

    def __init__(self, *, now: Callable[[], float], seed: int, timeout: float = TIMEOUT) -> None:
        self._now = now
        self._seed = seed
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._workers: dict[int, asyncio.Task[None]] = {}
        self._woken = asyncio.Event()
        self._sending = 0
        self._last = 0
        self.subscriptions: dict[int, Subscription] = {}
        self.all: dict[int, Delivery] = {}

    def subscribe(self, *, workspace: int, url: str, events: Sequence[str], now: float) -> Subscription:
        number = len(self.subscriptions) + 1
        made = self.subscriptions[number] = Subscription(
            number=number,
            workspace=workspace,
            url=url,
            secret=f"whsec_{secrets.token_urlsafe(32)}",
            events=tuple(dict.fromkeys(events)),
            created_at=now,
        )
        return made

    def publish(self, event: Event) -> None:
        """Queue a delivery for each subscription of the workspace that lists the event's kind."""
        listening = [
            one
            for one in self.subscriptions.values()
            if one.workspace == event.workspace and event.kind in one.events
        ]
        body = payloads.body(event, seed=self._seed) if listening else b""
        for subscription in listening:
            self._last += 1
            self.all[self._last] = Delivery(
                number=self._last,
                subscription=subscription.number,
                kind=event.kind,
                body=body,
                first_at=event.at,
                next_at=event.at,
            )
            heappush(subscription.due, (event.at, self._last))
        self._woken.set()

    def replay(self, number: int) -> bool:
        """Make a delivery due again, whatever became of it; False when there is none."""
        delivery = self.all.get(number)
        if delivery is None:
            return False
        delivery.state, delivery.next_at = "pending", self._now()
        heappush(self.subscriptions[delivery.subscription].due, (delivery.next_at, number))
        self._woken.set()
        return True

    def forget(self) -> None:
        """Forget settled deliveries that are older than `KEPT_DAYS`, except the newest."""
        if len(self.all) <= KEPT:
            return
        before = self._now() - KEPT_DAYS * DAY
        old = [
            number
            for number, one in self.all.items()
            if number <= self._last - KEPT and one.state != "pending" and one.first_at < before
        ]
        for number in old:
            del self.all[number]

    def clear(self) -> None:
        """Forget every subscription and delivery, also what is being sent."""
        for worker in self._workers.values():
            worker.cancel()
        self.subscriptions, self.all = {}, {}

    async def run(self) -> None:
        """Send until cancelled; what is under way is then dropped, and nothing of it is written down."""
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=self._timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
        ) as session:
            try:
                while True:
                    self._start_workers(session)
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._woken.wait(), _POLL_SECONDS)
                    self._woken.clear()
            finally:
                workers = list(self._workers.values())
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)

    async def settle(self, *, seconds: float) -> int:
        """Wait until all that is due has been sent, retries included, or so many real seconds have passed.

        Returns how many deliveries are left: their subscribers take long to answer.
        """
        ends = time.monotonic() + seconds
        while True:
            self._woken.set()
            now = self._now()
            left = self._sending + sum(
                sum(at <= now for at, _ in one.due) for one in self.subscriptions.values()
            )
            if not left or time.monotonic() >= ends:
                return left
            await asyncio.sleep(_SETTLE_SECONDS)

    def _start_workers(self, session: aiohttp.ClientSession) -> None:
        now = self._now()
        for number, subscription in self.subscriptions.items():
            if number not in self._workers and subscription.is_due(now):
                worker = asyncio.create_task(self._work(session, subscription), name=f"deliveries-{number}")
                self._workers[number] = worker
                worker.add_done_callback(partial(self._worker_done, number))

    def _worker_done(self, number: int, _: asyncio.Task[None]) -> None:
        del self._workers[number]
        self._woken.set()

    async def _work(self, session: aiohttp.ClientSession, subscription: Subscription) -> None:
        while subscription.is_due(self._now()):
            batch = list[Delivery]()
            while len(batch) < SENT_AT_ONCE and subscription.is_due(self._now()):
                at, number = heappop(subscription.due)
                delivery = self.all.get(number)
                # Replayed since: it is on the heap once more.
                if delivery is not None and delivery.state == "pending" and delivery.next_at == at:
                    batch.append(delivery)
            self._sending += len(batch)
            try:
                await asyncio.gather(*(self._attempt(session, subscription, one) for one in batch))
            finally:
                self._sending -= len(batch)

    async def _attempt(
        self, session: aiohttp.ClientSession, subscription: Subscription, delivery: Delivery
    ) -> None:
        at, real, started, due_at = self._now(), time.time(), time.perf_counter(), delivery.next_at
        status, error = await send(session, subscription, delivery.body)
        number = len(delivery.attempts) + 1
        delivery.first_sent = delivery.first_sent or real
        delivery.attempts.append(
            {
                "number": number,
                "at": stamp(at),
                "status": status,
                "error": error,
                "seconds": round(time.perf_counter() - started, 4),
            }
        )
        if delivery.next_at != due_at:
            return  # to be replayed: it is on the heap already
        again = retry_at(delivery.first_at, number, key=(self._seed, delivery.number))
        if status is not None and 200 <= status < 300:  # anything but a 2xx in time is a failure
            delivery.state = "delivered"
        elif again is None:
            delivery.state = "failed"
        else:
            delivery.next_at = again
            heappush(subscription.due, (again, delivery.number))


async def send(
    session: aiohttp.ClientSession, subscription: Subscription, body: bytes
) -> tuple[int | None, str | None]:
    """Post a delivery's bytes; the status, or what went wrong. Redirects are not followed: they are failures."""
    headers = {
        "Content-Type": "application/json",
        "X-Service-Signature": signature(subscription.secret, body),
    }
    try:
        async with session.post(
            subscription.url, data=body, headers=headers, allow_redirects=False
        ) as response:
            await response.content.read(_ANSWER_BYTES)
            return response.status, None
    except TimeoutError:
        return None, "it timed out"
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return None, reason(error)


def signature(secret: str, body: bytes) -> str:
    """HMAC-SHA256 of the raw body, in hex (document: Signature)."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def reason(error: Exception) -> str:
    """Why there was no answer, in words."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        cause = error.certificate_error
        return f"the certificate is not trusted: {getattr(cause, 'verify_message', cause)}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"no connection: {error.os_error.strerror or error.os_error}"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the connection was closed before a response"
    return f"no HTTP response ({type(error).__name__})"


def retry_at(first_at: float, attempts: int, *, key: object) -> float | None:
    """When the next attempt is due after so many; None when they are used up.

    The plan hangs on the first attempt, so a late attempt does not push the others out of the 24 hours. Each gap is up
    to a tenth longer or shorter than its nominal length, the last one ends within the day.
    """
    if attempts > RETRIES:
        return None
    elapsed = sum(
        gap * between(1 - _JITTER, 1 + _JITTER, roll("retry", key, number))
        for number, gap in enumerate(_GAPS[:attempts], start=1)
    )
    if attempts == RETRIES:
        rest = DAY - elapsed
        elapsed += rest * between(1 - _JITTER, 1.0, roll("retry", key, RETRIES))
    return first_at + elapsed
