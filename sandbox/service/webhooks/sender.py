"""Sends deliveries: each subscriber has its own worker, so a slow one doesn't delay others."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import socket
import time
from collections.abc import Callable
from functools import partial

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from sandbox.service.base.storage import Storage
from sandbox.service.webhooks import delivery_queue
from sandbox.service.webhooks.allowed_urls import is_loopback, is_public
from sandbox.service.webhooks.delivery_queue import Attempt, Due

TIMEOUT = 10.0
SENT_AT_ONCE = 32
_BATCH = 128
_POLL = 0.25
_SETTLE_POLL = 0.01
_ANSWER_READ = 16_384


class DeliverySender:
    """Sends what is due by the service's clock, signs it, and writes each attempt down.

    Args:
        storage: where deliveries wait.
        now: the service's time.
        timeout: real seconds in which a subscriber must answer 2xx.
    """

    def __init__(self, storage: Storage, *, now: Callable[[], float], timeout: float = TIMEOUT) -> None:
        self._storage = storage
        self._now = now
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._workers: dict[int, asyncio.Task[None]] = {}
        self._woken = asyncio.Event()

    def wake(self) -> None:
        self._woken.set()

    async def run(self) -> None:
        """Send until cancelled; workers that are under way are then cancelled and drained."""
        connector = aiohttp.TCPConnector(
            limit=0, resolver=PublicResolver(ThreadedResolver()), ttl_dns_cache=60
        )
        async with aiohttp.ClientSession(
            connector=connector, timeout=self._timeout, cookie_jar=aiohttp.DummyCookieJar()
        ) as session:
            try:
                while True:
                    await self._start_workers(session)
                    await self._pause()
            finally:
                await self.stop_workers()

    async def settle(self, *, now: float, seconds: float) -> int:
        """Wait until all that was due by `now` has been sent, retries included, or so many real seconds have passed.

        Returns how many deliveries are left: their subscribers take long to answer.
        """
        ends = time.monotonic() + seconds
        while True:
            self.wake()
            due = await self._storage.read(delivery_queue.count_due, now=now)
            if not due or time.monotonic() >= ends:
                return due
            await asyncio.sleep(_SETTLE_POLL)

    async def stop_workers(self) -> None:
        """Let go of every delivery that is under way, and record nothing of it."""
        workers = list(self._workers.values())
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(_POLL):
                await self._woken.wait()
        except TimeoutError:
            return
        self._woken.clear()

    async def _start_workers(self, session: aiohttp.ClientSession) -> None:
        now = self._now()
        waiting = await self._storage.read(delivery_queue.subscriptions_due, now=now, real=time.time())
        for subscription in waiting:
            if subscription not in self._workers:
                worker = asyncio.create_task(
                    self._work(session, subscription), name=f"deliveries-{subscription}"
                )
                self._workers[subscription] = worker
                worker.add_done_callback(partial(self._worker_done, subscription))

    def _worker_done(self, subscription: int, worker: asyncio.Task[None]) -> None:
        del self._workers[subscription]
        self.wake()

    async def _work(self, session: aiohttp.ClientSession, subscription: int) -> None:
        while True:
            batch = await self._storage.write(
                delivery_queue.claim,
                subscription=subscription,
                now=self._now(),
                real=time.time(),
                room=_BATCH,
            )
            if not batch:
                return
            slots = asyncio.Semaphore(SENT_AT_ONCE)
            done = await asyncio.gather(*(self._attempt(session, due, slots) for due in batch))
            await self._storage.write(delivery_queue.record, made=done)

    async def _attempt(self, session: aiohttp.ClientSession, due: Due, slots: asyncio.Semaphore) -> Attempt:
        async with slots:
            at, real, started = self._now(), time.time(), time.perf_counter()
            status, error = await send(session, due)
            return Attempt(
                due=due, at=at, real=real, status=status, error=error, seconds=time.perf_counter() - started
            )


async def send(session: aiohttp.ClientSession, due: Due) -> tuple[int | None, str | None]:
    """Post one delivery's bytes; the status, or what went wrong. Redirects are not followed: they are failures."""
    headers = {"Content-Type": "application/json", "X-Service-Signature": signature(due.secret, due.body)}
    try:
        async with session.post(due.url, data=due.body, headers=headers, allow_redirects=False) as response:
            await response.content.read(_ANSWER_READ)
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


class PublicResolver(AbstractResolver):
    """Refuses a public name that leads to a private address: what was checked by name is checked by number."""

    def __init__(self, names: AbstractResolver) -> None:
        self._names = names

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a host that deliveries may go to; an `OSError` when there is none."""
        found = await self._names.resolve(host, port, family)
        allowed = [one for one in found if is_loopback(host) or is_public(one["host"])]
        if not allowed:
            raise OSError(None, f"{host} leads to a private address")
        return allowed

    async def close(self) -> None:
        await self._names.close()
