"""Rates and comparisons from counts. Pure; None is unknown and stays unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from shared.api.models import StatsRow
from shared.api.words import COUNTS


def rate(part: float | None, whole: float | None) -> float | None:
    """`part` of `whole` as a fraction; None if either is unknown or `whole` is 0."""
    if part is None or not whole:
        return None
    return part / whole


def totals(rows: Iterable[StatsRow], *, group: str = "total") -> StatsRow:
    """The sum of the rows; a count that one row does not know is unknown in all."""
    known = list(rows)
    counts: dict[str, Any] = {name: total([getattr(row, name) for row in known]) for name in COUNTS}
    return StatsRow(group=group, **counts)


def total(values: Sequence[int | None]) -> int | None:
    """The sum; None if one of them is unknown."""
    # A sum with a hole would be too low, and shown as a number that it isn't.
    numbers = [value for value in values if value is not None]
    return sum(numbers) if len(numbers) == len(values) else None
