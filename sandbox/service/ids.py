"""Public identifiers: an opaque, reversible spelling of a number, so that no index of texts is needed."""

from __future__ import annotations

import re
from functools import lru_cache

PATTERN = "[0-9a-hjkmnp-tv-z]{8}"
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""The letters of an id; those that are easily misread are left out."""
_AS_BASE_32 = str.maketrans(_ALPHABET, "0123456789abcdefghijklmnopqrstuv")
_SPACE = 32**8
_FACTOR = 0x9E3779B97F4A7C15 % _SPACE | 1
_INVERSE = pow(_FACTOR, -1, _SPACE)


@lru_cache(maxsize=32_768)
def encode(prefix: str, number: int) -> str:
    """Spell a number as an id: `ld_6mz2h0qx`."""
    mixed = (number + _offset(prefix)) * _FACTOR % _SPACE
    letters = (_ALPHABET[mixed >> shift & 31] for shift in range(35, -1, -5))
    return f"{prefix}_{''.join(letters)}"


def decode(prefix: str, text: str) -> int | None:
    """The number behind an identifier; None for what can be no identifier of that kind."""
    head, _, tail = text.partition("_")
    if head != prefix or not re.fullmatch(PATTERN, tail):
        return None
    return (int(tail.translate(_AS_BASE_32), 32) * _INVERSE - _offset(prefix)) % _SPACE


def _offset(prefix: str) -> int:
    """The same number reads differently for a lead and for a sequence."""
    return int.from_bytes(prefix.encode()) * 7919
