"""Reads one value of a response, whatever its type, and finds it by its name. Pure. None is unknown."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from pydantic.alias_generators import to_camel

T = TypeVar("T")

LONGEST_NUMBER = 40
"""Characters; no number of the service is longer, and longer text would be slow to convert."""
LARGEST_COUNT = 2**53
"""Every integer up to here is exact in JSON and fits a database column of 64 bits."""
LONGEST_INDEX = 10
"""Digits of a place in a list."""

GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_PAIR = r"u[dD][89abAB]..\\u[dD][c-fC-F].."
ESCAPE = re.compile(rf"\\(?:{_PAIR}|(?P<lone>u[dD][89a-fA-F]..)|.)")
"""An escape in JSON; one half of a pair of surrogates can stand in it alone."""
PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")


def parse_json(body: bytes) -> Any:
    """JSON in UTF-8, with or without BOM; raises ValueError for anything else, also for nesting or digits without end.

    Lone surrogates, which can't be encoded, are replaced.
    """
    text = body.decode("utf-8-sig")
    # No database and no socket takes half a pair, and one in a name would make the whole answer unusable.
    if r"\ud" in text.lower():
        text = ESCAPE.sub(lambda escape: r"\ufffd" if escape["lone"] else escape[0], text)
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def as_text(value: Any) -> str | None:
    """A non-empty string; finite numbers become text. NUL, which no database takes, goes."""
    if isinstance(value, str):
        return value.replace("\0", "") or None
    return None if as_number(value) is None else str(value)


def as_word(value: Any) -> str | None:
    """A value of an enumeration, known or not, in lower case."""
    return (as_text(value) or "").strip().lower() or None


def as_number(value: Any) -> float | None:
    """A finite number: 91, 91.5, "91", "91.5", "91%", "1,250"."""
    if isinstance(value, str) and len(value) <= LONGEST_NUMBER:
        text = value.strip().removesuffix("%").rstrip()
        if GROUPED.fullmatch(text):
            text = text.replace(",", "")
        value = float(text) if PLAIN.fullmatch(text) else None
    # A flag isn't a number, although Python counts it among the integers.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if abs(value) <= sys.float_info.max else None  # so that NaN and infinity are unknown, too


def as_count(value: Any) -> int | None:
    """A whole number; a list stands for as many as it holds."""
    number = len(value) if isinstance(value, list) else as_number(value)
    if number is None or abs(number) > LARGEST_COUNT or number != int(number):
        return None
    return int(number)


def as_object(value: Any) -> Mapping[str, Any]:
    """The object itself, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


@lru_cache(maxsize=8192)  # bounded: the names come from outside
def spellings(name: str) -> tuple[str, ...]:
    """The name as the document writes it, then in camel case."""
    return (name, to_camel(name))


def follow(item: Any, path: str) -> Any:
    """Return the value at a dotted path, each name in one of its spellings; None if there is none."""
    for part in path.split("."):
        if isinstance(item, dict):
            item = next((item[name] for name in spellings(part) if name in item), None)
        # A place in a list; more digits would only be slow to convert.
        elif isinstance(item, list) and part.isdecimal() and len(part) < LONGEST_INDEX:
            item = item[int(part)] if int(part) < len(item) else None
        else:
            return None
    return item


def first(item: Any, read: Callable[[Any], T | None], *paths: str) -> T | None:
    """The value at the first of these paths where one can be read; the document's path comes first."""
    values = (read(follow(item, path)) for path in paths)
    return next((value for value in values if value is not None), None)
