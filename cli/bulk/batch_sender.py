"""Sends the rest of a file in several concurrent batches, completed in order, and finds the bad lead of a failed batch."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

from cli.bulk.journal import Journal, Report
from cli.bulk.row_reader import Batch, Candidate, RowResult
from cli.console.progress import ProgressCallback, ProgressUpdate
from shared.api.errors import InvalidRequest
from shared.api.models import AddResult, Skipped

UNDER_WAY = 8
"""Enough for 10 requests a second while each takes up to 0.8 s."""

Add = Callable[[Sequence[dict[str, str]]], Awaitable[AddResult]]
Settle = Callable[[Batch, Sequence[RowResult]], None]


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
    under_way: deque[tuple[Batch, asyncio.Task[list[RowResult]]]] = deque()
    stopped = False
    try:
        for batch in batches:
            if stopped := stop.is_set():
                break
            announce(batch)
            sending = _outcomes(batch, add=add, sent_before=sent_before)
            under_way.append((batch, asyncio.create_task(sending, name=f"rows to {batch.last_row}")))
            if len(under_way) >= UNDER_WAY:
                settle(under_way[0][0], await under_way[0][1])
                under_way.popleft()
        while under_way:
            settle(under_way[0][0], await under_way[0][1])
            under_way.popleft()
    finally:
        for _, task in under_way:
            task.cancel()
        await asyncio.gather(*(task for _, task in under_way), return_exceptions=True)
    return not stopped


async def _outcomes(batch: Batch, *, add: Add, sent_before: int) -> list[RowResult]:
    if not batch.leads:
        return list(batch.refusals)
    added = await _added(batch.leads, add=add, again=batch.leads[0].row <= sent_before)
    return sorted([*batch.refusals, *added])


async def _added(leads: Sequence[Candidate], *, add: Add, again: bool) -> list[RowResult]:
    """One bad lead fails a whole request: then each half is tried alone, until it stands alone."""
    try:
        result = await add([candidate.lead for candidate in leads])
    except InvalidRequest as refusal:
        if (refusal.field or "").startswith("sequence"):  # it concerns them all
            raise
        if len(leads) == 1:
            return [RowResult(leads[0].row, leads[0].email, "refused", f"by the service: {refusal.message}")]
        middle = len(leads) // 2
        first = await _added(leads[:middle], add=add, again=again)
        return first + await _added(leads[middle:], add=add, again=again)
    return list(outcomes(leads, result, again=again))


def outcomes(leads: Sequence[Candidate], result: AddResult, *, again: bool = False) -> Iterator[RowResult]:
    """Return the outcome of each lead of one request.

    `again`: the rows may have been sent before an interruption, so what is skipped may be our own doing.
    """
    if result.added == len(leads):
        yield from (RowResult(c.row, c.email, "added") for c in leads)
        return
    named: defaultdict[str, list[Skipped]] = defaultdict(list)
    for skipped in result.skipped:
        named[(skipped.email or "").casefold()].append(skipped)
    all_named = "" not in named and (result.added is None or result.added + len(result.skipped) == len(leads))
    note = "; sent before the interruption and possibly added" if again or result.repeated else ""
    found = []
    for candidate in reversed(leads):  # of two rows with one address the later is the duplicate
        if reasons := named.get(candidate.email.casefold()):
            reason = (reasons.pop().reason or "no reason given") + note
            found.append(RowResult(candidate.row, candidate.email, "skipped", reason))
        else:
            found.append(RowResult(candidate.row, candidate.email, "added" if all_named else "unknown"))
    yield from reversed(found)


async def send(
    batches: Iterable[Batch],
    journal: Journal,
    report: Report,
    *,
    add: Add,
    stop: asyncio.Event,
    size: int,
    show: ProgressCallback,
) -> bool:
    """Send what is left of a file of so many bytes; False when it was stopped. Raises what `add` raises.

    The report is written first, then the journal, which says how much of it counts.
    """

    def announce(batch: Batch) -> None:
        if batch.last_row > journal.progress.sent:
            journal.write(sent=batch.last_row)

    def settle(batch: Batch, outcomes: Sequence[RowResult]) -> None:
        report.append(outcomes)
        tally = journal.progress.tally.with_(outcomes)
        journal.write(done=batch.last_row, report_size=report.size, tally=tally)
        part = batch.position / size
        show(ProgressUpdate(count=tally.rows, what="rows", part=part, detail=str(tally)))

    sent_before = journal.progress.sent
    return await send_all(
        batches, add=add, announce=announce, settle=settle, stop=stop, sent_before=sent_before
    )
