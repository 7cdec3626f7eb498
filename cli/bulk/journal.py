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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from cli.bulk.columns import Assignment
from cli.bulk.csv_format import Survey
from cli.bulk.row_reader import RowResult
from cli.console.resources import write_private
from shared.storage.private_file import make_private_folder
from shared.text.csv_cells import guarded

HEADING = ("row", "email", "outcome", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Rows by outcome; `unknown`: sent, but the service didn't report which ones it added."""

    added: int = 0
    skipped: int = 0
    refused: int = 0
    unknown: int = 0

    @property
    def rows(self) -> int:
        return self.added + self.skipped + self.refused + self.unknown

    def with_(self, outcomes: Iterable[RowResult]) -> Tally:
        counts = asdict(self)
        for outcome in outcomes:
            counts[outcome.kind] += 1
        return Tally(**counts)

    def __str__(self) -> str:
        return f"{self.added:,} added, {self.skipped:,} skipped, {self.refused:,} refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """`done`: the last row whose outcome is in the report. `sent`: the last row that may have been sent."""

    done: int = 0
    sent: int = 0
    report: str = ""
    report_size: int = 0
    tally: Tally = field(default_factory=Tally)


class Busy(Exception):
    """The same file is being imported into the same sequence right now."""


class Journal:
    """The progress of one import on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            stored = json.loads(path.read_text())
            self.progress = Progress(**{**stored, "tally": Tally(**stored["tally"])})
        except (OSError, ValueError, TypeError, KeyError):
            # None, or unreadable: from the start, where what is there already is skipped.
            self.progress = Progress()

    def write(self, **changes: object) -> None:
        """Change the progress, on disk before this returns."""
        self.progress = replace(self.progress, **changes)  # type: ignore[arg-type] # the fields of Progress
        write_private(self.path, json.dumps(asdict(self.progress)))

    def close(self) -> None:
        """Remove it, and what a process that was killed while it wrote left behind."""
        unfinished = self.path.parent.glob(f".{self.path.name}.*")
        for path in (*unfinished, self.path, self.path.with_suffix(".lock")):
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def opened(folder: Path, name: str) -> Iterator[Journal]:
    """The journal of an import, for this process alone; raises `Busy`."""
    make_private_folder(folder)
    lock = os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield Journal(folder / f"{name}.json")
    except BlockingIOError:
        raise Busy(str(Busy.__doc__).partition("\n")[0]) from None
    finally:
        os.close(lock)


def key(survey: Survey, assignments: Sequence[Assignment], *, workspace: str, sequence: str) -> str:
    """Names an import: the very same bytes, columns, workspace and sequence."""
    fields = [[a.title, a.field] for a in assignments]
    parts = [survey.fingerprint, survey.encoding, survey.delimiter, fields, workspace, sequence]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


class Report:
    """The report file: appended batch by batch, cut back to what was committed when a run goes on."""

    def __init__(self, journal: Journal, *, source: Path, wanted: Path | None) -> None:
        """The one that the journal knows, or a new file; raises `FileExistsError` rather than overwrite one."""
        self.path, size = Path(journal.progress.report), 0
        if journal.progress.report and self.path.exists():
            size = min(journal.progress.report_size, self.path.stat().st_size)
        else:
            self.path = (wanted or _free(source)).absolute()
            if self.path.exists():
                raise FileExistsError(f"{self.path} already exists. Use another file with --report.")
            journal.write(report=str(self.path), report_size=0)
        self._file = os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        self._file.truncate(size)
        self._file.seek(size)
        if not size:
            self._write([HEADING])

    @property
    def size(self) -> int:
        """The size in bytes, all of them on disk."""
        return self._file.tell()

    def append(self, outcomes: Iterable[RowResult]) -> None:
        self._write((o.row, guarded(o.email), o.kind, guarded(o.reason)) for o in outcomes)

    def close(self) -> None:
        self._file.close()

    def _write(self, rows: Iterable[Sequence[object]]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text).writerows(rows)
        self._file.write(text.getvalue().encode("utf-8", "replace"))
        self._file.flush()
        os.fsync(self._file.fileno())


def _free(source: Path) -> Path:
    """Beside the source: `leads.report.csv`, or with a number where that is taken."""
    path, count = source.with_name(f"{source.stem}.report.csv"), 1
    while path.exists():
        count += 1
        path = source.with_name(f"{source.stem}.report-{count}.csv")
    return path
