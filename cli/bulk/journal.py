"""The report of an import, which is its progress too, on disk, so that it continues after any interruption.

While the import goes on, the report is in the state folder: a row stands in it once its outcome is known. Requests
that were under way are sent again: the service skips what it has, and says so.
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import IO, Literal, NamedTuple

from cli.bulk.lead_file import LeadFile
from cli.console.exit_codes import Failed
from shared.storage.private_file import make_private_folder, replacing
from shared.text.csv_cells import guarded

Outcome = Literal["added", "skipped", "refused", "unknown"]

HEADING = ("row", "email", "outcome", "reason")
OUTCOMES: tuple[Outcome, ...] = ("added", "skipped", "refused", "unknown")


class RowResult(NamedTuple):
    """The outcome of one row."""

    row: int
    email: str
    kind: Outcome
    reason: str = ""


class Journal:
    """The report as far as it is written: `done` is its last row, and `begun` says whether anything was sent."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, file
        self.counts: Counter[str] = Counter()
        self.done = size = 0
        for line in file:
            # What is behind was written by a process that died meanwhile; those rows come again.
            if not line.endswith(b"\n"):
                break
            size += len(line)
            (row,) = csv.reader([line.decode()])
            if row[0].isdecimal():
                self.done = int(row[0])
                self.counts[row[2]] += 1
        file.truncate(size)
        file.seek(size)
        self.begun = size > 0

    @property
    def rows(self) -> int:
        return self.counts.total()

    def begin(self) -> None:
        """Note on disk that the import has begun, before anything is sent."""
        if not self.begun:
            self._append([HEADING])

    def settle(self, results: Sequence[RowResult]) -> None:
        """Write the outcomes, in the order of the rows, to disk before this returns."""
        # A spreadsheet opens the report, and strangers wrote the addresses and reasons in it. Each row is one line.
        self._append(
            [(r.row, guarded(r.email), r.kind, guarded(" ".join(r.reason.split()))) for r in results]
        )
        self.counts.update(result.kind for result in results)
        self.done = results[-1].row

    def finish(self, report: Path) -> None:
        """Put the report in its place, once every row is in it."""
        # It holds the addresses of leads, so it is for its owner alone.
        with replacing(report) as fresh:
            shutil.copyfile(self._path, fresh)
        self._path.unlink()

    def _append(self, rows: Sequence[Sequence[object]]) -> None:
        text = StringIO(newline="")
        csv.writer(text).writerows(rows)
        self._file.write(text.getvalue().encode("utf-8", "replace"))
        self._file.flush()
        os.fsync(self._file.fileno())


@contextlib.contextmanager
def open_journal(folder: Path, file: LeadFile, *, target: Sequence[str]) -> Iterator[Journal]:
    """The journal of these very bytes, columns and target, for this process alone; raises `Failed`."""
    # Read in another way, with `--map` or `--encoding`, the same bytes are other leads.
    parts = [file.fingerprint, file.encoding, file.delimiter, file.titles, file.fields, target]
    path = folder / f"{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]}.csv"
    make_private_folder(folder)
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "rb+") as opened:
        try:
            # The kernel releases it when a process dies, so a crash leaves no lock behind.
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failed("The same file is being imported into the same sequence right now.") from None
        # One that another process finished just now has no name any more, and would be lost.
        if not os.fstat(opened.fileno()).st_nlink:
            raise Failed("The same file was imported just now. Try again.")
        try:
            yield Journal(path, opened)
        finally:
            if not opened.tell():  # nothing has begun
                path.unlink()


def free_path(source: Path) -> Path:
    """A place beside the source: `leads.report.csv`, or with a number where that is taken."""
    path, count = source.with_name(f"{source.stem}.report.csv"), 1
    while path.exists():
        count += 1
        path = source.with_name(f"{source.stem}.report-{count}.csv")
    return path
