"""How long replies waited, computed from all of them: what the database's figures must be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from shared.records.replies import Waits


def waits_of(named: Iterable[tuple[str, float]], *, late: float) -> list[Waits]:
    """Of names with seconds; the name with the most first."""
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for name, seconds in named:
        groups[name].append(seconds)
    found = []
    for name, unordered in groups.items():
        ordered = sorted(unordered)
        rank = -(-9 * len(ordered) // 10)
        in_time = sum(seconds <= late for seconds in ordered)
        found.append(
            Waits(
                name=name,
                count=len(ordered),
                median=median(ordered),
                p90=ordered[rank - 1],
                in_time=in_time,
            )
        )
    return sorted(found, key=lambda one: (-one.count, one.name))
