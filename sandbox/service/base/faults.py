"""Faults that tests set, each used up by what it befalls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from pydantic import BaseModel


class LimitedFault(BaseModel):
    """A fault that befalls so often; None: until it is cleared."""

    times: int | None


F = TypeVar("F", bound=LimitedFault)


class Faults(Generic[F]):
    """The faults that are set, the first one first."""

    def __init__(self) -> None:
        self._set: list[F] = []

    def add(self, fault: F) -> None:
        self._set.append(fault.model_copy())

    def clear(self) -> None:
        self._set.clear()

    def listed(self) -> list[dict[str, Any]]:
        return [fault.model_dump() for fault in self._set]

    def take(self, matches: Callable[[F], bool]) -> F | None:
        """The fault that befalls what happens now."""
        fault = next(filter(matches, self._set), None)
        if fault is not None and fault.times is not None:
            fault.times -= 1
            if not fault.times:
                self._set.remove(fault)
        return fault
