"""Counts per day in four groupings, raised together by each event, so that all of them add up to the same totals."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert

from sandbox.service.base.schema import tallies
from sandbox.service.base.storage import upsert

COUNTS = ("sends", "replies", "positive_replies", "meetings", "bounces", "complaints")
GROUPINGS = ("sequence", "step", "variant", "inbox")

_KEY = ("workspace_pk", "grouping", "day", "group_key")
_COLUMNS = (*_KEY, *COUNTS)
_PLACES = {what: place for place, what in enumerate(COUNTS)}
_ROWS_AT_ONCE = 2_000


class Cell(NamedTuple):
    """What an event belongs to: on one day, one group in each grouping, in the order of `GROUPINGS`."""

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
        counts = self._cells[cell]
        counts[what] = counts.get(what, 0) + 1

    def rows(self) -> list[dict[str, Any]]:
        """One row for each group of each grouping on each day."""
        found: dict[tuple[int, str, int, int], list[int]] = {}
        for cell, counts in self._cells.items():
            numbers = [(_PLACES[what], number) for what, number in counts.items()]
            for grouping, group in zip(GROUPINGS, cell[2:], strict=True):
                row = found.setdefault((cell.workspace, grouping, cell.day, group), [0] * len(COUNTS))
                for place, number in numbers:
                    row[place] += number
        return [dict(zip(_COLUMNS, (*key, *found[key]), strict=True)) for key in sorted(found)]

    def save(self, connection: Connection) -> None:
        rows = self.rows()
        if rows:
            connection.execute(_adding(connection.dialect.name), rows)

    def write(self, connection: Connection) -> None:
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
