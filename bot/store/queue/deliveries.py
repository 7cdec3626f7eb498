"""Deliveries as they came, and what becomes of each: stored by the intake, looked at once by the router.

An arrival's row is itself the outbox of the next step: it is stored `pending`, which is lowered in the transaction
that finds out which delivery it is and writes the alert and its posts, so that no crash comes between.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from bot.store.db.schema import alerts, deliveries, lanes, posts, sightings
from bot.store.queue import adopt
from bot.store.queue import dedupe as merging
from bot.store.queue.dedupe import Merged
from bot.store.queue.posts import NUDGES


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
class PendingDelivery:
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
class PlannedPost:
    """A message to come: at most one per `dedupe`."""

    dedupe: str
    channel: str
    kind: str = "alert"
    urgency: int = 0
    note: str = ""
    condensed: bool = False
    mention: str = ""
    held_until: float | None = None
    """It is kept back until then: a quiet time."""
    alert_id: str = ""
    """Of a message of the bot's own that belongs into the thread of that alert's card."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the router makes of a pending delivery. `problem` says why it is no known event."""

    kind: str = ""
    problem: str = ""
    email: str = ""
    domain: str = ""
    sequence: str = ""
    detail: str = ""
    """What a count of them may ask: hard or soft, the day of a return."""
    waits: bool = False
    """Somebody is to take it."""
    posts: tuple[PlannedPost, ...] = ()


Decide = Callable[[PendingDelivery], Decision]


def alert_id(dkey: bytes) -> str:
    """The name of a delivery's alert, the same in every process and after every crash."""
    return f"al_{dkey.hex()[:20]}"


def upsert(connection: sa.Connection, table: sa.Table) -> Any:
    """The dialect's INSERT, which knows ON CONFLICT."""
    return _insert(connection.dialect.name, table)


def _insert(dialect: str, table: sa.Table) -> Any:
    return (postgresql if dialect == "postgresql" else sqlite).insert(table)


def route(
    connection: sa.Connection, decide: Decide, *, now: float, limit: int
) -> Sequence[tuple[PendingDelivery, Decision]]:
    """Decide on up to `limit` pending deliveries and write what follows; returns what was decided."""
    rows = merging.gather(connection, limit=limit)
    news = [_pending(row) for row in rows]
    decisions = [decide(one) for one in news]
    _settle(connection, list(zip(rows, decisions, strict=True)), now=now)
    return list(zip(news, decisions, strict=True))


def route_singly(
    connection: sa.Connection,
    decide: Decide,
    *,
    now: float,
    limit: int,
    refused: Callable[[Exception], bool],
) -> Sequence[tuple[PendingDelivery, Decision]]:
    """Like `route`, but a delivery that the database refuses is set aside with its body, and the others go on."""
    decided: list[tuple[PendingDelivery, Decision]] = []
    for row in merging.gather(connection, limit=limit):
        pending = _pending(row)
        decision = decide(pending)
        try:
            with connection.begin_nested():
                _settle(connection, [(row, decision)], now=now)
        except Exception as error:
            if not refused(error):
                raise
            decision = Decision(problem=f"the database refuses it: {type(error).__name__}")
            _settle(connection, [(row, decision)], now=now)
        decided.append((pending, decision))
    return decided


def _pending(row: Merged) -> PendingDelivery:
    return PendingDelivery(
        id=row.id,
        alert_id=alert_id(row.dkey),
        workspace=row.workspace,
        body=row.body,
        found=row.found,
        received_at=row.received_at,
        last_at=row.last_at,
        before_at=row.before_at,
        seen=row.seen,
        is_new=row.is_new,
        acknowledged_before=row.answered,
    )


def oldest_pending(connection: sa.Connection) -> float | None:
    """When the oldest delivery came that nobody has looked at."""
    waiting = sa.select(deliveries.c.received_at).where(deliveries.c.pending)
    first = waiting.order_by(deliveries.c.received_at, deliveries.c.id).limit(1)
    return connection.scalar(first)


def _settle(connection: sa.Connection, decided: Sequence[tuple[Merged, Decision]], *, now: float) -> None:
    if not decided:
        return
    in_one_order = sorted(decided, key=lambda pair: pair[0].dkey)  # lest two processes lock each other out
    connection.execute(_SETTLED, [_settled(row, d) for row, d in in_one_order])
    _sight(connection, decided)
    adopted, late = adopt.join(connection, _leads(decided), now=now)
    shown = {row.id: row.known or adopted.get(row.id) for row, _ in decided}
    repaint(connection, [name for name in shown.values() if name], now=now)
    raised = [_alert(row, d) for row, d in decided if not shown[row.id] and d.posts and row.id not in late]
    if raised:
        connection.execute(_insert_once(connection.dialect.name, alerts), raised)
    own = [(row, d) for row, d in decided if shown[row.id] in {None, alert_id(row.dkey)}]
    news = [(row, d) for row, d in own if row.id not in late]
    rows = [
        _post(p, workspace=r.workspace, alert=alert_id(r.dkey), now=now) for r, d in news for p in d.posts
    ]
    _plan(connection, rows, now=now)


