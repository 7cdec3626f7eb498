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
from typing import Literal, NamedTuple

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


@dataclass(kw_only=True)
class Journal:
    """The progress of an import: `done` is the last row in the report, `sent` the last that may have been sent."""

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
        with replacing(self.path) as fresh:
            fresh.write_text(json.dumps(stored))

    def settle(self, last_row: int, results: Sequence[RowResult]) -> None:
        """Write the report first, and then the journal, which says how much of the report counts."""
        # A spreadsheet opens the report, and strangers wrote the addresses and reasons in it.
        self._append((r.row, guarded(r.email), r.kind, guarded(r.reason)) for r in results)
        self.done = last_row
        self.counts.update(result.kind for result in results)
        self.save()

    def open_report(self, *, source: Path, wanted: Path | None) -> None:
        """Cut the report back to what counts, or begin a new one; raises `FileExistsError` rather than overwrite."""
        if self.report and Path(self.report).exists():
            # What is behind was written by a process that died before its journal; those rows come again.
            os.truncate(self.report, min(self.report_size, Path(self.report).stat().st_size))
            return
        path = (wanted or _free_path(source)).absolute()
        if path.exists():
            raise FileExistsError(f"{path} already exists. Use another file with --report.")
        self.report = str(path)
        self._append([HEADING])
        self.save()

    def remove(self) -> None:
        """Delete it, and what a process that was killed while it wrote left behind."""
        unfinished = self.path.parent.glob(f".{self.path.name}.*")
        for path in (*unfinished, self.path, self.path.with_suffix(".lock")):
            path.unlink(missing_ok=True)

    def _append(self, rows: Iterable[Sequence[object]]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text).writerows(rows)
        # It holds the addresses of leads, so it is for its owner alone.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with os.fdopen(os.open(self.report, flags, 0o600), "ab") as file:
            file.write(text.getvalue().encode("utf-8", "replace"))
            # On disk before the journal counts it.
            file.flush()
            os.fsync(file.fileno())
            self.report_size = file.tell()


@contextlib.contextmanager
def open_journal(folder: Path, file: LeadFile, *, target: Sequence[str]) -> Iterator[Journal]:
    """The journal of these very bytes, columns and target, for this process alone; raises `Failed`."""
    # Read in another way, with `--map` or `--encoding`, the same bytes are other leads.
    parts = [file.fingerprint, file.encoding, file.delimiter, file.titles, file.fields, target]
    name = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
    make_private_folder(folder)
    lock = os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    path = folder / f"{name}.json"
    try:
        # The kernel releases it when a process dies, so a crash leaves no lock behind.
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            stored = json.loads(path.read_text())
            journal = Journal(path=path, **{**stored, "counts": Counter(stored["counts"])})
        except (OSError, ValueError, TypeError, KeyError):
            # None, or unreadable: from the start, where what is there already is skipped.
            journal = Journal(path=path)
        yield journal
    except BlockingIOError:
        raise Failed("The same file is being imported into the same sequence right now.") from None
    finally:
        os.close(lock)


def _free_path(source: Path) -> Path:
    """Beside the source: `leads.report.csv`, or with a number where that is taken."""
    path, count = source.with_name(f"{source.stem}.report.csv"), 1
    while path.exists():
        count += 1
        path = source.with_name(f"{source.stem}.report-{count}.csv")
    return path
