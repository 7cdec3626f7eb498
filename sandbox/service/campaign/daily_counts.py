"""Counts per day in four groupings, updated together by each event, so that their totals agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Connection

from sandbox.service.base.schema import daily_counts
from sandbox.service.base.storage import upsert
from sandbox.service.campaign.rows import execute_all

COUNTS = ("sends", "replies", "positive_replies", "meetings", "bounces", "complaints")
GROUPINGS = ("sequence", "step", "variant", "inbox")

_KEY = ("workspace_pk", "grouping", "day", "group_key")


class Cell(NamedTuple):
    """What an event belongs to: on one day, one group in each grouping, in the order of `GROUPINGS`."""

    workspace: int
    day: int
    sequence: int
    step: int
    variant: int
    inbox: int


class CountBuffer:
    """Counts of some events, fanned out into the groupings when they are saved."""

    def __init__(self) -> None:
        self._cells: dict[Cell, dict[str, int]] = defaultdict(dict)

    def count(self, cell: Cell, what: str, number: int = 1) -> None:
        counts = self._cells[cell]
        counts[what] = counts.get(what, 0) + number

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row for each group of each grouping on each day."""
        found: dict[tuple[int, str, int, int], dict[str, int]] = {}
        for cell, counts in self._cells.items():
            for grouping, group in zip(GROUPINGS, cell[2:], strict=True):
                key = (cell.workspace, grouping, cell.day, group)
                row = found.get(key)
                if row is None:
                    row = found[key] = dict.fromkeys(COUNTS, 0)
                for what, number in counts.items():
                    row[what] += number
        for key in sorted(found):
            yield dict(zip(_KEY, key, strict=True)) | found[key]

    def save(self, connection: Connection) -> None:
        execute_all(connection, _adding(connection.dialect.name), self.rows())


@cache
def _adding(dialect: str) -> Any:
    statement = upsert(dialect, daily_counts)
    return statement.on_conflict_do_update(
        index_elements=list(_KEY),
        set_={name: daily_counts.c[name] + statement.excluded[name] for name in COUNTS},
    )
