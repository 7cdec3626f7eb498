"""Stored deliveries, processed once by the router.

An arrival's row is itself the outbox of the next step: it is stored `pending`, which is lowered in the transaction
that finds out which delivery it is and writes the alert and its posts, so that no crash comes between.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import sqlalchemy as sa

from bot.store.db.engine import Repository, Transaction, ValuesRefused, blames_values, probes
from bot.store.db.schema import alerts, deliveries, sightings, subscriptions
from bot.store.queue import adopt, dedupe, outbox, same_reply
from bot.store.queue.dedupe import PendingDelivery
from bot.store.queue.outbox import PlannedPost
from shared.api.event_kinds import REPLIES
from shared.domain.records import Subscription


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """How a pending delivery was routed. `problem` says why it isn't a known event."""

    kind: str = ""
    problem: str = ""
    email: str = ""
    domain: str = ""
    sequence: str = ""
    detail: str = ""
    """What a count of them may ask: hard or soft, the day of a return."""
    reply: str = ""
    """A hash of what the lead wrote."""
    remind_at: float | None = None
    """When to remind of it unless it is acknowledged."""
    inbox: str = ""
    waits: bool = False
    """It can be claimed."""
    posts: tuple[PlannedPost, ...] = ()


Decide = Callable[[PendingDelivery], Decision]


class Deliveries(Repository):
    """Deliveries on their way to being alerts."""

    async def route(self, decide: Decide, *, limit: int = 50) -> Sequence[tuple[PendingDelivery, Decision]]:
        """Turn pending deliveries into alerts and posts; returns what was decided on each.

        Where the database refuses a value, they are routed one by one, and the culprit is set aside.
        """
        try:
            return await self.database.write(lambda tx: _route(tx, decide, limit=limit))
        except ValuesRefused:
            return await self.database.write(lambda tx: _route_singly(tx, decide, limit=limit))

    @probes
    def oldest_unrouted_age(self, tx: Transaction) -> float:
        """Seconds that the oldest delivery has waited for the router; 0 when none waits."""
        at = tx.scalar(_OLDEST)
        return 0.0 if at is None else max(0.0, self.database.clock() - at)


def _route(tx: Transaction, decide: Decide, *, limit: int) -> Sequence[tuple[PendingDelivery, Decision]]:
    """Decide on up to `limit` pending deliveries and write what follows; returns what was decided."""
    decided = [(one, decide(one)) for one in _news(tx, limit=limit)]
    _settle(tx, decided)
    return decided


def _route_singly(
    tx: Transaction,
    decide: Decide,
    *,
    limit: int,
) -> Sequence[tuple[PendingDelivery, Decision]]:
    """Like `route`, but a delivery that the database refuses is set aside with its body, and the others go on."""
    decided: list[tuple[PendingDelivery, Decision]] = []
    for pending in _news(tx, limit=limit):
        decision = decide(pending)
        try:
            with tx.connection.begin_nested():
                _settle(tx, [(pending, decision)])
        except Exception as error:
            if not blames_values(error):
                raise
            decision = Decision(problem=f"the database refuses it: {type(error).__name__}")
            _settle(tx, [(pending, decision)])
        decided.append((pending, decision))
    return decided


def _news(tx: Transaction, *, limit: int) -> Sequence[PendingDelivery]:
    found = dedupe.gather(tx, limit=limit)
    subscribed: defaultdict[str, list[Subscription]] = defaultdict(list)
    if found:
        workspaces = sorted({one.workspace for one in found})
        for workspace, *values in tx.execute(_SUBSCRIBED, {"workspaces": workspaces}):
            subscribed[workspace].append(Subscription(**dict(zip(_NAMES, values, strict=True))))
    return [replace(one, subscriptions=subscribed[one.workspace]) for one in found]


_NAMES = [field.name for field in fields(Subscription)]
_SUBSCRIPTION = [subscriptions.c[name] for name in _NAMES]
_SUBSCRIBED = (
    sa.select(subscriptions.c.workspace, *_SUBSCRIPTION)
    .where(subscriptions.c.workspace.in_(sa.bindparam("workspaces", expanding=True)))
    .order_by(*_SUBSCRIPTION)
)
_OLDEST = (
    sa.select(deliveries.c.received_at)
    .where(deliveries.c.pending)
    .order_by(deliveries.c.received_at, deliveries.c.id)
    .limit(1)
)


