"""Reads pages until the last, however the service marks it, and yields no lead twice if the list changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

from .models import Lead, Page

REMEMBERED_LEADS = 50_000
"""So many leads are remembered to show none twice; a list does not shift further than that."""
STALE_PAGES = 10
"""So many pages without a new lead end a list that would never end."""


Fetch = Callable[..., Awaitable[Page[Lead]]]
"""Reads the page at `cursor`, in one request."""


async def pages(fetch: Fetch, *, cursor: str | None) -> AsyncIterator[Page[Lead]]:
    """End at a null, absent, empty or repeated cursor, or an empty page; `next_cursor` is where to resume."""
    cursors, seen, stale = {cursor}, OrderedDict[str, None](), 0
    while stale < STALE_PAGES:
        page = await fetch(cursor=cursor)
        if not page.items:
            return
        fresh: dict[str, Lead] = {}
        for lead in page.items:
            if lead.id not in seen:
                fresh.setdefault(lead.id, lead)
        seen.update(dict.fromkeys(fresh))
        while len(seen) > REMEMBERED_LEADS:
            seen.popitem(last=False)
        stale = 0 if fresh else stale + 1
        cursor = None if page.next_cursor in cursors else page.next_cursor
        yield replace(page, items=tuple(fresh.values()), next_cursor=cursor)
        if cursor is None:
            return
        cursors.add(cursor)
