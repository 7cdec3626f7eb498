"""Reads the rows of a file in constant memory: leads to send, or rejections with reasons."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Literal, NamedTuple

from cli.bulk.columns import Assignment
from cli.bulk.csv_format import Survey, Unusable, lenient
from shared.text.csv_cells import unguarded

OutcomeKind = Literal["added", "skipped", "refused", "unknown"]

BATCH = 1000
"""Leads in one request at most."""
_LOCAL = re.compile(r"[^\s@<>(),:;\\\"\[\]\x00-\x1f\x7f]{1,64}")
_LABEL = re.compile(r"[^\W_](?:[\w-]{0,61}[^\W_])?")
_TOP = re.compile(r"[^\W\d_]{2,63}|xn--[a-z0-9-]{1,59}", re.IGNORECASE)
LONGEST_ADDRESS = 254
_UNREADABLE = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A row that can be sent; `row` counts the records of the file from 1, the header included."""

    row: int
    lead: dict[str, str]

    @property
    def email(self) -> str:
        return self.lead["email"]


class RowResult(NamedTuple):
    """The outcome of one row."""

    row: int
    email: str
    kind: OutcomeKind
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Up to 1,000 leads, the refusals among and after them, and where the file was then."""

    leads: tuple[Candidate, ...]
    refusals: tuple[RowResult, ...]
    last_row: int
    position: int
    """The place in the file, in bytes, for the progress."""


class Reader:
    """Reads the file of a survey with its assignments."""

    def __init__(self, survey: Survey, assignments: Sequence[Assignment]) -> None:
        self._survey = survey
        self._fields = tuple((place, a.field) for place, a in enumerate(assignments) if a.field)
        self._address = next(place for place, field in self._fields if field == "email")
        self._width = len(assignments)
        self._file: BinaryIO | None = None

    def batches(self, *, after: int = 0, size: int = BATCH) -> Iterator[Batch]:
        """Batches of the rows after row `after`; raises `Unusable` where the file is broken."""
        leads: list[Candidate] = []
        refusals: list[RowResult] = []
        row = after
        for row, found in self._judged(after):
            if isinstance(found, Candidate):
                leads.append(found)
            else:
                refusals.append(found)
            if len(leads) == size or len(refusals) == size:
                yield self._batch(leads, refusals, last_row=row)
                leads, refusals = [], []
        if leads or refusals:
            yield self._batch(leads, refusals, last_row=row)

    def _batch(self, leads: Iterable[Candidate], refusals: Iterable[RowResult], *, last_row: int) -> Batch:
        file = self._file
        position = file.tell() if file and not file.closed else self._survey.size
        return Batch(leads=tuple(leads), refusals=tuple(refusals), last_row=last_row, position=position)

    def _judged(self, after: int) -> Iterator[tuple[int, Candidate | RowResult]]:
        for row, cells in self._records():
            if row > max(after, self._survey.before) and any(cells):
                yield row, self._judge(row, cells)

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        survey, row = self._survey, 0
        encoding = survey.encoding
        with (
            survey.path.open("rb") as raw,
            io.TextIOWrapper(raw, encoding=encoding, errors=lenient(encoding), newline="") as text,
        ):
            self._file = raw
            records = csv.reader(text, delimiter=survey.delimiter, quotechar=survey.quote)
            try:
                for row, cells in enumerate(records, start=1):
                    yield row, cells
            except csv.Error as fault:
                unclosed = "a cell has more than 131,072 characters. Is its closing quote missing?"
                why = unclosed if "field larger" in str(fault) else str(fault)
                raise Unusable(f"{survey.path}, row {row + 1}: {why}") from None
            except UnicodeDecodeError:
                raise Unusable(f"{survey.path}, row {row + 1}: the text is not {encoding}") from None

    def _judge(self, row: int, cells: list[str]) -> Candidate | RowResult:
        address = _address_of(cells[self._address]) if self._address < len(cells) else ""
        if reason := self._fault(cells) or address_fault(address):
            return RowResult(row, address, "refused", reason)
        lead = {
            field: value
            for place, field in self._fields
            if place < len(cells) and (value := unguarded(cells[place].strip()))
        }
        return Candidate(row=row, lead={**lead, "email": address})

    def _fault(self, cells: list[str]) -> str | None:
        if len(cells) > self._width and any(cell.strip() for cell in cells[self._width :]):
            return (
                f"has {len(cells)} cells where the header has {self._width}. Is a quote or delimiter missing?"
            )
        if not self._survey.sound and any(map(_UNREADABLE.search, cells)):
            return f"has bytes that aren't {self._survey.encoding}"
        return None


def _address_of(text: str) -> str:
    """The address without the space around it and a leading `mailto:`."""
    text = text.strip()
    return text[7:] if text[:7].lower() == "mailto:" else text


def address_fault(address: str) -> str | None:
    """Return what is wrong with an address, as a reason to show; None if it can be sent."""
    if not address:
        return "no email address"
    local, at, domain = address.rpartition("@")
    if not at or not _LOCAL.fullmatch(local) or ".." in local or local[0] == "." or local[-1] == ".":
        return "not an email address"
    labels = domain.split(".")
    are_labels = len(labels) > 1 and all(map(_LABEL.fullmatch, labels))
    if not are_labels or not _TOP.fullmatch(labels[-1]):
        return "not an email domain"
    return "too long for an email address" if len(address) > LONGEST_ADDRESS else None
