"""Deliveries as they came, and what becomes of each: stored by the intake, looked at once by the router.

The delivery's row is itself the outbox of the next step: `pending` is raised in the transaction that stores an
arrival and lowered in the one that writes the alert and its posts, so that no crash comes between.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from bot.ledger.tables import alerts, answers, arrivals, deliveries, lanes, posts


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One signed body, as it came to one workspace."""

    workspace: str
    body: bytes
    at: float

    @property
    def dkey(self) -> bytes:
        """What makes two arrivals the same delivery: the workspace and every byte of the body."""
        return hashlib.sha256(b"%b\0%b" % (self.workspace.encode(), self.body)).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A delivery with news: it is new, or it came again."""

    id: int
    alert_id: str
    workspace: str
    body: bytes
    found: bool
    received_at: float
    last_at: float
    before_at: float
    """When the arrival before the newest came."""
    seen: int
    is_new: bool
    acknowledged_before: bool
    """Whether the sender had been told 200 for the arrival before this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A message to come: at most one per `dedupe`."""

    dedupe: str
    channel: str
    kind: str = "alert"
    urgency: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the router makes of a pending delivery. `problem` says why it is no known event."""

    kind: str = ""
    problem: str = ""
    email: str = ""
    posts: tuple[Planned, ...] = ()


ADOPTED_WITHIN = 90_000.0
"""Seconds; the sender tries for a day."""

Decide = Callable[[Pending], Decision]


def alert_id(dkey: bytes) -> str:
    """The name of a delivery's alert, the same in every process and after every crash."""
    return f"al_{dkey.hex()[:20]}"


