"""Answers to GET, remembered until something is written: a dashboard's polls mostly ask about what has not changed."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_MOST = 512
_LARGEST = 256 * 1024

Answer = tuple[Message, Message]


class Memory:
    """An ASGI application around the API's own; it keeps whole answers to successful GETs.

    Args:
        app: the API.
        moment: everything beside the request that an answer depends on; None where others may write, too.
    """

    def __init__(self, app: ASGIApp, *, moment: Callable[[], Hashable | None]) -> None:
        self._app = app
        self._moment = moment
        self._kept: dict[tuple[int, str, bytes], Answer] = {}
        self._of: Hashable | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer from memory, or ask and remember."""
        moment = self._moment()
        if scope["method"] != "GET" or moment is None:
            await self._app(scope, receive, send)
            return
        if moment != self._of or len(self._kept) >= _MOST:
            self._kept.clear()
            self._of = moment
        key = (scope["workspace"], scope["path"], scope["query_string"])
        kept = self._kept.get(key)
        if kept is None:
            await self._ask(key, scope, receive, send)
        else:
            for message in kept:
                await send(message)

    async def _ask(self, key: tuple[int, str, bytes], scope: Scope, receive: Receive, send: Send) -> None:
        heard: list[Message] = []

        async def listening(message: Message) -> None:
            heard.append(message)
            await send(message)

        await self._app(scope, receive, listening)
        # An answer that took a while may be older than what the memory holds now.
        whole = (
            len(heard) == 2 and heard[0].get("status") == 200 and len(heard[1].get("body", b"")) <= _LARGEST
        )
        if whole and self._moment() == self._of:
            self._kept[key] = (heard[0], heard[1])
