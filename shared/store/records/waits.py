"""How long interested replies waited, computed by the database: medians of thousands of rows without reading them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from shared.api.event_kinds import INTERESTED
from shared.records.replies import Grouping, Waits
from shared.store.db.engine import Transaction
from shared.store.db.schema import alerts

_C = alerts.c
_TOUCHED_AT = sa.case(
    (_C.claimed_at.is_(None), _C.handled_at),
    (_C.handled_at.is_(None), _C.claimed_at),
    (_C.handled_at < _C.claimed_at, _C.handled_at),
    else_=_C.claimed_at,
)
_PERSON = sa.case(
    (_C.claimed_by != sa.literal("", literal_execute=True), _C.claimed_by), else_=_C.claimed_name
)
"""Without a parameter: PostgreSQL would take the same expression, grouped by, for another one."""
_GROUPS: dict[Grouping, sa.ColumnElement[str]] = {
    "": sa.literal(""),
    "person": _PERSON,
    "sequence": _C.sequence,
}


def is_interested(workspace: str) -> sa.ColumnElement[bool]:
    """In the words of the partial indexes."""
    return (_C.workspace == workspace) & (_C.kind == sa.literal(INTERESTED, literal_execute=True))


def until_claimed(
    tx: Transaction, workspace: str, since: float, until: float, *, by: Grouping, late: float
) -> list[Waits]:
    """Of the replies claimed from one moment until before another, who or what has most first."""
    within = is_interested(workspace) & (_C.claimed_at >= since) & (_C.claimed_at < until)
    found = _read(tx, _waited(_C.claimed_at).add_columns(_GROUPS[by].label("name")).where(within), late=late)
    if by != "person":
        return found
    names = _newest_names(tx, within)
    return [replace(one, name=names.get(one.name, one.name)) for one in found]


def _newest_names(tx: Transaction, within: sa.ColumnElement[bool]) -> dict[str, str]:
    """The name of each person who claimed: Slack may tell another one, or none, at times."""
    last, person = sa.func.max(_C.claimed_at).label("last"), _PERSON.label("person")
    query = sa.select(person, _C.claimed_name, last).where(within).group_by(person, _C.claimed_name)
    rows = sorted(tx.execute(query), key=lambda row: (row.claimed_name != row.person, row.last))
    return {row.person: row.claimed_name for row in rows}  # the last one counts


def other_names(tx: Transaction, workspace: str, since: float, until: float) -> dict[str, str]:
    """Of people who claimed in a time under several names: each of those, and the newest one."""
    within = is_interested(workspace) & (_C.claimed_at >= since) & (_C.claimed_at < until)
    newest = _newest_names(tx, within)
    query = sa.select(_PERSON.label("person"), _C.claimed_name).where(within).distinct()
    return {row.claimed_name: newest[row.person] for row in tx.execute(query)}


def until_touched(tx: Transaction, workspace: str, since: float, until: float, *, late: float) -> Waits:
    """From the replies of a time until they were claimed or marked done, of those that were."""
    within = is_interested(workspace) & (_C.received_at >= since) & (_C.received_at < until)
    touched = _waited(_TOUCHED_AT).add_columns(_GROUPS[""].label("name")).where(within)
    return next(iter(_read(tx, touched.where(_TOUCHED_AT.is_not(None)), late=late)), Waits())


def _waited(ended_at: sa.ColumnElement[Any]) -> sa.Select[Any]:
    waited = ended_at - _C.received_at
    return sa.select(sa.case((waited < 0, 0.0), else_=waited).label("waited"))


def _read(tx: Transaction, waits: sa.Select[Any], *, late: float) -> list[Waits]:
    each = waits.subquery()
    rank = sa.func.row_number().over(partition_by=each.c.name, order_by=each.c.waited)
    total = sa.func.count().over(partition_by=each.c.name)
    ranked = sa.select(each, rank.label("rank"), total.label("total")).subquery()
    place, count, waited = ranked.c.rank, ranked.c.total, ranked.c.waited
    middle = place.in_([(count + 1) // 2, (count + 2) // 2])
    query = (
        sa.select(
            ranked.c.name,
            sa.func.max(count),
            sa.func.avg(sa.case((middle, waited))),
            sa.func.max(sa.case((place == (9 * count + 9) // 10, waited))),
            sa.func.sum(sa.case((waited <= late, 1), else_=0)),
        )
        .group_by(ranked.c.name)
        .order_by(sa.func.max(count).desc(), ranked.c.name)
    )
    return [
        Waits(name=name, count=count, median=median, p90=p90, in_time=int(in_time))
        for name, count, median, p90, in_time in tx.execute(query)
    ]
