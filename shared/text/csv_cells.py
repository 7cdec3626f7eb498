"""CSV that a spreadsheet can't interpret as formulas. Pure."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace

DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # full-width forms count, too
"""The beginnings of formulas in a spreadsheet."""


def csv_lines(keys: Sequence[str], records: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """A line of titles, then one for each record."""
    line = csv.writer(SimpleNamespace(write=lambda text: text)).writerow  # which gives back what was written
    yield line(list(map(csv_cell, keys)))
    for record in records:
        yield line([csv_cell(record.get(key)) for key in keys])


def csv_cell(value: object) -> str:
    """Text as it is, nothing for what is unknown, everything else as JSON; guarded."""
    if value is None:
        return ""
    return guarded(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def guarded(text: str) -> str:
    """The cell, in a form that no spreadsheet takes for a formula."""
    return f"'{text}" if _calculates(text) else text


def unguarded(text: str) -> str:
    """The inverse of `guarded`, for every text."""
    return text[1:] if text[:1] == "'" and _calculates(text[1:]) else text


def _calculates(text: str) -> bool:
    # Each export puts one more apostrophe in front, so that reading back takes exactly one away.
    bare = text.lstrip("'")
    return bare.startswith(DANGEROUS) and not _is_number(bare)


def _is_number(text: str) -> bool:
    digits = text[1:].replace(".", "", 1)
    return text[0] in "+-" and digits.isascii() and digits.isdecimal()
