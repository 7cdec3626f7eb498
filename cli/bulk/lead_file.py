"""Reads a CSV file of leads: its encoding, delimiter and columns, then its rows in batches, in constant memory."""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from cli.console.exit_codes import Failed, WrongUsage
from shared.frozen import frozen
from shared.text.csv_cells import unguarded

LEADS_PER_REQUEST = 1000
SAMPLE_BYTES = 1 << 20
SAMPLE_ROWS = 50
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
LEFT_OUT = "-"
SERVICES_OWN = {"", "id", "leadid", "status", "leadstatus", "sequenceid", "createdat", "updatedat"}
"""Columns of an exported file that comes back: they must not become custom fields."""
TITLES = {
    "email": "email emailaddress mail workemail businessemail contactemail emailadresse epost correo adresseemail courriel",
    "first_name": "firstname first givenname forename vorname nombre prenom nome voornaam",
    "last_name": "lastname last surname familyname nachname apellido apellidos nomdefamille cognome achternaam",
    "company": "company companyname organization organisation account employer firma unternehmen empresa entreprise azienda",
}
"""The usual titles of the standard fields, as `_key` spells them; `--map` is for all others."""
# RFC 5321: a path has at most 256 characters, two of which are its angle brackets.
_ADDRESS = re.compile(r"(?=.{6,254}$)[^\s@<>(),:;\\\"\[\]\x00-\x1f]{1,64}@(?:\w[\w-]*\.)+[^\W\d_][\w-]+")
UNREADABLE = "\N{REPLACEMENT CHARACTER}"
"""The character in place of bytes that aren't text in the file's encoding."""


class LeadRow(NamedTuple):
    """One row; `number` counts the records of the file from 1, header included. One with a `problem` isn't sent."""

    number: int
    lead: dict[str, str]
    problem: str


class Batch(NamedTuple):
    """The rows of one request; `position` is in bytes, for the progress."""

    rows: Sequence[LeadRow]
    position: int

    @property
    def sendable(self) -> list[LeadRow]:
        return [row for row in self.rows if not row.problem]


@frozen
class LeadFile:
    """A file whose format and columns were told from its beginning. `fields` has None for a column left out."""

    path: Path
    size: int
    fingerprint: str
    encoding: str
    delimiter: str
    titles: tuple[str, ...]
    fields: tuple[str | None, ...]
    has_titles: bool
    sample: tuple[tuple[str, ...], ...]

    def batches(self) -> Iterator[Batch]:
        """The rows, always in the same batches. Raises `Failed` where the file is broken."""
        with (
            self.path.open("rb") as raw,
            # `newline=""`, as `csv` asks: a line break within quotes stays what it was.
            io.TextIOWrapper(raw, self.encoding, errors="replace", newline="") as text,
        ):
            rows = self._rows(text)
            while some := list(islice(rows, LEADS_PER_REQUEST)):
                yield Batch(some, raw.tell())

    def _rows(self, text: Iterable[str]) -> Iterator[LeadRow]:
        number = 0
        try:
            for number, cells in enumerate(csv.reader(text, delimiter=self.delimiter), start=1):
                if number > self.has_titles and any(cells):
                    pairs = zip(self.fields, map(str.strip, cells), strict=False)
                    # Our export puts a sign before what looks like a formula; coming back, it is taken off.
                    lead = {field: unguarded(cell) for field, cell in pairs if field and cell}
                    yield LeadRow(number, {"email": "", **lead}, self._problem(cells, lead.get("email")))
        except csv.Error as fault:
            why = f"{fault}. Is the closing quote of a cell missing?"
            raise Failed(f"{self.path}, row {number + 1}: {why}") from None

    def _problem(self, cells: Sequence[str], email: str | None) -> str:
        width = len(self.fields)
        if any(cell.strip() for cell in cells[width:]):
            return f"has {len(cells)} cells where the header has {width}. Is a quote or delimiter missing?"
        # Refused alone: a damaged byte here and there doesn't make the file unusable.
        if any(UNREADABLE in cell for cell in cells):
            return f"has bytes that aren't {self.encoding}"
        if not email:
            return "no email address"
        return "" if _ADDRESS.fullmatch(email) else "not an email address"


