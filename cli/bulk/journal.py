"""The progress and the report of an import, on disk, so that it continues after any interruption.

The progress is in the state folder: written before a batch is sent, and after its outcome is in the report, each time
atomically. A batch without a response is sent again: the service skips what it has, and says so.
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import hashlib
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cli.bulk.lead_file import LeadFile, Outcome, RowResult
from cli.console.resources import write_private
from shared.storage.private_file import make_private_folder
from shared.text.csv_cells import guarded

HEADING = ("row", "email", "outcome", "reason")
OUTCOMES: tuple[Outcome, ...] = ("added", "skipped", "refused", "unknown")


class ImportBusy(Exception):
    """The same file is being imported into the same sequence right now."""


@dataclass(kw_only=True)
class Journal:
    """How far an import is: `done` is the last row in the report, `sent` the last that may have been sent."""

    path: Path
    done: int = 0
    sent: int = 0
    report: str = ""
    report_size: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def rows(self) -> int:
        return self.counts.total()

    def save(self) -> None:
        """Write it to disk before this returns."""
        stored = {name: value for name, value in vars(self).items() if name != "path"}
        write_private(self.path, json.dumps(stored))

    def remove(self) -> None:
        """Delete it, and what a process that was killed while it wrote left behind."""
        unfinished = self.path.parent.glob(f".{self.path.name}.*")
        for path in (*unfinished, self.path, self.path.with_suffix(".lock")):
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def open_journal(folder: Path, file: LeadFile, *, target: Sequence[str]) -> Iterator[Journal]:
    """The journal of these very bytes, columns and target, for this process alone; raises `ImportBusy`."""
    parts = [file.fingerprint, file.encoding, file.delimiter, file.titles, file.fields, target]
    name = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
    make_private_folder(folder)
    lock = os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    path = folder / f"{name}.json"
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            stored = json.loads(path.read_text())
            journal = Journal(path=path, **{**stored, "counts": Counter(stored["counts"])})
        except (OSError, ValueError, TypeError, KeyError):
            # None, or unreadable: from the start, where what is there already is skipped.
            journal = Journal(path=path)
        yield journal
    except BlockingIOError:
        raise ImportBusy(str(ImportBusy.__doc__)) from None
    finally:
        os.close(lock)


class Report:
    """The report file: appended batch by batch, cut back to what was committed when a run goes on."""

    def __init__(self, journal: Journal, *, source: Path, wanted: Path | None) -> None:
        """Open the journal's, or a new file; raises `FileExistsError` rather than overwrite one."""
        path, size = Path(journal.report), 0
        if journal.report and path.exists():
            size = min(journal.report_size, path.stat().st_size)
        else:
            path = (wanted or _free_path(source)).absolute()
            if path.exists():
                raise FileExistsError(f"{path} already exists. Use another file with --report.")
            journal.report, journal.report_size = str(path), 0
            journal.save()
        self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        self._file.truncate(size)
        self._file.seek(size)
        if not size:
            self._write([HEADING])

    def append(self, results: Iterable[RowResult]) -> int:
        """Write the rows to disk and return the size of the file in bytes."""
        self._write((r.row, guarded(r.email), r.kind, guarded(r.reason)) for r in results)
        return self._file.tell()

    def close(self) -> None:
        self._file.close()

    def _write(self, rows: Iterable[Sequence[object]]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text).writerows(rows)
        self._file.write(text.getvalue().encode("utf-8", "replace"))
        self._file.flush()
        os.fsync(self._file.fileno())


def _free_path(source: Path) -> Path:
    """Beside the source: `leads.report.csv`, or with a number where that is taken."""
    path, count = source.with_name(f"{source.stem}.report.csv"), 1
    while path.exists():
        count += 1
        path = source.with_name(f"{source.stem}.report-{count}.csv")
    return path
