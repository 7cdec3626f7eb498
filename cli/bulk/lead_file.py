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
SERVICES_OWN = {"", "id", "leadid", "status", "leadstatus", "sequenceid", "createdat", "updatedat"}
"""Columns of an exported file that comes back: they must not become custom fields."""
TITLES = {
    "email": "email emailaddress mail workemail businessemail contactemail emailadresse epost correo adresseemail courriel",
    "first_name": "firstname first givenname forename vorname nombre prenom nome voornaam",
    "last_name": "lastname last surname familyname nachname apellido apellidos nomdefamille cognome achternaam",
    "company": "company companyname organization organisation account employer firma unternehmen empresa entreprise azienda",
}
"""The usual titles of the standard fields, as `_key` spells them; `--map` is for all others."""
_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_ADDRESS = re.compile(
    rf"(?!\.)(?!.*\.\.)[^\s@<>(),:;\\\"\[\]\x00-\x1f\x7f]{{1,64}}(?<!\.)@(?:{_LABEL}\.)+(?!\d+$){_LABEL}"
)
# RFC 5321: a path has at most 256 characters, two of which are its angle brackets.
LONGEST_ADDRESS = 254
_UNREADABLE = re.compile("[\udc80-\udcff]")
"""The characters that stand for bytes which aren't text, by Python's `surrogateescape`."""
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


class LeadRow(NamedTuple):
    """One row; `number` counts the records of the file from 1, header included. One with a `problem` isn't sent."""

    number: int
    lead: dict[str, str]
    problem: str

    @property
    def email(self) -> str:
        return self.lead["email"]


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
    rows_before: int
    sample: tuple[tuple[str, ...], ...]

    def batches(self, *, after: int = 0) -> Iterator[Batch]:
        """The rows after row `after`. Raises `Failed` where the file is broken."""
        with (
            self.path.open("rb") as raw,
            # `newline=""`, as `csv` asks: a line break within quotes stays what it was.
            io.TextIOWrapper(raw, self.encoding, errors=_error_handler(self.encoding), newline="") as text,
        ):
            rows = self._rows(text, after=max(after, self.rows_before))
            while some := list(islice(rows, LEADS_PER_REQUEST)):
                yield Batch(some, raw.tell())

    def _rows(self, text: Iterable[str], *, after: int) -> Iterator[LeadRow]:
        number = 0
        try:
            for number, cells in enumerate(csv.reader(text, delimiter=self.delimiter), start=1):
                if number > after and any(cells):
                    lead = self._lead(cells)
                    yield LeadRow(number, lead, self._problem(cells, lead["email"]))
        except (csv.Error, UnicodeDecodeError) as fault:
            why = str(fault)
            if "field larger" in why:
                why = "a cell has more than 131,072 characters. Is its closing quote missing?"
            raise Failed(f"{self.path}, row {number + 1}: {why}") from None

    def _lead(self, cells: Sequence[str]) -> dict[str, str]:
        values = {
            # Our export puts a sign before what looks like a formula; coming back, it is taken off.
            field: unguarded(cell.strip())
            for field, cell in zip(self.fields, cells, strict=False)
            if field
        }
        email = values.get("email", "")
        # Spreadsheets turn an address into a link, and some save the link.
        bare = email[7:] if email[:7].lower() == "mailto:" else email
        return {field: value for field, value in values.items() if value} | {"email": bare}

    def _problem(self, cells: Sequence[str], email: str) -> str:
        width = len(self.fields)
        if any(cell.strip() for cell in cells[width:]):
            return f"has {len(cells)} cells where the header has {width}. Is a quote or delimiter missing?"
        if any(map(_UNREADABLE.search, cells)):
            return f"has bytes that aren't {self.encoding}"
        if not email:
            return "no email address"
        is_address = len(email) <= LONGEST_ADDRESS and _ADDRESS.fullmatch(email)
        return "" if is_address else "not an email address"


