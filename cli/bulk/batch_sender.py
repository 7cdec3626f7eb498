"""Send batches with several under way, settle them in the order of the file, and find the bad lead in a bad batch."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence

from cli.bulk.row_counts import outcomes
from cli.bulk.row_reader import Batch, Candidate, Outcome
from shared.api.errors import InvalidRequest
from shared.api.models import AddResult

UNDER_WAY = 8
"""Enough for 10 requests a second while each takes up to 0.8 s."""

Add = Callable[[Sequence[dict[str, str]]], Awaitable[AddResult]]
Settle = Callable[[Batch, Sequence[Outcome]], None]
_UnderWay = tuple[Batch, asyncio.Task[list[Outcome]]]


async def send_all(
    batches: Iterable[Batch],
    *,
    add: Add,
    announce: Callable[[Batch], None],
    settle: Settle,
    stop: asyncio.Event,
    sent_before: int = 0,
) -> bool:
    """Send every batch; `announce` before each is sent, `settle` after, in order. False when it was stopped.

    `sent_before`: up to this row, rows may have been sent by an earlier run. Raises what `add` raises.
    """
    under_way: deque[_UnderWay] = deque()
    stopped = False
    try:
        for batch in batches:
            if stopped := stop.is_set():
                break
            announce(batch)
            sending = _outcomes(batch, add=add, sent_before=sent_before)
            under_way.append((batch, asyncio.create_task(sending, name=f"rows to {batch.last_row}")))
            if len(under_way) >= UNDER_WAY:
                await _settle_oldest(under_way, settle)
        while under_way:
            await _settle_oldest(under_way, settle)
    finally:
        for _, task in under_way:
            task.cancel()
        await asyncio.gather(*(task for _, task in under_way), return_exceptions=True)
    return not stopped


async def _settle_oldest(under_way: deque[_UnderWay], settle: Settle) -> None:
    batch, task = under_way[0]
    told = await task
    under_way.popleft()
    settle(batch, told)


async def _outcomes(batch: Batch, *, add: Add, sent_before: int) -> list[Outcome]:
    """Of all rows of a batch, in the order of the file."""
    if not batch.leads:
        return list(batch.refusals)
    added = await _added(batch.leads, add=add, again=batch.leads[0].row <= sent_before)
    return sorted([*batch.refusals, *added])


async def _added(leads: Sequence[Candidate], *, add: Add, again: bool) -> list[Outcome]:
    """One bad lead fails a whole request: then each half is tried alone, until it stands alone."""
    try:
        result = await add([candidate.lead for candidate in leads])
    except InvalidRequest as refusal:
        if _concerns_all(refusal):
            raise
        if len(leads) == 1:
            return [Outcome(leads[0].row, leads[0].email, "refused", f"by the service: {refusal.message}")]
        middle = len(leads) // 2
        first = await _added(leads[:middle], add=add, again=again)
        return first + await _added(leads[middle:], add=add, again=again)
    return list(outcomes(leads, result, again=again))


def _concerns_all(refusal: InvalidRequest) -> bool:
    return (refusal.field or "").startswith("sequence")
