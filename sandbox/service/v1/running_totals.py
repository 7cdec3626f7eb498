"""Running totals of the counts, day by day: any range of days is one subtraction for each group."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from json.encoder import encode_basestring_ascii as quoted
from operator import itemgetter, sub
from typing import Any

from sqlalchemy import Column, Connection, Table, bindparam, select

from sandbox.service.base import ids
from sandbox.service.base.clock import day_of
from sandbox.service.base.schema import daily_counts, inboxes, sequences, world
from sandbox.service.base.storage import changes_through
from sandbox.service.campaign.rules import VARIANTS
from sandbox.service.v1.fast_reads import Statement

_SHOWN = (
    daily_counts.c.sends,
    daily_counts.c.replies,
    daily_counts.c.positive_replies,
    daily_counts.c.meetings,
)
_WIDTH = len(_SHOWN)
# So many groups are read between two looks at the event loop: a few milliseconds of them.
_GROUPS_AT_ONCE = 64
_NO_END = (1 << 53) - 1

_OF_GROUPING = (
    daily_counts.c.workspace_pk == bindparam("workspace"),
    daily_counts.c.grouping == bindparam("grouping"),
)
_DAYS = Statement(
    select(daily_counts.c.group_key, daily_counts.c.day, *_SHOWN)
    .where(*_OF_GROUPING, daily_counts.c.group_key.between(bindparam("low"), bindparam("high")))
    .where(daily_counts.c.day >= bindparam("since"))
    .order_by(daily_counts.c.day)
)
_BY_NUMBER = Statement(
    select(daily_counts.c.group_key, daily_counts.c.group_key)
    .distinct()
    .where(*_OF_GROUPING, daily_counts.c.group_key >= bindparam("low"))
    .order_by(daily_counts.c.group_key)
    .limit(_GROUPS_AT_ONCE)
)
_SIMULATED = Statement(select(world.c.simulated_until))


def _by_row(table: Table, name: Column[str]) -> Statement:
    """The groups that have their own table, with their names."""
    return Statement(
        select(table.c.pk, name)
        .where(table.c.workspace_pk == bindparam("workspace"), table.c.pk >= bindparam("low"))
        .order_by(table.c.pk)
        .limit(_GROUPS_AT_ONCE)
    )


_GROUPS = {
    "sequence": _by_row(sequences, sequences.c.name),
    "inbox": _by_row(inboxes, inboxes.c.email),
    "step": _BY_NUMBER,
    "variant": _BY_NUMBER,
}
_PREFIXES = {"sequence": "sq", "inbox": "ib"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Some groups of a grouping, with what each had counted by the end of each day."""

    high: int
    places: dict[int, int]
    """Where in the totals each group's counts begin."""
    labels: Sequence[str]
    start: int = 0
    """A day before all that count: its totals are nothing."""
    totals: Sequence[array[int]] = ()
    settled: int = 0
    """The first day whose counts may still change."""
    version: int | None = None

    def texts(self, *, first: int, last: int) -> list[str]:
        """The counts of those days, both included, as JSON texts; a group that counted nothing is left out."""
        if not self.totals or last < first:
            return []
        change = map(sub, self._by_end_of(last), self._by_end_of(first - 1))
        return [
            f'{label},"sends":{sends},"replies":{replies},"positive_replies":{positive},"meetings":{meetings}}}'
            for label, sends, replies, positive, meetings in zip(
                self.labels, change, change, change, change, strict=True
            )
            if sends or replies or positive or meetings
        ]

    def _by_end_of(self, day: int) -> array[int]:
        return self.totals[max(0, min(day - self.start, len(self.totals) - 1))]

    def continued(self, rows: Sequence[Any], *, settled: int) -> Block:
        """The block with all that was counted from `self.settled` on, day after day."""
        if not rows and not self.totals:
            return self
        start = self.start or min(settled, rows[0][1]) - 1
        totals = [*self.totals[: self.settled - start]] or [array("q", bytes(8 * _WIDTH * len(self.labels)))]
        for day, counted in groupby(rows, key=itemgetter(1)):
            totals += totals[-1:] * (day - start - len(totals))  # on the days between, nothing was counted
            running = totals[-1].tolist()
            for group, _, sends, replies, positive, meetings in counted:
                place = self.places[group]
                running[place] += sends
                running[place + 1] += replies
                running[place + 2] += positive
                running[place + 3] += meetings
            totals.append(array("q", running))
        return replace(self, start=start, totals=totals, settled=settled)


class Totals:
    """What has been read of the counts so far: days that are over are read once, the others after each change."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[int, str, int], Block] = {}

    def read(
        self, connection: Connection, *, workspace: int, grouping: str, first: int, last: int
    ) -> Iterator[list[str]]:
        """Counts by group over whole UTC days, both ends included, as JSON texts in turns (document: GET /stats)."""
        version, low = changes_through(connection), 0
        while low <= _NO_END:
            key = (workspace, grouping, low)
            block = self._blocks.get(key)
            if block is None or version is None or block.version != version:
                current = _current(connection, block, workspace=workspace, grouping=grouping, low=low)
                block = self._blocks[key] = replace(current, version=version)
            yield block.texts(first=first, last=last)
            low = block.high + 1


def _current(connection: Connection, old: Block | None, *, workspace: int, grouping: str, low: int) -> Block:
    block = old or _opened(connection, workspace=workspace, grouping=grouping, low=low)
    where = {"workspace": workspace, "grouping": grouping, "low": low, "high": block.high}
    # The simulation counts what happens now; an event on demand may lag behind it by a moment, but never by a day.
    settled = day_of(_SIMULATED.rows(connection)[0][0]) - 1
    rows = _DAYS.rows(connection, since=block.settled, **where)
    if {row[0] for row in rows} <= block.places.keys():
        return block.continued(rows, settled=settled)
    return _current(connection, None, workspace=workspace, grouping=grouping, low=low)


def _opened(connection: Connection, *, workspace: int, grouping: str, low: int) -> Block:
    groups = _GROUPS[grouping].rows(connection, workspace=workspace, grouping=grouping, low=low)
    return Block(
        high=groups[-1][0] if len(groups) == _GROUPS_AT_ONCE else _NO_END,
        places={key: place * _WIDTH for place, (key, _) in enumerate(groups)},
        labels=[_label(grouping, key, name) for key, name in groups],
    )


def _label(grouping: str, key: int, name: Any) -> str:
    """How a group's JSON begins: its name and identifier."""
    if grouping in _PREFIXES:
        return f'{{"group":{quoted(name)},"id":"{ids.encode_known(_PREFIXES[grouping], key)}"'
    name = VARIANTS[key] if grouping == "variant" else key
    return f'{{"group":"{name}","id":"{name}"'
