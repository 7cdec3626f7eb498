"""The delivery queue: which deliveries are due, who has claimed them, and the outcome of each attempt.

A failed delivery is tried again five times over 24 hours, with growing gaps.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, func, insert, select, update

from sandbox.service.base.clock import DAY, HOUR, MINUTE
from sandbox.service.base.schema import attempts, deliveries, events, subscriptions
from sandbox.service.base.seeded_random import between, roll

LEASE = 60.0
RETRIES = 5
_GAPS = (MINUTE, 10 * MINUTE, HOUR, 5 * HOUR)
_JITTER = 0.1

_READY = (
    (deliveries.c.state == "pending")
    & (deliveries.c.next_at <= bindparam("now"))
    & (deliveries.c.lease_until <= bindparam("real"))
)
_SUBSCRIPTIONS_DUE = select(subscriptions.c.pk).where(
    select(deliveries.c.pk).where(deliveries.c.subscription_pk == subscriptions.c.pk, _READY).exists()
)
_DUE = (
    select(func.count())
    .select_from(deliveries)
    .where(deliveries.c.state == "pending", deliveries.c.next_at <= bindparam("now"))
)
_CLAIM = (
    update(deliveries)
    .where(
        deliveries.c.pk.in_(
            select(deliveries.c.pk)
            .where(deliveries.c.subscription_pk == bindparam("subscription"), _READY)
            .order_by(deliveries.c.next_at, deliveries.c.pk)
            .limit(bindparam("room"))
            .with_for_update(skip_locked=True)
            .scalar_subquery()
        )
    )
    .values(lease_until=bindparam("lease"))
    .returning(deliveries.c.pk)
)
_BODIES = (
    select(
        deliveries.c.pk.label("delivery"),
        deliveries.c.attempts,
        deliveries.c.first_at,
        events.c.body,
        subscriptions.c.url,
        subscriptions.c.secret,
    )
    .join(events, events.c.pk == deliveries.c.event_pk)
    .join(subscriptions, subscriptions.c.pk == deliveries.c.subscription_pk)
    .where(deliveries.c.pk.in_(bindparam("claimed", expanding=True)))
    .order_by(deliveries.c.pk)
)
_RECORD = (
    update(deliveries)
    .where(deliveries.c.pk == bindparam("delivery"))
    .values(
        state=bindparam("now_is"),
        attempts=bindparam("made"),
        next_at=bindparam("again_at"),
        lease_until=0.0,
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A delivery claimed by a worker."""

    delivery: int
    url: str
    secret: str
    body: bytes
    attempts: int
    first_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt: a status, or an error when there was no answer."""

    due: Due
    at: float
    real: float
    """When it was sent by the real clock, in Unix seconds; `at` is the service's own time."""
    status: int | None
    error: str | None
    seconds: float

    @property
    def delivered(self) -> bool:
        """Anything but a 2xx in time is a failure."""
        return self.status is not None and 200 <= self.status < 300


def subscriptions_due(connection: Connection, *, now: float, real: float) -> list[int]:
    return list(connection.execute(_SUBSCRIPTIONS_DUE, {"now": now, "real": real}).scalars())


def count_due(connection: Connection, *, now: float) -> int:
    return int(connection.execute(_DUE, {"now": now}).scalar_one())


def claim(connection: Connection, subscription: int, *, now: float, real: float, room: int) -> list[Due]:
    """Take the next deliveries of a subscription; other processes leave them alone while the lease lasts."""
    where = {"subscription": subscription, "now": now, "real": real, "room": room, "lease": real + LEASE}
    claimed = list(connection.execute(_CLAIM, where).scalars())
    if not claimed:
        return []
    return [Due(**row) for row in connection.execute(_BODIES, {"claimed": claimed}).mappings()]


def record(connection: Connection, made: list[Attempt]) -> None:
    """Write attempts down, and when each delivery is due again."""
    rows, outcomes = [], []
    for attempt in made:
        due, number, again = attempt.due, attempt.due.attempts + 1, None
        if not attempt.delivered:
            again = retry_at(due.first_at, number, key=due.delivery)
        state = "delivered" if attempt.delivered else "failed" if again is None else "pending"
        rows.append(
            {
                "delivery_pk": due.delivery,
                "number": number,
                "at": attempt.at,
                "real": attempt.real,
                "status": attempt.status,
                "error": attempt.error,
                "seconds": attempt.seconds,
            }
        )
        next_at = attempt.at if again is None else again
        outcomes.append({"delivery": due.delivery, "now_is": state, "made": number, "again_at": next_at})
    connection.execute(insert(attempts), rows)
    connection.execute(_RECORD, outcomes)


def release(connection: Connection) -> None:
    connection.execute(update(deliveries).where(deliveries.c.lease_until > 0).values(lease_until=0.0))


def retry_at(first_at: float, attempts: int, *, key: object) -> float | None:
    """When the next attempt is due after so many; None when they are used up.

    The plan hangs on the first attempt, so a late attempt does not push the others out of the 24 hours. Each gap is up
    to a tenth longer or shorter than its nominal length, the last one ends within the day.
    """
    if attempts > RETRIES:
        return None
    elapsed = sum(
        gap * between(1 - _JITTER, 1 + _JITTER, roll("retry", key, number))
        for number, gap in enumerate(_GAPS[:attempts], start=1)
    )
    if attempts == RETRIES:
        rest = DAY - elapsed
        elapsed += rest * between(1 - _JITTER, 1.0, roll("retry", key, RETRIES))
    return first_at + elapsed
