"""Searches for a lead. The service has no search, so likely leads are read first, then all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from shared.api.models import Lead, Page
from shared.api.pace import Priority
from shared.api.words import LEAD_STATUSES, LeadStatus
from shared.commands.run import CommandContext

PAGE = 100
PAGES_FIRST = 20
"""Pages of a search with priority; later pages must not delay other requests."""
PAGES_LIKELY = 5
"""Pages of the interested leads, and of the sequence's, before all leads are gone through, and of each status after it."""
INTERESTED: LeadStatus = "interested"
FINAL: tuple[LeadStatus, ...] = (INTERESTED, "replied", "bounced", "unsubscribed", "completed")
"""Statuses with which a lead may be old; of the active ones, the newest have been gone through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The leads that were found, among how many, and whether those were all; else, in which lists."""

    found: tuple[Lead, ...]
    looked_at: int
    complete: bool
    lists: tuple[str, ...] = ()


async def search(
    who: str, *, context: CommandContext, sequence_id: str | None = None, status: str = ""
) -> Search:
    """Look for an address, an id or a name; ends with the page that has it.

    The leads of the status come first, as far as the search reaches at all, or the interested ones; then those of the
    sequence, the newest of all, and where these aren't all, the newest of each status.
    """
    seen: set[str] = set()
    first = next((known for known in LEAD_STATUSES if known == status), INTERESTED)
    lists: list[tuple[LeadStatus | None, str | None, int]] = [
        (first, None, context.pages_searched if status else PAGES_LIKELY)
    ]
    lists += [(None, sequence_id, PAGES_LIKELY)] if sequence_id else []
    names: list[str] = []
    for listed, sequence, most in lists:
        pages = _pages(context, status=listed, sequence_id=sequence)
        found, _ = await _look(pages, who, context=context, seen=seen, most=most)
        names.append(listed or "its sequence's")
        if found:
            return Search(found=found, looked_at=len(seen), complete=False)
    found, complete = await _look(_all(context), who, context=context, seen=seen, most=context.pages_searched)
    if found or complete:
        return Search(found=found, looked_at=len(seen), complete=complete)
    for other in FINAL:
        if other != first:
            pages = _pages(context, status=other)
            found, _ = await _look(pages, who, context=context, seen=seen, most=PAGES_LIKELY)
            names.append(other)
        if found:
            break
    return Search(found=found, looked_at=len(seen), complete=False, lists=tuple(names))


def _pages(
    context: CommandContext, *, status: LeadStatus | None, sequence_id: str | None = None
) -> AsyncIterator[Page[Lead]]:
    return context.client.iter_pages(
        sequence_id=sequence_id, status=status, page_size=PAGE, priority=Priority.INTERACTIVE
    )


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
