"""The synchronous client under the names of the asynchronous one, so that the same tests hold for both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, cast

from shared.api import OutreachClient, SyncOutreachClient

FACES = ("async", "sync")


@asynccontextmanager
async def open_client(face: str, **options: Any) -> AsyncIterator[OutreachClient]:
    """A client with one of the two faces, to be used like the asynchronous one."""
    if face == "async":
        async with OutreachClient(**options) as client:
            yield client
    else:
        blocking = await asyncio.to_thread(lambda: SyncOutreachClient(**options))
        try:
            yield cast("OutreachClient", SyncFace(blocking))
        finally:
            await asyncio.to_thread(blocking.close)


class SyncFace:
    """Calls each method in a thread."""

    def __init__(self, client: SyncOutreachClient) -> None:
        self._client = client

    def __repr__(self) -> str:
        return repr(self._client)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            return getattr(self._client._client, name)
        found = getattr(self._client, name)
        if name == "with_options":
            return lambda **options: SyncFace(found(**options))
        if name.startswith("iter_"):
            return lambda **options: _iterated(found, options)
        return _in_thread(found) if callable(found) else found


def _in_thread(method: Callable[..., Any]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(method, *args, **kwargs)

    return call


async def _iterated(method: Callable[..., Iterator[Any]], options: dict[str, Any]) -> AsyncIterator[Any]:
    items = await asyncio.to_thread(lambda: method(**options))
    while (item := await asyncio.to_thread(next, items, None)) is not None:
        yield item
