"""Sends the rest of a file in several concurrent batches, completed in order, and finds the bad lead of a failed batch."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path

from cli.bulk.checkpoint import Journal, Report, Tally, outcomes
from cli.bulk.csv_format import Survey
from cli.bulk.row_reader import Batch, Candidate, Reader, RowResult
from cli.console import exit_codes
from cli.console.progress import ProgressCallback, ProgressUpdate
from shared.api.errors import InvalidRequest
from shared.api.models import AddResult

UNDER_WAY = 8
"""Enough for 10 requests a second while each takes up to 0.8 s."""

Add = Callable[[Sequence[dict[str, str]]], Awaitable[AddResult]]
Settle = Callable[[Batch, Sequence[RowResult]], None]
_UnderWay = tuple[Batch, asyncio.Task[list[RowResult]]]


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
    settled = await task
    under_way.popleft()
    settle(batch, settled)


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


class Run:
    """Keeps journal and report in step: the report first, then the journal that says how much of it counts."""

    def __init__(
        self, journal: Journal, report: Report, reader: Reader, *, size: int, show: ProgressCallback
    ) -> None:
        self._journal = journal
        self._report = report
        self._reader = reader
        self._size = size
        self._show = show

    @property
    def tally(self) -> Tally:
        return self._journal.progress.tally

    async def send(self, add: Add, *, stop: asyncio.Event) -> bool:
        """Send what is left; False when it was stopped. Raises what `add` raises."""
        before = self._journal.progress
        if before.done:
            exit_codes.print_error(f"continuing after row {before.done:,}, where it was interrupted")
        return await send_all(
            self._reader.batches(after=before.done),
            add=add,
            announce=self._announce,
            settle=self._settle,
            stop=stop,
            sent_before=before.sent,
        )

    def _announce(self, batch: Batch) -> None:
        if batch.last_row > self._journal.progress.sent:
            self._journal.write(sent=batch.last_row)

    def _settle(self, batch: Batch, outcomes: Sequence[RowResult]) -> None:
        """The outcome of the rows is known, and not requested again."""
        self._report.append(outcomes)
        tally = self.tally.with_(outcomes)
        self._journal.write(done=batch.last_row, report_size=self._report.size, tally=tally)
        detail = f"{tally.added:,} added, {tally.skipped:,} skipped, {tally.refused:,} refused"
        self._show(
            ProgressUpdate(count=tally.rows, what="rows", part=batch.position / self._size, detail=detail)
        )


def open_report(journal: Journal, *, survey: Survey, wanted: Path | None) -> Report:
    """The report that the journal knows, or a new file; raises `FileExistsError` rather than overwrite one."""
    progress = journal.progress
    if progress.report and Path(progress.report).exists():
        path = Path(progress.report)
        return Report(path, size=min(progress.report_size, path.stat().st_size))
    path = (wanted or _free(survey.path)).absolute()
    if path.exists():
        raise FileExistsError(f"{path} already exists. Use another file with --report.")
    journal.write(report=str(path), report_size=0)
    return Report(path)


def _free(source: Path) -> Path:
    """Beside the source: `leads.report.csv`, or with a number where that is taken."""
    path, count = source.with_name(f"{source.stem}.report.csv"), 1
    while path.exists():
        count += 1
        path = source.with_name(f"{source.stem}.report-{count}.csv")
    return path
