"""How far an import came, kept beside the program's state, so that it goes on where it was interrupted.

Written before a batch is sent and after its outcome is in the report; each time whole, beside and then in its
place. What was sent and not yet answered is sent again: the service skips what it has, and says so.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from cli.bulk.columns import Assignment
from cli.bulk.csv_format import Survey
from cli.bulk.row_counts import Tally
from cli.console.resources import write_private


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
        self.path.unlink(missing_ok=True)
        self.path.with_suffix(".lock").unlink(missing_ok=True)

    def _read(self) -> Progress:
        try:
            told = json.loads(self.path.read_text())
            return Progress(**{**told, "tally": Tally(**told["tally"])})
        except (OSError, ValueError, TypeError, KeyError):
            return Progress()  # none, or unreadable: from the start, where what is there already is skipped


def key(survey: Survey, assignments: Sequence[Assignment], *, workspace: str, sequence: str) -> str:
    """Names an import: the very same bytes, columns, workspace and sequence."""
    fields = [[a.title, a.field] for a in assignments]
    told = json.dumps([survey.fingerprint, survey.encoding, survey.delimiter, fields, workspace, sequence])
    return hashlib.sha256(told.encode()).hexdigest()[:24]


@contextlib.contextmanager
def opened(folder: Path, name: str) -> Iterator[Journal]:
    """The journal of an import, for this process alone; raises `Busy`."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield Journal(folder / f"{name}.json")
    except BlockingIOError:
        raise Busy(str(Busy.__doc__).partition("\n")[0]) from None
    finally:
        os.close(lock)
