"""Detects the format of a CSV file by reading it once.

One pass over all bytes in constant memory, because the encoding of a file is known only at its end, and because
an interrupted import may continue only with the same bytes.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import hashlib
import io
import re
from dataclasses import dataclass
from pathlib import Path

CHUNK = 1 << 20
SAMPLE = 1 << 16
SAMPLE_ROWS = 50
DELIMITERS = ",;\t|"
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
ENCODINGS = [
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r", "mac_roman",
    "cp932", "euc_jp", "gb18030", "big5", "cp949",
]  # fmt: skip
"""The encodings that spreadsheets and CRMs write beside UTF-8 and UTF-16."""
_ESCAPED = re.compile("[\udc80-\udcff]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


class Unusable(Exception):
    """The file can't be read as CSV; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """All that is known of the file before its rows are read."""

    path: Path
    size: int
    """The size in bytes."""
    fingerprint: str
    encoding: str
    sound: bool
    """Every byte fits the encoding; otherwise the rows where one does not are to be refused."""
    delimiter: str
    quote: str
    header: tuple[str, ...]
    """The titles, or `column 1` … where the file has none."""
    before: int
    """Records that come before the first row of data."""
    sample: tuple[tuple[str, ...], ...]
    """The first rows of data."""


def survey(path: Path, *, encoding: str | None = None) -> Survey:
    """Read the file once; raises `Unusable`, or `OSError` when it cannot be read at all."""
    digest, size, start, scan = hashlib.sha256(), 0, b"", _Scan()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            start = start or chunk[:SAMPLE]
            digest.update(chunk)
            size += len(chunk)
            scan.feed(chunk)
    scan.feed(b"", final=True)
    if not start:
        raise Unusable(f"{path} is empty")
    if start.startswith(b"PK\x03\x04"):
        raise Unusable(f"{path} is a spreadsheet or an archive. Save the sheet as CSV and import that file.")
    found = encoding or _marked(start) or scan.encoding()
    text, named, before = _beginning(_decoded(start, found, path=path, whole=size == len(start)))
    delimiter, quote = _dialect(text, DELIMITERS if named is None else named)
    rows = _rows(text, delimiter=delimiter, quote=quote)
    if not rows:
        raise Unusable(f"{path} has no rows")
    titled = not any("@" in cell for cell in rows[0])
    header = rows[0] if titled else tuple(f"column {n}" for n in range(1, len(rows[0]) + 1))
    return Survey(
        path=path,
        size=size,
        fingerprint=digest.hexdigest(),
        encoding=found,
        sound=found.startswith("utf-8") and scan.sound,
        delimiter=delimiter,
        quote=quote,
        header=tuple(title.strip() for title in header),
        before=before + titled,
        sample=rows[titled:],
    )


class _Scan:
    """Reads a file chunk by chunk: whether it is UTF-8, and a sample of its lines beyond ASCII."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._tail = self._sample = b""
        self.sound = True
        """True as long as all of it is UTF-8."""

    def feed(self, chunk: bytes, *, final: bool = False) -> None:
        if self.sound:
            try:
                self._decoder.decode(chunk, final)
            except UnicodeDecodeError:
                self.sound = False
        if len(self._sample) < SAMPLE:
            *lines, self._tail = (self._tail + chunk).split(b"\n")
            lines += [self._tail] if final else []
            self._sample += b"".join(line + b"\n" for line in lines if not line.isascii())

    def encoding(self) -> str:
        """UTF-8, even with a damaged byte here and there, or the most likely of the other encodings."""
        text = self._sample.decode("utf-8", "surrogateescape")
        damaged = len(_ESCAPED.findall(text))
        return "utf-8" if len(_BEYOND_ASCII.findall(text)) >= 2 * damaged else _likely(self._sample)


def _likely(sample: bytes) -> str:
    """Windows-1252 unless another is clearly better: Western names look alike in its neighbours."""
    from charset_normalizer import from_bytes

    matches = from_bytes(sample, cp_isolation=ENCODINGS)
    best = matches.best()
    if best is None:
        return "cp1252"
    as_good = (m for m in matches if m.chaos <= best.chaos and m.coherence > best.coherence - 0.1)
    return "cp1252" if any("cp1252" in m.could_be_from_charset for m in as_good) else best.encoding


def _marked(start: bytes) -> str | None:
    return next((encoding for mark, encoding in BOMS if start.startswith(mark)), None)


def _decoded(start: bytes, encoding: str, *, path: Path, whole: bool) -> str:
    try:
        return codecs.getincrementaldecoder(encoding)(lenient(encoding)).decode(start, final=whole)
    except UnicodeDecodeError:
        raise Unusable(f"{path} is not {encoding}. Set the right one with --encoding.") from None
    except LookupError:
        raise Unusable(f"unknown encoding {encoding}. Try utf-8, cp1252, utf-16, shift_jis …") from None


def lenient(encoding: str) -> str:
    """Return the error handler that keeps bytes that fit no character, so that their row can be refused alone."""
    return "strict" if encoding.lower().startswith(("utf-16", "utf-32")) else "surrogateescape"


def _beginning(text: str) -> tuple[str, str | None, int]:
    """The text without a first line `sep=;`, the delimiter it names, and how many records that took away."""
    if found := re.match(r"sep=(.)\r?\n", text, flags=re.IGNORECASE):
        return text[found.end() :], found[1], 1
    return text, None, 0


def _dialect(text: str, delimiters: str) -> tuple[str, str]:
    """The delimiter and the quote, as Python's own sniffer sees them; where it sees none, by the titles."""
    try:
        dialect = csv.Sniffer().sniff(text, delimiters)
    except csv.Error:
        titles = text.lstrip().partition("\n")[0]
        return max(delimiters, key=titles.count), '"'
    return dialect.delimiter, dialect.quotechar or '"'


def _rows(text: str, *, delimiter: str, quote: str) -> tuple[tuple[str, ...], ...]:
    """The first rows that are complete and not empty; a sample may end inside a row."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote)
    rows = []
    with contextlib.suppress(csv.Error):
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(tuple(row))
            if len(rows) > SAMPLE_ROWS:
                break
    return tuple(rows)
