"""The outcome of rows: counts, the report of each row, and the progress of an import.

The progress is stored in the state folder, so that an import continues after an interruption. It is written before a
batch is sent and after its outcome is in the report, each time atomically. A batch without a response is sent again: the service skips what it has, and says so.
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
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Self

from cli.bulk.columns import Assignment
from cli.bulk.csv_format import Survey
from cli.bulk.row_reader import Candidate, RowResult
from cli.console.resources import write_private
from shared.api.models import AddResult, Skipped
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

    def with_(self, outcomes: Iterable[RowResult]) -> Self:
        counts = Counter(outcome.kind for outcome in outcomes)
        return type(self)(**{word: count + counts[word] for word, count in asdict(self).items()})  # type: ignore[index] # the fields are the words


def outcomes(leads: Sequence[Candidate], result: AddResult, *, again: bool = False) -> Iterator[RowResult]:
    """What became of each lead of one request.

    `again`: the rows may have been sent before an interruption, so what is skipped may be our own doing.
    """
    if result.added is not None and result.added == len(leads):
        yield from (RowResult(c.row, c.email, "added") for c in leads)
        return
    named: dict[str, list[Skipped]] = {}
    for skipped in result.skipped:
        named.setdefault((skipped.email or "").casefold(), []).append(skipped)
    all_named = "" not in named and (result.added is None or result.added + len(result.skipped) == len(leads))
    note = "; sent before the interruption and possibly added" if again or result.repeated else ""
    found = []
    for candidate in reversed(leads):  # of two rows with one address the later is the duplicate
        reasons = named.get(candidate.email.casefold())
        if reasons:
            reason = (reasons.pop().reason or "no reason given") + note
            found.append(RowResult(candidate.row, candidate.email, "skipped", reason))
        else:
            found.append(RowResult(candidate.row, candidate.email, "added" if all_named else "unknown"))
    yield from reversed(found)


class Busy(Exception):
    """The same file is being imported into the same sequence right now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """`done`: the last row whose outcome is in the report. `sent`: the last row that may have been sent."""

    done: int = 0
    sent: int = 0
    report: str = ""
    report_size: int = 0
    tally: Tally = field(default_factory=Tally)


class Journal:
    """The progress of one import on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.progress = self._read()

    def write(self, **changes: object) -> None:
        """Change the progress, on disk before this returns."""
        self.progress = replace(self.progress, **changes)  # type: ignore[arg-type] # the fields of Progress
        write_private(self.path, json.dumps(asdict(self.progress)))

    def close(self) -> None:
        """Remove it, and what a process that was killed while it wrote left behind."""
        for unfinished in self.path.parent.glob(f".{self.path.name}.*"):
            unfinished.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)
        self.path.with_suffix(".lock").unlink(missing_ok=True)

    def _read(self) -> Progress:
        try:
            stored = json.loads(self.path.read_text())
            return Progress(**{**stored, "tally": Tally(**stored["tally"])})
        except (OSError, ValueError, TypeError, KeyError):
            return Progress()  # none, or unreadable: from the start, where what is there already is skipped


def key(survey: Survey, assignments: Sequence[Assignment], *, workspace: str, sequence: str) -> str:
    """Names an import: the very same bytes, columns, workspace and sequence."""
    fields = [[a.title, a.field] for a in assignments]
    parts = [survey.fingerprint, survey.encoding, survey.delimiter, fields, workspace, sequence]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


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


class Report:
    """The report file: appended batch by batch, cut back to what was committed when a run goes on."""

    def __init__(self, path: Path, *, size: int = 0) -> None:
        self.path = path
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self._file = os.fdopen(descriptor, "r+b")
        self._file.truncate(size)
        self._file.seek(size)
        if not size:
            self._write([HEADING])

    @property
    def size(self) -> int:
        """In bytes, all of them on disk."""
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
