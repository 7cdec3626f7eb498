"""Public identifiers: an opaque, reversible spelling of a number, so that no index of texts is needed."""

from __future__ import annotations

from functools import lru_cache

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_DIGIT = {letter: value for value, letter in enumerate(_ALPHABET)}
_LENGTH = 8
_SPACE = 1 << (5 * _LENGTH)
_FACTOR = 0x9E3779B97F4A7C15 % _SPACE | 1
_INVERSE = pow(_FACTOR, -1, _SPACE)


@lru_cache(maxsize=32_768)
def encode(prefix: str, number: int) -> str:
    """`ld` and a number -> `ld_6mz2h0qx`."""
    mixed = (number + _offset(prefix)) * _FACTOR % _SPACE
    letters = (_ALPHABET[mixed >> shift & 31] for shift in range(5 * (_LENGTH - 1), -1, -5))
    return f"{prefix}_{''.join(letters)}"


def decode(prefix: str, text: str) -> int | None:
    """The number behind an identifier; None for what can be no identifier of that kind."""
    head, _, tail = text.partition("_")
    if head != prefix or len(tail) != _LENGTH or not all(letter in _DIGIT for letter in tail):
        return None
    mixed = 0
    for letter in tail:
        mixed = mixed << 5 | _DIGIT[letter]
    return (mixed * _INVERSE - _offset(prefix)) % _SPACE


def _offset(prefix: str) -> int:
    """The same number reads differently for a lead and for a sequence."""
    return int.from_bytes(prefix.encode()) * 7919
