"""How many calls of assistants may be under way at once, for one person and for all. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Busy(Exception):
    """Too many calls are under way."""


class Gate:
    """Counts calls under way; who comes too many is told to wait, and nobody queues."""

    def __init__(self, *, most: int = 16, each: int = 4) -> None:
        self._most, self._each = most, each
        self._active: Counter[str] = Counter()

    @contextmanager
    def enter(self, person: str) -> Iterator[int]:
        """Hold a place meanwhile; yields how many others this person holds. Raises `Busy`."""
        others = self._active[person]
        if others >= self._each or self._active.total() >= self._most:
            raise Busy
        self._active[person] += 1
        try:
            yield others
        finally:
            self._active[person] -= 1
            if not self._active[person]:
                del self._active[person]
