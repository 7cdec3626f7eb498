"""The synchronous client: runs the asynchronous one in its own thread."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from datetime import datetime
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from .client import OutreachClient, RawMethods
from .http.pipeline import RequestCounts
from .http.rate_limit import BudgetState

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(
    method: Callable[Concatenate[OutreachClient, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[SyncOutreachClient, P], T]:
    def call(self: SyncOutreachClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._loop.run(method(self._client, *args, **kwargs))

    update_wrapper(call, method)
    return call


def _iterating(
    method: Callable[Concatenate[OutreachClient, P], AsyncIterator[T]],
) -> Callable[Concatenate[SyncOutreachClient, P], Iterator[T]]:
    def iterate(self: SyncOutreachClient, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        found: Any = method(self._client, *args, **kwargs)
        try:
            while (item := self._loop.run(_next(found))) is not _END:
                yield item
        finally:
            self._loop.run(found.aclose())

    update_wrapper(iterate, method)
    return iterate


_END: Any = object()


async def _next(iterator: AsyncIterator[T]) -> T:
    return await anext(iterator, _END)


class SyncOutreachClient:
    """`OutreachClient` for programs without an event loop: the same arguments, methods, results and errors.

    A context manager; threads may share it. Its requests run in its own thread, which ends with `close()`.
    """

    def __init__(self, **options: Any) -> None:
        self._client = OutreachClient(**options)
        self._loop = _LoopThread()

    def __repr__(self) -> str:
        return f"<SyncOutreachClient {self._client.base_url}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and end the thread."""
        if self._loop.is_running:
            self._loop.run(self._client.aclose())
            self._loop.stop()

    def with_options(
        self,
        *,
        timeout: float | None = None,
        total_timeout: float | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """See `OutreachClient.with_options`."""
        other = copy.copy(self)
        other._client = self._client.with_options(  # noqa: SLF001 -- of its own class
            timeout=timeout, total_timeout=total_timeout, retries=retries, headers=headers
        )
        return other

    @property
    def with_raw_response(self) -> SyncRawMethods:
        """See `OutreachClient.with_raw_response`."""
        return SyncRawMethods(self._client.with_raw_response, self._loop)

    list_leads = _blocking(OutreachClient.list_leads)
    iter_pages = _iterating(OutreachClient.iter_pages)
    iter_leads = _iterating(OutreachClient.iter_leads)
    add_leads = _blocking(OutreachClient.add_leads)
    remove_lead = _blocking(OutreachClient.remove_lead)
    list_sequences = _blocking(OutreachClient.list_sequences)
    pause_sequence = _blocking(OutreachClient.pause_sequence)
    resume_sequence = _blocking(OutreachClient.resume_sequence)
    list_inboxes = _blocking(OutreachClient.list_inboxes)
    stats = _blocking(OutreachClient.stats)
    create_webhook = _blocking(OutreachClient.create_webhook)
    get = _blocking(OutreachClient.get)
    post = _blocking(OutreachClient.post)
    patch = _blocking(OutreachClient.patch)

    @property
    def base_url(self) -> str:
        """The service's address."""
        return self._client.base_url

    @property
    def budget(self) -> BudgetState:
        """The state of the key's request budget."""
        return self._client.budget

    @property
    def counts(self) -> RequestCounts:
        """The requests that this client has sent."""
        return self._client.counts

    @property
    def service_time(self) -> datetime | None:
        """The service's clock at its last response."""
        return self._client.service_time

    @property
    def shapes(self) -> Mapping[str, frozenset[str]]:
        """The format of responses by endpoint: `path: type`, never a value."""
        return self._client.shapes


def _blocking_raw(
    method: Callable[Concatenate[RawMethods, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[SyncRawMethods, P], T]:
    def call(self: SyncRawMethods, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._loop.run(method(self._methods, *args, **kwargs))

    update_wrapper(call, method)
    return call


class SyncRawMethods:
    """`RawMethods` without `await`."""

    def __init__(self, methods: RawMethods, loop: _LoopThread) -> None:
        self._methods = methods
        self._loop = loop

    list_leads = _blocking_raw(RawMethods.list_leads)
    add_leads = _blocking_raw(RawMethods.add_leads)
    remove_lead = _blocking_raw(RawMethods.remove_lead)
    list_sequences = _blocking_raw(RawMethods.list_sequences)
    pause_sequence = _blocking_raw(RawMethods.pause_sequence)
    resume_sequence = _blocking_raw(RawMethods.resume_sequence)
    list_inboxes = _blocking_raw(RawMethods.list_inboxes)
    stats = _blocking_raw(RawMethods.stats)
    create_webhook = _blocking_raw(RawMethods.create_webhook)
    get = _blocking_raw(RawMethods.get)
    post = _blocking_raw(RawMethods.post)
    patch = _blocking_raw(RawMethods.patch)


class _LoopThread:
    """An event loop in a daemon thread, for coroutines that other threads wait for."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="outreach-client", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine; one that is interrupted (Ctrl+C) is cancelled."""
        if not self.is_running:
            work.close()
            raise RuntimeError("The client is closed.")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
