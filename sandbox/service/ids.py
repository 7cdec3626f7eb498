"""Public identifiers: an opaque, reversible spelling of a number, so that no index of texts is needed."""

from __future__ import annotations

import re
from functools import lru_cache

PATTERN = "[0-9a-f]{10}"
_SPACE = 16**10
_FACTOR = 0x9E3779B97F4A7C15 % _SPACE | 1
_INVERSE = pow(_FACTOR, -1, _SPACE)


@lru_cache(maxsize=32_768)
def encode(prefix: str, number: int) -> str:
    """`ld` and a number -> `ld_6e2af09b71`."""
    return f"{prefix}_{(number + _offset(prefix)) * _FACTOR % _SPACE:010x}"


def decode(prefix: str, text: str) -> int | None:
    """The number behind an identifier; None for what can be no identifier of that kind."""
    head, _, tail = text.partition("_")
    if head != prefix or not re.fullmatch(PATTERN, tail):
        return None
    return (int(tail, 16) * _INVERSE - _offset(prefix)) % _SPACE


def _offset(prefix: str) -> int:
    """The same number reads differently for a lead and for a sequence."""
    return int.from_bytes(prefix.encode()) * 7919