def upsert(connection: sa.Connection, table: sa.Table) -> Any:
    """The dialect's INSERT, which knows ON CONFLICT."""
    return (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(table)


def store(connection: sa.Connection, batch: Sequence[Arrival], *, number: int, found: bool = False) -> None:
    """Write the arrivals of one group commit; an identical body raises `seen` of the delivery that is there."""
    rows = [
        {"dkey": one.dkey, "workspace": one.workspace, "body": one.body, "at": one.at, "batch": number}
        for one in batch
    ]
    connection.execute(_store_delivery(connection, found=found), rows)
    connection.execute(_STORE_ARRIVAL, [{"dkey": r["dkey"], "at": r["at"], "batch": number} for r in rows])


def _store_delivery(connection: sa.Connection, *, found: bool) -> Any:
    new = upsert(connection, deliveries).values(
        dkey=sa.bindparam("dkey"),
        workspace=sa.bindparam("workspace"),
        body=sa.bindparam("body"),
        found=found,
        received_at=sa.bindparam("at"),
        last_at=sa.bindparam("at"),
        before_at=sa.bindparam("at"),
        batch=sa.bindparam("batch"),
        seen=1,
        pending=True,
    )
    return new.on_conflict_do_update(
        index_elements=["dkey"],
        set_={
            "seen": deliveries.c.seen + 1,
            "last_at": new.excluded.last_at,
            "before_at": deliveries.c.last_at,
            "batch_before": deliveries.c.batch,
            "batch": new.excluded.batch,
            "pending": True,
        },
    )


_STORE_ARRIVAL = sa.insert(arrivals)


def mark_answered(connection: sa.Connection, batches: Sequence[int], *, now: float) -> None:
    """Remember that the senders of these batches were told 200."""
    if batches:
        connection.execute(sa.insert(answers), [{"batch": number, "at": now} for number in batches])


def route(connection: sa.Connection, decide: Decide, *, now: float, limit: int) -> int:
    """Decide on up to `limit` pending deliveries and write what follows; returns how many were looked at."""
    rows = connection.execute(
        sa.select(deliveries, answers.c.batch.label("answered"), alerts.c.id.label("known"))
        .outerjoin(answers, answers.c.batch == deliveries.c.batch_before)
        .outerjoin(alerts, alerts.c.delivery_id == deliveries.c.id)
        .where(deliveries.c.pending)
        .order_by(deliveries.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True, of=deliveries)
    ).all()
    _settle(connection, [(row, decide(_pending(row))) for row in rows], now=now)
    return len(rows)


def _pending(row: sa.Row[Any]) -> Pending:
    return Pending(
        id=row.id,
        alert_id=alert_id(row.dkey),
        workspace=row.workspace,
        body=row.body or b"",
        found=row.found,
        received_at=row.received_at,
        last_at=row.last_at,
        before_at=row.before_at,
        seen=row.seen,
        is_new=row.kind == "" and row.problem == "",
        acknowledged_before=row.answered is not None,
    )


def _settle(
    connection: sa.Connection, decided: Sequence[tuple[sa.Row[Any], Decision]], *, now: float
) -> None:
    if not decided:
        return
    connection.execute(
        _SETTLED, [{"row": row.id, "new_kind": d.kind, "new_problem": d.problem} for row, d in decided]
    )
    shown = {row.id: row.known or _adopt(connection, row, d, now=now) for row, d in decided}
    repaint(connection, [name for name in shown.values() if name], now=now)
    raised = [_alert(row, d) for row, d in decided if not shown[row.id] and d.posts]
    if raised:
        connection.execute(upsert(connection, alerts).on_conflict_do_nothing(), raised)
    for row, decision in decided:
        if shown[row.id] in {None, alert_id(row.dkey)}:
            plan(connection, decision.posts, now=now, workspace=row.workspace, alert=alert_id(row.dkey))


def _adopt(connection: sa.Connection, row: sa.Row[Any], decision: Decision, *, now: float) -> str | None:
    """The alert that was found through the API before its delivery came; it takes over what the delivery says."""
    if row.found or not decision.email:
        return None
    same = (alerts.c.workspace == row.workspace) & (alerts.c.kind == decision.kind)
    found = (
        sa.select(alerts.c.id)
        .join(deliveries, deliveries.c.id == alerts.c.delivery_id)
        .where(same, alerts.c.email == decision.email.lower(), deliveries.c.found)
        .where(alerts.c.received_at > now - ADOPTED_WITHIN)
        .limit(1)
    )
    name: str | None = connection.scalar(found)
    if name:
        connection.execute(sa.update(alerts).where(alerts.c.id == name).values(delivery_id=row.id))
    return name


def _alert(row: sa.Row[Any], decision: Decision) -> dict[str, Any]:
    return {
        "id": alert_id(row.dkey),
        "delivery_id": row.id,
        "workspace": row.workspace,
        "kind": decision.kind,
        "email": decision.email.lower(),
        "received_at": row.received_at,
    }


_SETTLED = (
    sa.update(deliveries)
    .where(deliveries.c.id == sa.bindparam("row"))
    .values(pending=False, kind=sa.bindparam("new_kind"), problem=sa.bindparam("new_problem"))
)


def plan(
    connection: sa.Connection, planned: Sequence[Planned], *, now: float, workspace: str, alert: str = ""
) -> None:
    """Put messages in line for their channels; what was planned before stays as it is."""
    if not planned:
        return
    rows = [
        {
            "dedupe": one.dedupe,
            "workspace": workspace,
            "channel": one.channel,
            "kind": one.kind,
            "alert_id": alert,
            "note": one.note,
            "urgency": one.urgency,
            "state": "ready",
            "created_at": now,
        }
        for one in planned
    ]
    connection.execute(upsert(connection, posts).on_conflict_do_nothing(), rows)
    for channel in {one.channel for one in planned}:
        wake_lane(connection, channel, now=now)


def wake_lane(connection: sa.Connection, channel: str, *, now: float) -> None:
    """Let an idle channel have its turn; one that is pacing itself or in trouble keeps its time."""
    lane = upsert(connection, lanes).values(channel=channel, due_at=now)
    connection.execute(
        lane.on_conflict_do_update(
            index_elements=["channel"],
            set_={"due_at": sa.func.coalesce(lanes.c.due_at, lane.excluded.due_at)},
        )
    )


def repaint(connection: sa.Connection, names: Sequence[str], *, now: float) -> None:
    """Have every message of these alerts drawn anew."""
    if names:
        connection.execute(
            sa.update(posts)
            .where(posts.c.alert_id.in_(names), posts.c.kind == "alert")
            .values(version=posts.c.version + 1, repaint_at=now)
        )
