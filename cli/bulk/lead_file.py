"""Reads a CSV file of leads: its encoding, delimiter and columns, then its rows in batches, in constant memory."""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from shared.text.csv_cells import unguarded

Outcome = Literal["added", "skipped", "refused", "unknown"]

LEADS_PER_REQUEST = 1000
CHUNK_BYTES = 1 << 20
SAMPLE_BYTES = 1 << 16
SAMPLE_ROWS = 50
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
LEFT_OUT = "-"
SERVICES_OWN = {"id", "leadid", "status", "leadstatus", "sequenceid", "createdat", "updatedat"}
"""Columns of an exported file that comes back: they must not become custom fields."""
TITLES = {
    "email": "email emailaddress mail workemail businessemail emailwork contactemail emailadresse mailadresse "
    "epost correo correoelectronico adresseemail courriel indirizzoemail emailadres",
    "first_name": "firstname first givenname forename vorname nombre prenom nome voornaam imie fornamn fornavn",
    "last_name": "lastname last surname familyname nachname apellido apellidos nomdefamille cognome achternaam",
    "company": "company companyname organization organisation account employer business firma unternehmen empresa "
    "entreprise societe azienda bedrijf",
}
"""The usual titles of the standard fields, as `_key` spells them; `--map` is for all others."""
_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_ADDRESS = re.compile(
    rf"(?!\.)(?!.*\.\.)[^\s@<>(),:;\\\"\[\]\x00-\x1f\x7f]{{1,64}}(?<!\.)@(?:{_LABEL}\.)+(?!\d+$){_LABEL}"
)
LONGEST_ADDRESS = 254
_UNREADABLE = re.compile("[\udc80-\udcff]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


class UnusableFile(Exception):
    """The file can't be read as CSV; the text says why."""


class UnclearColumns(Exception):
    """No column holds the addresses, or a `--map` names a column that isn't there."""


@dataclass(frozen=True, slots=True)
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
    kind: Outcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """Up to 1,000 leads, and the rows among them that can't be sent; `position` is in bytes, for the progress."""

    leads: Sequence[Candidate]
    refusals: Sequence[RowResult]
    last_row: int
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadFile:
    """A file whose format and columns were told from its beginning. `fields` has None for a column left out."""

    path: Path
    size: int
    fingerprint: str
    encoding: str
    has_damage: bool
    delimiter: str
    titles: tuple[str, ...]
    fields: tuple[str | None, ...]
    rows_before: int
    sample: tuple[tuple[str, ...], ...]

    def batches(self, *, after: int = 0) -> Iterator[Batch]:
        """The rows after row `after`. Raises `UnusableFile` where the file is broken."""
        leads: list[Candidate] = []
        refusals: list[RowResult] = []
        row, position = after, self.size
        errors = _error_handler(self.encoding)
        with (
            self.path.open("rb") as raw,
            io.TextIOWrapper(raw, self.encoding, errors=errors, newline="") as text,
        ):
            try:
                for row, cells in enumerate(csv.reader(text, delimiter=self.delimiter), start=1):
                    if row <= max(after, self.rows_before) or not any(cells):
                        continue
                    judged = self._judge(row, cells)
                    if isinstance(judged, Candidate):
                        leads.append(judged)
                    else:
                        refusals.append(judged)
                    if LEADS_PER_REQUEST in {len(leads), len(refusals)}:
                        yield Batch(leads, refusals, row, raw.tell())
                        leads, refusals = [], []
            except (csv.Error, UnicodeDecodeError) as fault:
                why = str(fault)
                if "field larger" in why:
                    why = "a cell has more than 131,072 characters. Is its closing quote missing?"
                raise UnusableFile(f"{self.path}, row {row + 1}: {why}") from None
        if leads or refusals:
            yield Batch(leads, refusals, row, position)

    def _judge(self, row: int, cells: Sequence[str]) -> Candidate | RowResult:
        lead = {
            field: value
            for field, cell in zip(self.fields, cells, strict=False)
            if field and (value := unguarded(cell.strip()))
        }
        email = lead.get("email", "")
        lead["email"] = email = email[7:] if email[:7].lower() == "mailto:" else email
        reason = self._fault(cells, email)
        return RowResult(row, email, "refused", reason) if reason else Candidate(row, lead)

    def _fault(self, cells: Sequence[str], email: str) -> str:
        width = len(self.fields)
        if any(cell.strip() for cell in cells[width:]):
            return f"has {len(cells)} cells where the header has {width}. Is a quote or delimiter missing?"
        if self.has_damage and any(map(_UNREADABLE.search, cells)):
            return f"has bytes that aren't {self.encoding}"
        if not email:
            return "no email address"
        is_address = len(email) <= LONGEST_ADDRESS and _ADDRESS.fullmatch(email)
        return "" if is_address else "not an email address"


def read_lead_file(path: Path, *, encoding: str | None, pairs: Iterable[str] = ()) -> LeadFile:
    """Read the whole file once, since an import continues with the very same bytes only, and judge its beginning.

    Raises `UnusableFile` and `UnclearColumns`, or `OSError` where the file can't be read at all.
    """
    digest, size, start, damaged, foreign = hashlib.sha256(), 0, b"", 0, 0
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    with path.open("rb") as file:
        while True:
            chunk = file.read(CHUNK_BYTES)
            text = decoder.decode(chunk, final=not chunk)
            if not text.isascii():
                damaged += len(_UNREADABLE.findall(text))
                foreign += len(_BEYOND_ASCII.findall(text))
            if not chunk:
                break
            start = start or chunk[:SAMPLE_BYTES]
            digest.update(chunk)
            size += len(chunk)
    if start.startswith(b"PK\x03\x04"):
        raise UnusableFile(
            f"{path} is a spreadsheet or an archive. Save the sheet as CSV and import that file."
        )
    marked = next((name for mark, name in BYTE_ORDER_MARKS.items() if start.startswith(mark)), None)
    # A damaged byte here and there doesn't make a UTF-8 file another: its rows are refused alone.
    encoding = encoding or marked or ("utf-8" if foreign >= 2 * damaged else "cp1252")
    beginning = _decoded(start, encoding, path=path, is_whole=size == len(start))
    named = re.match(r"sep=(.)\r?\n", beginning, re.IGNORECASE)  # a line that spreadsheets write and obey
    heading = beginning[named.end() :] if named else beginning
    first_line = heading.lstrip().partition("\n")[0]
    delimiter = named[1] if named else max(DELIMITERS, key=first_line.count)
    reader = csv.reader(io.StringIO(heading, newline=""), delimiter=delimiter)
    try:
        rows = list(islice((tuple(row) for row in reader if any(map(str.strip, row))), SAMPLE_ROWS))
    except csv.Error:  # an open quote is said with its row when the rows are read
        rows = [tuple(row) for row in csv.reader([first_line], delimiter=delimiter)]
    if not rows:
        raise UnusableFile(f"{path} has no rows")
    has_titles = not any("@" in cell for cell in rows[0])
    titles = tuple(cell.strip() if has_titles else f"column {n}" for n, cell in enumerate(rows[0], start=1))
    sample = tuple(tuple(row) for row in rows[has_titles:])
    return LeadFile(
        path=path,
        size=size,
        fingerprint=digest.hexdigest(),
        encoding=encoding,
        has_damage=damaged > 0,
        delimiter=delimiter,
        titles=titles,
        fields=assign_fields(titles, sample, pairs),
        rows_before=bool(named) + has_titles,
        sample=sample,
    )


def _decoded(start: bytes, encoding: str, *, path: Path, is_whole: bool) -> str:
    try:
        decoder = codecs.getincrementaldecoder(encoding)(_error_handler(encoding))
        return decoder.decode(start, final=is_whole)
    except UnicodeDecodeError:
        raise UnusableFile(f"{path} is not {encoding}. Set the right one with --encoding.") from None
    except LookupError:
        raise UnusableFile(f"unknown encoding {encoding}. Try utf-8, cp1252, utf-16, shift_jis …") from None


def _error_handler(encoding: str) -> str:
    """Keep bytes that fit no character, so that their row can be refused alone."""
    return "strict" if encoding.lower().startswith(("utf-16", "utf-32")) else "surrogateescape"


def assign_fields(
    titles: Sequence[str], sample: Sequence[Sequence[str]], pairs: Iterable[str]
) -> tuple[str | None, ...]:
    """The field that each column fills, by `--map COLUMN=FIELD`, by its title, or by its cells."""
    chosen = _chosen(titles, pairs)
    taken = set(chosen.values())
    fields: list[str | None] = []
    for place, title in enumerate(titles):
        field = chosen.get(place) or _guess(title, taken)
        if place not in chosen and field in taken - {LEFT_OUT}:
            field = f"{field} {place + 1}"
        taken.add(field)
        fields.append(None if field == LEFT_OUT else field)
    if "email" not in fields:
        counts = [
            sum("@" in row[place] for row in sample if place < len(row)) for place in range(len(titles))
        ]
        best = max(range(len(titles)), key=counts.__getitem__)
        if not counts[best] or counts[best] * 2 < len(sample):
            listed = ", ".join(f"“{title}”" for title in titles)
            raise UnclearColumns(
                f"no column contains email addresses; the file has {listed}. Choose one with --map COLUMN=email"
            )
        fields[best] = "email"
    return tuple(fields)


def _guess(title: str, taken: set[str]) -> str:
    key = _key(title)
    if not key or key in SERVICES_OWN:
        return LEFT_OUT
    for field, usual in TITLES.items():
        if key in usual.split() and field not in taken:
            return field
    return title


def _chosen(titles: Sequence[str], pairs: Iterable[str]) -> dict[int, str]:
    """The fields by the places of their columns; a column is named by its title or its number from 1."""
    chosen: dict[int, str] = {}
    keys = [_key(title) for title in titles]
    for pair in pairs:
        column, _, field = (part.strip() for part in pair.rpartition("="))
        if not column or not field:
            raise UnclearColumns(f"--map takes COLUMN=FIELD, which “{pair}” isn't")
        if _key(column) in keys:
            place = keys.index(_key(column))
        elif column.isdecimal() and 1 <= int(column) <= len(titles):
            place = int(column) - 1
        else:
            listed = ", ".join(f"“{title}”" for title in titles)
            raise UnclearColumns(f"unknown column “{column}”; the file has {listed}")
        if field != LEFT_OUT and field in chosen.values():
            raise UnclearColumns(f"--map fills “{field}” from two columns")
        chosen[place] = field
    return chosen


def _key(title: str) -> str:
    """The title as people mean it: without case, accents, spaces and punctuation."""
    bare = unicodedata.normalize("NFKD", title.casefold())
    return "".join(filter(str.isalnum, bare))
