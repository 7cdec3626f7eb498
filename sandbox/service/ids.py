"""Public identifiers: an opaque, reversible spelling of a number, so that no index of texts is needed."""

from __future__ import annotations

from functools import lru_cache

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
_LETTERS = frozenset(_ALPHABET)
_AS_BASE_32 = str.maketrans(_ALPHABET, "0123456789abcdefghijklmnopqrstuv")
_LENGTH = 8
_SPACE = 1 << (5 * _LENGTH)
_FACTOR = 0x9E3779B97F4A7C15 % _SPACE | 1
_INVERSE = pow(_FACTOR, -1, _SPACE)


@lru_cache(maxsize=32_768)
def encode(prefix: str, number: int) -> str:
    """`ld` and a number -> `ld_6mz2h0qx`."""
    mixed = (number + _offset(prefix)) * _FACTOR % _SPACE
    pairs = _PAIRS
    return f"{prefix}_{pairs[mixed >> 30]}{pairs[mixed >> 20 & 1023]}{pairs[mixed >> 10 & 1023]}{pairs[mixed & 1023]}"


def decode(prefix: str, text: str) -> int | None:
    """The number behind an identifier; None for what can be no identifier of that kind."""
    head, _, tail = text.partition("_")
    if head != prefix or len(tail) != _LENGTH or not _LETTERS.issuperset(tail):
        return None
    mixed = int(tail.translate(_AS_BASE_32), 32)
    return (mixed * _INVERSE - _offset(prefix)) % _SPACE


def _offset(prefix: str) -> int:
    """The same number reads differently for a lead and for a sequence."""
    return int.from_bytes(prefix.encode()) * 7919