def _settle(tx: Transaction, decided: Sequence[tuple[PendingDelivery, Decision]]) -> None:
    if not decided:
        return
    in_one_order = sorted(
        decided, key=lambda pair: pair[0].alert_id
    )  # lest two processes lock each other out
    same_reply.lock(tx, {(row.workspace, adopt.address(d.email)) for row, d in decided if _is_reply(d)})
    tx.execute(_SETTLED, [_settled(row, d) for row, d in in_one_order])
    _count_events(tx, decided)
    adopted, late = adopt.join(tx, _leads(decided))
    shown = {row.id: row.alert or adopted.get(row.id) for row, _ in decided}
    outbox.repaint(tx, [name for name in shown.values() if name])
    raised = [_alert(row, d) for row, d in decided if not shown[row.id] and d.posts and row.id not in late]
    if raised:
        tx.execute(tx.insert_once(alerts), raised)
    own = [(row, d) for row, d in decided if shown[row.id] in {None, row.alert_id}]
    news = [(row, d) for row, d in own if row.id not in late]
    rows = [
        outbox.post_row(p, workspace=r.workspace, alert=r.alert_id, now=tx.now)
        for r, d in news
        for p in d.posts
    ]
    replies = {row.alert_id: _reply(row, d) for row, d in news if _is_reply(d)}
    outbox.plan_rows(tx, same_reply.merge(tx, rows, replies))


def _is_reply(decision: Decision) -> bool:
    return decision.kind in REPLIES and bool(decision.email and decision.posts)


def _reply(row: PendingDelivery, decision: Decision) -> dict[str, Any]:
    email = adopt.address(decision.email)
    return {"workspace": row.workspace, "kind": decision.kind, "email": email, "reply": decision.reply}


def _count_events(tx: Transaction, decided: Sequence[tuple[PendingDelivery, Decision]]) -> None:
    """Record each new delivery for the counts."""
    seen = [
        {
            "delivery_id": row.id,
            "workspace": row.workspace,
            "kind": d.kind,
            "domain": d.domain,
            "sequence": d.sequence,
            "detail": d.detail,
            "inbox": d.inbox,
            "at": row.received_at,
        }
        for row, d in decided
        if d.kind and not row.found
    ]
    if seen:
        tx.execute(tx.insert_once(sightings), seen)


def _leads(decided: Sequence[tuple[PendingDelivery, Decision]]) -> Sequence[adopt.Mention]:
    return [
        adopt.Mention(
            delivery=row.id,
            found=row.found,
            lead=(row.workspace, d.kind, adopt.address(d.email)),
            shown=bool(d.posts),
        )
        for row, d in decided
        if d.email and row.alert is None
    ]


def _alert(row: PendingDelivery, decision: Decision) -> dict[str, Any]:
    return {
        "id": row.alert_id,
        "delivery_id": row.id,
        "workspace": row.workspace,
        "kind": decision.kind,
        "email": adopt.address(decision.email),
        "received_at": row.received_at,
        "sequence": decision.sequence,
        "domain": decision.domain,
        "reply": decision.reply,
        "ack_due_at": decision.remind_at,
        "waiting_since": row.received_at if decision.waits else None,
    }


_COUNTED = ("seen", "last_at", "before_at", "batch", "batch_before")
_SETTLED = (
    sa.update(deliveries)
    .where(deliveries.c.id == sa.bindparam("row"))
    .values(pending=False, **{name: sa.bindparam(f"new_{name}") for name in ("kind", "problem", *_COUNTED)})
)


def _settled(row: PendingDelivery, decision: Decision) -> dict[str, Any]:
    counted = {f"new_{name}": getattr(row, name) for name in _COUNTED}
    return {"row": row.id, "new_kind": decision.kind, "new_problem": decision.problem, **counted}