def read_lead_file(path: Path, *, encoding: str | None, pairs: Iterable[str] = ()) -> LeadFile:
    """Read the whole file once, since an import continues with the very same bytes only, and judge its beginning.

    Raises `Failed` for what is no CSV, `WrongUsage` for unclear columns, or `OSError` where the file can't be read at all.
    """
    digest, size, start, damaged, foreign = hashlib.sha256(), 0, b"", 0, 0
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            text = decoder.decode(chunk)
            damaged += len(_UNREADABLE.findall(text))
            foreign += len(_BEYOND_ASCII.findall(text))
            start = start or chunk[:SAMPLE_BYTES]
            digest.update(chunk)
            size += len(chunk)
    # The spreadsheets of Excel and LibreOffice are zip archives.
    if start.startswith(b"PK\x03\x04"):
        raise Failed(f"{path} is a spreadsheet or an archive. Save the sheet as CSV and import that file.")
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
        raise Failed(f"{path} has no rows")
    # Without titles the first row is a lead already.
    has_titles = not any("@" in cell for cell in rows[0])
    titles = tuple(cell.strip() if has_titles else f"column {n}" for n, cell in enumerate(rows[0], start=1))
    sample = tuple(rows[has_titles:])
    return LeadFile(
        path=path,
        size=size,
        fingerprint=digest.hexdigest(),
        encoding=encoding,
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
        raise Failed(f"{path} is not {encoding}. Set the right one with --encoding.") from None
    except LookupError:
        raise Failed(f"unknown encoding {encoding}. Try utf-8, cp1252, utf-16, shift_jis …") from None


def _error_handler(encoding: str) -> str:
    """Keep bytes that fit no character, so that their row can be refused alone."""
    # Where a character has two bytes, one that is lost shifts all that follow: no row could be refused alone.
    return "strict" if encoding.lower().startswith(("utf-16", "utf-32")) else "surrogateescape"


def assign_fields(
    titles: Sequence[str], sample: Sequence[Sequence[str]], pairs: Iterable[str]
) -> tuple[str | None, ...]:
    """The field that each column fills, by `--map COLUMN=FIELD`, by its title, or by its cells."""
    places = range(len(titles))
    listed = ", ".join(f"“{title}”" for title in titles)
    keys = [_key(title) for title in titles]
    chosen: dict[int, str] = {}
    for pair in pairs:
        column, _, field = (part.strip() for part in pair.rpartition("="))
        if not column or not field:
            raise WrongUsage(f"--map takes COLUMN=FIELD, which “{pair}” isn't")
        if field != LEFT_OUT and field in chosen.values():
            raise WrongUsage(f"--map fills “{field}” from two columns")
        if _key(column) in keys:
            chosen[keys.index(_key(column))] = field
        elif column.isdecimal() and int(column) - 1 in places:
            chosen[int(column) - 1] = field
        else:
            raise WrongUsage(f"unknown column “{column}”; the file has {listed}")
    fields: list[str] = []
    for place in places:
        taken = {*chosen.values(), *fields}
        guess = LEFT_OUT if keys[place] in SERVICES_OWN else _standard(keys[place]) or titles[place]
        if guess != LEFT_OUT and guess in taken:
            guess = titles[place] if titles[place] not in taken else f"{titles[place]} {place + 1}"
        fields.append(chosen.get(place, guess))
    if "email" not in fields:
        counts = [sum("@" in row[place] for row in sample if place < len(row)) for place in places]
        best = max(places, key=counts.__getitem__)
        if not counts[best] or counts[best] * 2 < len(sample):
            raise WrongUsage(
                f"no column contains email addresses; the file has {listed}. Choose one with --map COLUMN=email"
            )
        fields[best] = "email"
    return tuple(None if field == LEFT_OUT else field for field in fields)


def _standard(key: str) -> str | None:
    return next((field for field, usual in TITLES.items() if key in usual.split()), None)


def _key(title: str) -> str:
    """The title as people mean it: without case, accents, spaces and punctuation."""
    bare = unicodedata.normalize("NFKD", title.casefold())
    return "".join(filter(str.isalnum, bare))