def read_lead_file(path: Path, *, encoding: str | None, pairs: Iterable[str] = ()) -> LeadFile:
    """Fingerprint the file, since an import continues with the very same bytes only, and judge its beginning.

    Raises `Failed` for what isn't CSV, `WrongUsage` for unclear columns, or `OSError` where the file can't be read at all.
    """
    with path.open("rb") as file:
        start = file.read(SAMPLE_BYTES)
        file.seek(0)
        fingerprint = hashlib.file_digest(file, "sha256").hexdigest()
    # The spreadsheets of Excel and LibreOffice are zip archives.
    if start.startswith(b"PK\x03\x04"):
        raise Failed(f"{path} is a spreadsheet or an archive. Save the sheet as CSV and import that file.")
    encoding = encoding or _guess_encoding(start)
    try:
        beginning = start.decode(encoding, "replace")
    except LookupError:
        raise Failed(f"unknown encoding {encoding}. Try utf-8, cp1252, utf-16, shift_jis …") from None
    first_line = beginning.lstrip().partition("\n")[0]
    delimiter = max(DELIMITERS, key=first_line.count)
    reader = csv.reader(io.StringIO(beginning, newline=""), delimiter=delimiter)
    try:
        rows = list(islice((tuple(row) for row in reader if any(map(str.strip, row))), SAMPLE_ROWS))
    except csv.Error:  # an open quote is reported with its row when the rows are read
        rows = [tuple(row) for row in csv.reader([first_line], delimiter=delimiter)]
    if not rows:
        raise Failed(f"{path} has no rows")
    # Without titles the first row is a lead already.
    has_titles = not any("@" in cell for cell in rows[0])
    titles = tuple(cell.strip() if has_titles else f"column {n}" for n, cell in enumerate(rows[0], start=1))
    sample = tuple(rows[has_titles:])
    return LeadFile(
        path=path,
        size=path.stat().st_size,
        fingerprint=fingerprint,
        encoding=encoding,
        delimiter=delimiter,
        titles=titles,
        fields=_assign_fields(titles, sample, pairs),
        has_titles=has_titles,
        sample=sample,
    )


def _guess_encoding(start: bytes) -> str:
    for mark, name in BYTE_ORDER_MARKS.items():
        if start.startswith(mark):
            return name
    # Incrementally, since the sample may end within a character.
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(start)
    # A damaged byte here and there doesn't make a UTF-8 file another: every name would be sent wrong.
    foreign = sum(not character.isascii() for character in text)
    return "utf-8" if foreign >= 3 * text.count(UNREADABLE) else "cp1252"


def _assign_fields(
    titles: Sequence[str], sample: Sequence[Sequence[str]], pairs: Iterable[str]
) -> tuple[str | None, ...]:
    """The field that each column fills, by `--map COLUMN=FIELD`, by its title, or by its cells."""
    listed = ", ".join(f"“{title}”" for title in titles)
    keys = [_key(title) for title in titles]
    chosen: dict[int, str] = {}
    for pair in pairs:
        column, _, field = (part.strip() for part in pair.rpartition("="))
        if not column or not field:
            raise WrongUsage(f"--map takes COLUMN=FIELD, which “{pair}” isn't")
        if _key(column) not in keys:
            raise WrongUsage(f"unknown column “{column}”; the file has {listed}")
        chosen[keys.index(_key(column))] = field
    fields: list[str] = []
    for place, key in enumerate(keys):
        usual = (field for field, names in TITLES.items() if key in names.split())
        guesses = (*usual, titles[place], f"{titles[place]} {place + 1}")
        guess = next(guess for guess in guesses if guess not in {*chosen.values(), *fields})
        fields.append(chosen.get(place, LEFT_OUT if key in SERVICES_OWN else guess))
    if "email" not in fields:
        first_row = sample[0] if sample else ()
        place_of_address = next((place for place, cell in enumerate(first_row) if "@" in cell), len(titles))
        if place_of_address >= len(titles):
            advice = "Choose one with --map COLUMN=email"
            raise WrongUsage(f"no column contains email addresses; the file has {listed}. {advice}")
        fields[place_of_address] = "email"
    return tuple(None if field == LEFT_OUT else field for field in fields)


def _key(title: str) -> str:
    """The title as people mean it: without case, accents, spaces and punctuation."""
    bare = unicodedata.normalize("NFKD", title.casefold())
    return "".join(filter(str.isalnum, bare))
