"""Signed deliveries: subscriptions, what waits for each, retries, and the sender."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

import aiohttp

from sandbox.service.account import Event, Lead
from sandbox.service.dice import between, roll
from sandbox.service.moments import DAY, HOUR, MINUTE
from sandbox.service.people import reply_text

TIMEOUT = 10.0
RETRIES = 5
SENT_AT_ONCE = 32
KEPT = 10_000
"""The control API lists so many of the newest deliveries."""
_GAPS = (MINUTE, 10 * MINUTE, HOUR, 5 * HOUR)
"""The nominal pauses before each retry; the last one ends with the day."""
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
    next_at: float = 0.0
    state: str = "pending"
    first_sent: float | None = None
    """The moment of the first attempt by the real clock, in Unix seconds."""
    attempts: int = 0
    last_answer: int | str | None = None
    """The HTTP status of the last attempt, or what went wrong with it."""


@dataclass(slots=True, kw_only=True)
class Subscription:
    """An address that gets events of a workspace."""

    number: int
    workspace: int
    url: str
    secret: str = field(repr=False)
    events: Sequence[str]
    created_at: float
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(SENT_AT_ONCE))
    """Each subscriber has turns of its own, so that a slow one doesn't delay others."""


class Deliveries:
    """Sends what is due by the service's clock, signs it, and writes each attempt down.

    Args:
        now: the service's time.
        seed: of the texts of replies and of the gaps between retries.
        timeout: real seconds in which a subscriber must answer 2xx.
    """

    def __init__(self, *, now: Callable[[], float], seed: int, timeout: float = TIMEOUT) -> None:
        self._now = now
        self._seed = seed
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._woken = asyncio.Event()
        self._sending: set[asyncio.Task[None]] = set()
        self._due: list[tuple[float, int]] = []
        """A heap of the deliveries that wait, by when they are next due."""
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
        # Composed once, because every attempt and every subscriber gets the same bytes.
        body = body_of(event, seed=self._seed) if listening else b""
        for subscription in listening:
            self._last += 1
            made = Delivery(
                number=self._last,
                subscription=subscription.number,
                kind=event.kind,
                body=body,
                first_at=event.at,
            )
            self.all[made.number] = made
            self._send_at(event.at, made)

    def _send_at(self, at: float, delivery: Delivery) -> None:
        delivery.state, delivery.next_at = "pending", at
        heappush(self._due, (at, delivery.number))
        self._woken.set()

    def forget(self) -> None:
        """Forget settled deliveries but the newest, so that a sandbox can run for weeks."""
        for number in list(self.all)[:-KEPT]:
            if self.all[number].state != "pending":
                del self.all[number]

    def clear(self) -> None:
        """Forget every subscription and delivery, also what is being sent."""
        for task in self._sending:
            task.cancel()
        self._due.clear()
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
                    for delivery in self._take_due():
                        task = asyncio.create_task(self._attempt(session, delivery), name="delivery")
                        self._sending.add(task)
                        task.add_done_callback(self._sending.discard)
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(_POLL_SECONDS):
                            await self._woken.wait()
                    self._woken.clear()
            finally:
                left = list(self._sending)
                self.clear()
                await asyncio.gather(*left, return_exceptions=True)

    def _take_due(self) -> Iterator[Delivery]:
        now = self._now()
        while self._due and self._due[0][0] <= now:
            _, number = heappop(self._due)
            # Those of before a reset are gone.
            if number in self.all:
                yield self.all[number]

    async def settle(self, *, seconds: float) -> int:
        """Wait until all that is due has been sent, retries included, or so many real seconds have passed.

        Returns how many deliveries are left: their subscribers take long to answer.
        """
        ends = time.monotonic() + seconds
        while True:
            self._woken.set()
            now = self._now()
            left = len(self._sending) + sum(at <= now for at, _ in self._due)
            if not left or time.monotonic() >= ends:
                return left
            await asyncio.sleep(_SETTLE_SECONDS)

    async def _attempt(self, session: aiohttp.ClientSession, delivery: Delivery) -> None:
        subscription = self.subscriptions[delivery.subscription]
        async with subscription.turns:
            sent_at = time.time()
            answer = delivery.last_answer = await send(session, subscription, delivery.body)
        delivery.first_sent = delivery.first_sent or sent_at
        delivery.attempts += 1
        again = retry_at(delivery.first_at, delivery.attempts, key=(self._seed, delivery.number))
        if isinstance(answer, int) and 200 <= answer < 300:  # anything but a 2xx in time is a failure
            delivery.state = "delivered"
        elif again is None:
            delivery.state = "failed"
        else:
            self._send_at(again, delivery)


_BOUNCES = {
    "hard": "550 5.1.1 The email account that you tried to reach does not exist.",
    "soft": "452 4.2.2 The recipient's mailbox is full.",
}
_WRITTEN = frozenset({"interested", "turned", "reply", "again", "ooo", "unsubscribe"})


def body_of(event: Event, *, seed: int) -> bytes:
    """The bytes of an event, the same at every attempt."""
    payload = {"event": event.kind}
    if event.lead is not None:
        payload |= _about(event, event.lead, seed=seed)
    payload |= event.payload
    return json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")


def _about(event: Event, lead: Lead, *, seed: int) -> dict[str, Any]:
    who = lead.who
    return {
        "lead": {"email": who.email, "first_name": who.first_name or "", "company": who.company or ""},
        "sequence": event.sequence,
        "step": event.step,
        **_details(event, lead, seed=seed),
        "inbox": event.inbox,
    }


def _details(event: Event, lead: Lead, *, seed: int) -> dict[str, Any]:
    """Return the members beside the lead: `reply`, `return_date` or `bounce_type`."""
    if event.cause.startswith("bounce"):
        bounce = event.cause.removeprefix("bounce_")
        return {"bounce_type": bounce, "reason": _BOUNCES[bounce]}
    if event.cause not in _WRITTEN:
        return {}
    reply = reply_text(
        "interested" if event.cause == "turned" else event.cause,
        key=(seed, lead.number, event.step),
        me=event.inbox.partition("@")[0].rstrip("0123456789").capitalize(),
        lead=lead.who,
        date=event.returns,
    )
    return {"reply": reply} | ({"return_date": event.returns.isoformat()} if event.cause == "ooo" else {})


async def send(session: aiohttp.ClientSession, subscription: Subscription, body: bytes) -> int | str:
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
            return response.status
    except TimeoutError:
        return "timeout"
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return type(error).__name__


def signature(secret: str, body: bytes) -> str:
    """HMAC-SHA256 of the raw body, in hex (document: Signature)."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def retry_at(first_at: float, attempts: int, *, key: object) -> float | None:
    """Return when the next attempt is due after so many; None when they are used up.

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
