"""What became of an interested reply besides its claim: put off, handled, or waiting so long that it is said again.

A reply waits while `waiting_since` stands. `sweep` does what is due in one transaction, so that a reminder is
planned once, whatever the number of processes and however often they die.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from bot.store.alerts.claims import ClaimState, change
from bot.store.db.schema import alerts, deliveries, posts
from bot.store.queue import deliveries as inbox
from bot.store.queue.posts import State
from shared.domain.records import Actor

AT_ONCE = 200
"""Alerts looked at in one sweep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """An alert of which something is to be said in the thread of its card in one channel."""

    alert_id: str
    workspace: str
    channel: str
    mention: str
    what: str
    """remind, escalate or back (from a snooze)."""
    waiting_since: float
    received_at: float
    round: int
    """How often it was said before, for all time."""
    by: str
    body: bytes | None
    bundled: bool
    """Its card shares a message with others: a storm."""


def snooze(
    connection: sa.Connection, alert: str, actor: Actor, *, until: float, now: float
) -> ClaimState | None:
    """Put an unclaimed alert off; None: there is no such alert."""
    open_ = (alerts.c.id == alert) & (alerts.c.claimed_by == "") & alerts.c.handled_at.is_(None)
    values = {"snoozed_until": until, "snoozed_name": actor.name, "waiting_since": None}
    return change(connection, alert, open_, values, now=now)


def wake(connection: sa.Connection, alert: str, *, now: float) -> ClaimState | None:
    """End a snooze; None: there is no such alert."""
    asleep = (alerts.c.id == alert) & alerts.c.snoozed_until.is_not(None)
    return change(connection, alert, asleep, {**AWAKE, "waiting_since": now}, now=now)


def handle(connection: sa.Connection, alert: str, actor: Actor, *, now: float) -> ClaimState | None:
    """Nobody need do anything any more; None: there is no such alert."""
    undone = (alerts.c.id == alert) & alerts.c.handled_at.is_(None)
    values = {**AWAKE, "handled_name": actor.name, "handled_at": now, "waiting_since": None}
    return change(connection, alert, undone, values, now=now)


def reopen(connection: sa.Connection, alert: str, *, now: float) -> ClaimState | None:
    """It was not done after all; it waits again unless somebody has it. None: there is no such alert."""
    done = (alerts.c.id == alert) & alerts.c.handled_at.is_not(None)
    waits = sa.case((alerts.c.claimed_by == "", now), else_=None)
    values = {"handled_name": "", "handled_at": None, "waiting_since": waits, "nudges": 0}
    return change(connection, alert, done, values, now=now)


AWAKE: dict[str, Any] = {"snoozed_until": None, "snoozed_name": "", "nudges": 0}


def sweep(
    connection: sa.Connection, *, now: float, remind_after: float | None, escalate_after: float | None
) -> Sequence[Due]:
    """Mark what is due as said, and return what to say; the caller plans it in the same transaction."""
    due = [
        *_woken(connection, now=now),
        *_nudged(connection, "remind", nudges=0, after=remind_after, now=now),
        *_nudged(connection, "escalate", nudges=1, after=escalate_after, now=now),
    ]
    names = [row.id for row, _ in due]
    inbox.repaint(connection, names, now=now)
    cards = _cards(connection, names)
    return [_due(row, what, card) for row, what in due for card in cards[row.id]]


def _woken(connection: sa.Connection, *, now: float) -> list[tuple[sa.Row[Any], str]]:
    """End the snoozes that have run out; by whom they were stays written."""
    which = sa.select(alerts.c.id).where(alerts.c.snoozed_until <= now)
    woken = (
        sa.update(alerts)
        .where(alerts.c.id.in_(which.limit(AT_ONCE).with_for_update(skip_locked=True)))
        .values(snoozed_until=None, nudges=0, waiting_since=now)
    )
    return [(row, "back") for row in connection.execute(woken.returning(*_SAID)).all()]


def _nudged(
    connection: sa.Connection, what: str, *, nudges: int, after: float | None, now: float
) -> list[tuple[sa.Row[Any], str]]:
    if after is None:
        return []
    shown = sa.select(posts.c.alert_id).where(
        posts.c.alert_id == alerts.c.id, posts.c.kind == "alert", posts.c.state == State.SENT
    )
    which = (
        sa.select(alerts.c.id)
        .where(alerts.c.waiting_since <= now - after, alerts.c.nudges == nudges, shown.exists())
        .order_by(alerts.c.waiting_since)
        .limit(AT_ONCE)
        .with_for_update(skip_locked=True)
    )
    said = sa.update(alerts).where(alerts.c.id.in_(which)).values(nudges=nudges + 1)
    return [(row, what) for row in connection.execute(said.returning(*_SAID)).all()]


_SAID = (
    alerts.c.id,
    alerts.c.workspace,
    alerts.c.waiting_since,
    alerts.c.received_at,
    alerts.c.snoozed_name,
)


def _cards(connection: sa.Connection, names: Sequence[str]) -> defaultdict[str, list[Any]]:
    """The cards of these alerts that are in a channel."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    which = (posts.c.alert_id.in_(names)) & (posts.c.kind == "alert") & (posts.c.state == State.SENT)
    source = posts.join(alerts, alerts.c.id == posts.c.alert_id).join(
        deliveries, deliveries.c.id == alerts.c.delivery_id
    )
    columns = (
        posts.c.alert_id,
        posts.c.channel,
        posts.c.mention,
        posts.c.version,
        posts.c.bundle,
        deliveries.c.body,
    )
    query = sa.select(*columns).select_from(source).where(which).order_by(posts.c.id)
    for card in connection.execute(query) if names else ():
        found[card.alert_id].append(card)
    return found


def _due(row: sa.Row[Any], what: str, card: Any) -> Due:
    return Due(
        alert_id=row.id,
        workspace=row.workspace,
        channel=card.channel,
        mention=card.mention,
        what=what,
        waiting_since=row.waiting_since,
        received_at=row.received_at,
        round=card.version,
        by=row.snoozed_name,
        body=card.body,
        bundled=card.bundle != "",
    )
