"""Reads one value of a response, whatever its type, and finds it by its name. Pure. None is unknown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")

DIGITS = 40
"""No number of the service has more digits; longer text isn't a number (and would be slow to convert)."""
LARGEST_COUNT = 2**53
"""Every integer up to here is exact in JSON and fits a database column of 64 bits."""

GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")


def as_text(value: Any) -> str | None:
    """A non-empty string; finite numbers become text. Lone surrogates and NUL, which no database takes, go."""
    if type(value) is str:
        return (value if value.isascii() and "\0" not in value else _storable(value)) or None
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and _finite(value) is not None:
        return str(value)
    return None


def as_flag(value: Any) -> bool | None:
    """True or false, and nothing that merely resembles them."""
    return value if isinstance(value, bool) else None


def _storable(text: str) -> str:
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def as_word(value: Any) -> str | None:
    """A value of an enumeration, known or not, in lower case."""
    text = as_text(value)
    return text.strip().lower() or None if text else None


def as_number(value: Any) -> float | None:
    """A finite number: 91, 91.5, "91", "91.5", "91%", "1,250"."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return _finite(value)
    if not isinstance(value, str) or len(value) > DIGITS:
        return None
    text = value.strip().removesuffix("%").rstrip()
    if GROUPED.fullmatch(text):
        text = text.replace(",", "")
    return _finite(float(text)) if PLAIN.fullmatch(text) else None


def _finite(value: float) -> float | None:
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # an integer beyond every float
        return None


def as_count(value: Any) -> int | None:
    """A whole number; a list stands for as many as it holds."""
    if type(value) is int and -LARGEST_COUNT <= value <= LARGEST_COUNT:  # nearly all: not looked at further
        return value
    if isinstance(value, list):
        return len(value)
    number = as_number(value)
    if number is None or abs(number) > LARGEST_COUNT or number != int(number):
        return None
    return int(number)


LONGEST_INDEX = 10
"""Digits of a place in a list."""
_CAMEL = re.compile(r"_([a-z])")


@lru_cache(maxsize=8192)  # bounded: the names come from outside
def fold(name: str) -> str:
    """`Health-Score` -> `healthscore`: without case, and only letters and digits."""
    return "".join(filter(str.isalnum, name)).lower()


@lru_cache(maxsize=8192)
def spellings(name: str) -> tuple[str, ...]:
    """The name as the document writes it, then in camel case."""
    return tuple(dict.fromkeys((name, _CAMEL.sub(lambda found: found[1].upper(), name))))


def follow(item: Any, path: str) -> Any:
    """What lies at a dotted path, each name in one of its spellings; None where nothing does."""
    for part in path.split("."):
        if isinstance(item, dict):
            item = next((item[name] for name in spellings(part) if name in item), None)
        elif isinstance(item, list) and part.isdecimal() and len(part) < LONGEST_INDEX:
            item = item[int(part)] if int(part) < len(item) else None
        else:
            return None
    return item


def first(item: Any, read: Callable[[Any], T | None], *paths: str) -> T | None:
    """The value at the first of these paths where one can be read; the document's path comes first."""
    values: Iterator[T | None] = (read(follow(item, path)) for path in paths)
    return next((value for value in values if value is not None), None)


def as_object(value: Any) -> Mapping[str, Any]:
    """The object itself, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}
