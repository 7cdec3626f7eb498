"""Pages until the last, however the service marks it, and no lead twice when the list shifts meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable
from dataclasses import replace
from typing import Protocol

from .models import Lead, Page

REMEMBERED_LEADS = 50_000
"""How many leads are remembered to show none twice; a list does not shift further than that."""
STALE_PAGES = 10
"""So many pages without a new lead end a list that would never end."""


class Fetch(Protocol):
    """Reads the page at a cursor."""

    def __call__(self, *, cursor: str | None) -> Awaitable[Page[Lead]]:
        """One request."""


async def pages(fetch: Fetch, *, cursor: str | None) -> AsyncIterator[Page[Lead]]:
    """End at a null, absent, empty or repeated cursor, or an empty page; `next_cursor` is where to resume."""
    cursors, seen, stale = {cursor}, _Recent(REMEMBERED_LEADS), 0
    while stale < STALE_PAGES:
        page = await fetch(cursor=cursor)
        if not page.items:
            return
        fresh = tuple(lead for lead in page.items if seen.is_new(lead.id))
        stale = 0 if fresh else stale + 1
        cursor = None if page.next_cursor in cursors else page.next_cursor
        yield replace(page, items=fresh, next_cursor=cursor)
        if cursor is None:
            return
        cursors.add(cursor)


class _Recent:
    """The last so many ids."""

    def __init__(self, most: int) -> None:
        self._order: deque[str] = deque()
        self._ids: set[str] = set()
        self._most = most

    def is_new(self, identifier: str) -> bool:
        """Whether it was not among them; now it is."""
        if identifier in self._ids:
            return False
        self._ids.add(identifier)
        self._order.append(identifier)
        if len(self._order) > self._most:
            self._ids.discard(self._order.popleft())
        return True
