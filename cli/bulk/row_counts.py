"""What became of the rows: the counts of a run, and the report that says it of each row."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from cli.bulk.csv_format import guarded
from cli.bulk.row_reader import Candidate, Outcome
from shared.api.models import AddResult, Skipped

HEADING = ("row", "email", "outcome", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Rows by what became of them; `unknown`: sent, but the service did not say which of them it took."""

    added: int = 0
    skipped: int = 0
    refused: int = 0
    unknown: int = 0

    @property
    def rows(self) -> int:
        return self.added + self.skipped + self.refused + self.unknown

    def with_(self, outcomes: Iterable[Outcome]) -> Self:
        counts = Counter(outcome.kind for outcome in outcomes)
        return type(self)(**{word: count + counts[word] for word, count in asdict(self).items()})  # type: ignore[index] # the fields are the words


def outcomes(leads: Sequence[Candidate], result: AddResult, *, again: bool = False) -> Iterator[Outcome]:
    """What became of each lead of one request.

    `again`: the rows may have been sent before an interruption, so what is skipped may be our own doing.
    """
    if result.added is not None and result.added == len(leads):
        yield from (Outcome(c.row, c.email, "added") for c in leads)
        return
    named: dict[str, list[Skipped]] = {}
    for skipped in result.skipped:
        named.setdefault((skipped.email or "").casefold(), []).append(skipped)
    tellable = "" not in named and (result.added is None or result.added + len(result.skipped) == len(leads))
    note = "; sent before the interruption, perhaps added then" if again or result.repeated else ""
    told = []
    for candidate in reversed(leads):  # of two rows with one address the later is the duplicate
        reasons = named.get(candidate.email.casefold())
        if reasons:
            reason = (reasons.pop().reason or "no reason given") + note
            told.append(Outcome(candidate.row, candidate.email, "skipped", reason))
        else:
            told.append(Outcome(candidate.row, candidate.email, "added" if tellable else "unknown"))
    yield from reversed(told)


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

    def append(self, outcomes: Iterable[Outcome]) -> None:
        self._write((o.row, guarded(o.email), o.kind, guarded(o.reason)) for o in outcomes)

    def close(self) -> None:
        self._file.close()

    def _write(self, rows: Iterable[Sequence[object]]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text).writerows(rows)
        self._file.write(text.getvalue().encode("utf-8", "replace"))
        self._file.flush()
        os.fsync(self._file.fileno())
