"""One run of an import: from where the journal stands to the end of the file, or to where it is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from cli.bulk.batch_sender import Add, send_all
from cli.bulk.checkpoint import Journal
from cli.bulk.csv_format import Survey
from cli.bulk.row_counts import Report, Tally
from cli.bulk.row_reader import Batch, Outcome, Reader
from cli.console import exit_codes
from cli.console.progress import Mark, Show


class Run:
    """Keeps journal and report in step: the report first, then the journal that says how much of it counts."""

    def __init__(self, book: Journal, report: Report, reader: Reader, *, size: int, show: Show) -> None:
        self._book = book
        self._report = report
        self._reader = reader
        self._size = size
        self._show = show

    @property
    def tally(self) -> Tally:
        return self._book.progress.tally

    async def send(self, add: Add, *, stop: asyncio.Event) -> bool:
        """Send what is left; False when it was stopped. Raises what `add` raises."""
        before = self._book.progress
        if before.done:
            exit_codes.complain(f"going on after row {before.done:,}, where it was interrupted")
        return await send_all(
            self._reader.batches(after=before.done),
            add=add,
            announce=self._announce,
            settle=self._settle,
            stop=stop,
            sent_before=before.sent,
        )

    def _announce(self, batch: Batch) -> None:
        if batch.last_row > self._book.progress.sent:
            self._book.write(sent=batch.last_row)

    def _settle(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """What became of the rows is known, and is not asked again."""
        self._report.append(outcomes)
        tally = self.tally.with_(outcomes)
        self._book.write(done=batch.last_row, report_size=self._report.size, tally=tally)
        story = f"{tally.added:,} added, {tally.skipped:,} skipped, {tally.refused:,} refused"
        self._show(Mark(count=tally.rows, what="rows", part=batch.position / self._size, story=story))


def open_report(book: Journal, *, survey: Survey, wanted: Path | None) -> Report:
    """The report that the journal knows, or a new file; raises `FileExistsError` rather than overwrite one."""
    progress = book.progress
    if progress.report and Path(progress.report).exists():
        path = Path(progress.report)
        return Report(path, size=min(progress.report_size, path.stat().st_size))
    path = (wanted or _free(survey.path)).absolute()
    if path.exists():
        raise FileExistsError(f"{path} is there already; name another file with --report")
    book.write(report=str(path), report_size=0)
    return Report(path)


def _free(source: Path) -> Path:
    """Beside the source: `leads.report.csv`, or with a number where that is taken."""
    path, count = source.with_name(f"{source.stem}.report.csv"), 1
    while path.exists():
        count += 1
        path = source.with_name(f"{source.stem}.report-{count}.csv")
    return path
