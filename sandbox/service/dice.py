"""Seeded randomness: a value depends only on its key, so that a campaign is the same in any order of requests."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_UNIT = 2.0**-64
_EIGHT = struct.Struct("<8Q")
_TWO = struct.Struct("<2Q")


def rolls(*key: object) -> list[float]:
    """Eight numbers from 0 to 1."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=64).digest()
    return [word * _UNIT for word in _EIGHT.unpack(digest)]


def two_rolls(*key: object) -> tuple[float, float]:
    digest = hashlib.blake2b(repr(key).encode(), digest_size=16).digest()
    first, second = _TWO.unpack(digest)
    return first * _UNIT, second * _UNIT


def roll(*key: object) -> float:
    return two_rolls(*key)[0]


def pick(options: Sequence[T], at: float) -> T:
    return options[min(int(at * len(options)), len(options) - 1)]


def between(low: float, high: float, at: float) -> float:
    return low + (high - low) * at
