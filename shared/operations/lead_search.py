"""Searches for a lead. The service has no search, so likely leads are read first, then all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from shared.api.http.rate_limit import Priority
from shared.api.models import Lead, LeadStatus, Page
from shared.operations.context import CommandContext

PAGE = 100
PAGES_FIRST = 20
"""Pages of a search with priority; later pages must not delay other requests."""
PAGES_LIKELY = 5
"""Pages of the interested leads, and of the sequence's, before all leads are gone through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The leads that were found, among how many, and whether those were all."""

    found: tuple[Lead, ...]
    looked_at: int
    complete: bool


async def search(who: str, *, context: CommandContext, sequence_id: str | None = None) -> Search:
    """Look for an address, an id or a name; ends with the page that has it.

    The interested leads come first, then those of the sequence, then the newest of all.
    """
    seen: set[str] = set()
    likely: list[tuple[str | None, LeadStatus | None]] = [(None, "interested")]
    likely += [(sequence_id, None)] if sequence_id else []
    for sequence, status in likely:
        pages = context.client.iter_pages(
            sequence_id=sequence, status=status, page_size=PAGE, priority=Priority.INTERACTIVE
        )
        found, _ = await _look(pages, who, context=context, seen=seen, most=PAGES_LIKELY)
        if found:
            return Search(found=found, looked_at=len(seen), complete=False)
    found, complete = await _look(_all(context), who, context=context, seen=seen, most=context.pages_searched)
    return Search(found=found, looked_at=len(seen), complete=complete)


async def _look(
    pages: AsyncIterator[Page[Lead]], who: str, *, context: CommandContext, seen: set[str], most: int
) -> tuple[tuple[Lead, ...], bool]:
    """Those of the first page that has any, and whether that was the last page."""
    number = 0
    async for page in pages:
        number += 1
        seen.update(lead.id for lead in page.items)
        context.progress(len(seen))
        found = tuple(lead for lead in page.items if _is(lead, who))
        if found or number == most:
            return found, page.next_cursor is None
    return (), True


async def _all(context: CommandContext) -> AsyncIterator[Page[Lead]]:
    left, cursor = PAGES_FIRST, None
    async for page in context.client.iter_pages(page_size=PAGE, priority=Priority.INTERACTIVE):
        left, cursor = left - 1, page.next_cursor
        yield page
        if not left:
            break
    if cursor is not None:
        async for page in context.client.iter_pages(page_size=PAGE, cursor=cursor, priority=Priority.NORMAL):
            yield page


def _is(lead: Lead, who: str) -> bool:
    if lead.id == who or (lead.email or "").casefold() == who.casefold():
        return True
    return "@" not in who and _is_named(lead, who.casefold().split())


def _is_named(lead: Lead, words: Sequence[str]) -> bool:
    """Whether each word begins one of the lead's names."""
    names = f"{lead.first_name or ''} {lead.last_name or ''}".casefold().split()
    return bool(words) and all(any(name.startswith(word) for name in names) for word in words)