def _sight(connection: sa.Connection, decided: Sequence[tuple[Merged, Decision]]) -> None:
    """Note what each new delivery told of, for counts."""
    seen = [
        {
            "delivery_id": row.id,
            "workspace": row.workspace,
            "kind": d.kind,
            "domain": d.domain,
            "sequence": d.sequence,
            "detail": d.detail,
            "at": row.received_at,
        }
        for row, d in decided
        if d.kind and not row.found
    ]
    if seen:
        connection.execute(_insert_once(connection.dialect.name, sightings), seen)


def _leads(decided: Sequence[tuple[Merged, Decision]]) -> Sequence[adopt.Told]:
    """Whom the new deliveries tell of."""
    return [
        adopt.Told(
            delivery=row.id,
            found=row.found,
            lead=(row.workspace, d.kind, adopt.address(d.email)),
            shown=bool(d.posts),
        )
        for row, d in decided
        if d.email and row.known is None
    ]


def _alert(row: Merged, decision: Decision) -> dict[str, Any]:
    return {
        "id": alert_id(row.dkey),
        "delivery_id": row.id,
        "workspace": row.workspace,
        "kind": decision.kind,
        "email": adopt.address(decision.email),
        "received_at": row.received_at,
        "sequence": decision.sequence,
        "domain": decision.domain,
        "waiting_since": row.received_at if decision.waits else None,
    }


_TOLD = ("seen", "last_at", "before_at", "batch", "batch_before")
_SETTLED = (
    sa.update(deliveries)
    .where(deliveries.c.id == sa.bindparam("row"))
    .values(pending=False, **{name: sa.bindparam(f"new_{name}") for name in ("kind", "problem", *_TOLD)})
)


def _settled(row: Merged, decision: Decision) -> dict[str, Any]:
    told = {f"new_{name}": getattr(row, name) for name in _TOLD}
    return {"row": row.id, "new_kind": decision.kind, "new_problem": decision.problem, **told}


def plan(connection: sa.Connection, planned: PlannedPost, *, now: float, workspace: str) -> None:
    """Put a message of the bot's own in line for its channel; what was planned before stays as it is."""
    _plan(connection, [_post(planned, workspace=workspace, alert=planned.alert_id, now=now)], now=now)


def _post(planned: PlannedPost, *, workspace: str, alert: str, now: float) -> dict[str, Any]:
    return {
        "dedupe": planned.dedupe,
        "workspace": workspace,
        "channel": planned.channel,
        "kind": planned.kind,
        "alert_id": alert,
        "note": planned.note,
        "urgency": planned.urgency,
        "state": "ready" if planned.held_until is None else "held",
        "condensed": planned.condensed,
        "mention": planned.mention,
        "held_until": planned.held_until,
        "created_at": now,
    }


def _plan(connection: sa.Connection, rows: Sequence[dict[str, Any]], *, now: float) -> None:
    """Insert them and give their channels a turn; one that is pacing itself or in trouble keeps its time."""
    if not rows:
        return
    dialect = connection.dialect.name
    connection.execute(_insert_once(dialect, posts), rows)
    wake(connection, [row["channel"] for row in rows], now=now)


def wake(connection: sa.Connection, channels: Iterable[str], *, now: float) -> None:
    """Give channels a turn; one that is pacing itself or in trouble keeps its time."""
    due = [{"channel": channel, "due_at": now} for channel in sorted(set(channels))]
    if due:
        connection.execute(_wake(connection.dialect.name), due)


@lru_cache
def _insert_once(dialect: str, table: sa.Table) -> Any:
    return _insert(dialect, table).on_conflict_do_nothing()


@lru_cache
def _wake(dialect: str) -> Any:
    lane = _insert(dialect, lanes)
    later = sa.func.coalesce(lanes.c.due_at, lane.excluded.due_at)
    return lane.on_conflict_do_update(index_elements=["channel"], set_={"due_at": later})


def repaint(connection: sa.Connection, names: Sequence[str], *, now: float) -> None:
    """Have every message of these alerts drawn anew."""
    if names:
        connection.execute(
            sa.update(posts)
            .where(posts.c.alert_id.in_(names), posts.c.kind.in_(("alert", *NUDGES)))
            .values(version=posts.c.version + 1, repaint_at=now)
        )
