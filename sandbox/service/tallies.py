"""Counts per day in four groupings, raised together by each event, so that all of them add up to the same totals."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Connection, insert

from sandbox.service.schema import tallies
from sandbox.service.storage import upsert

COUNTS = ("sends", "replies", "positive_replies", "meetings", "bounces", "complaints")
GROUPINGS = ("sequence", "step", "variant", "inbox")

_KEY = ("workspace_pk", "grouping", "day", "group_key")
_ROWS_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Cell:
    """What an event belongs to: one group in each grouping, on one day."""

    workspace: int
    day: int
    sequence: int
    step: int
    variant: int
    inbox: int


class TallySheet:
    """Counts of some events, fanned out into the groupings when they are saved."""

    def __init__(self) -> None:
        self._cells: dict[Cell, dict[str, int]] = defaultdict(dict)

    def count(self, cell: Cell, what: str) -> None:
        """Count one event."""
        counts = self._cells[cell]
        counts[what] = counts.get(what, 0) + 1

    def rows(self) -> list[dict[str, Any]]:
        """One row for each group of each grouping on each day."""
        found: dict[tuple[int, str, int, int], dict[str, Any]] = {}
        for cell, counts in self._cells.items():
            for grouping in GROUPINGS:
                key = (cell.workspace, grouping, cell.day, getattr(cell, grouping))
                row = found.setdefault(key, dict(zip(_KEY, key, strict=True)) | dict.fromkeys(COUNTS, 0))
                for what, number in counts.items():
                    row[what] += number
        return [found[key] for key in sorted(found)]

    def save(self, connection: Connection) -> None:
        """Add the counts to those that are there."""
        rows = self.rows()
        if rows:
            connection.execute(_adding(connection.dialect.name), rows)

    def write(self, connection: Connection) -> None:
        """Put the counts into an empty book."""
        rows = self.rows()
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            connection.execute(insert(tallies), rows[start : start + _ROWS_AT_ONCE])


@cache
def _adding(dialect: str) -> Any:
    statement = upsert(dialect, tallies)
    return statement.on_conflict_do_update(
        index_elements=list(_KEY),
        set_={name: tallies.c[name] + statement.excluded[name] for name in COUNTS},
    )
