"""Planned and posted messages, with everything needed to render them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from shared.records.audit import AuditEntry
from shared.store import rows
from shared.store.db.engine import Transaction
from shared.store.db.schema import alerts, audit, deliveries, posts
from shared.store.queue.post_kinds import ALERT, names
from shared.store.rows import AlertRow


class State(StrEnum):
    """The state of a post."""

    READY = "ready"
    SENDING = "sending"
    SENT = "sent"
    UNCERTAIN = "uncertain"
    DEAD = "dead"
    HELD = "held"


UNSENT = posts.c.state != sa.literal(State.SENT.value, literal_execute=True)
"""In the words of the index over what is not sent yet: without it, all that a channel ever had would be read."""
ANY_UNSENT = UNSENT & posts.c.state.in_([state for state in State if state != State.SENT])
"""The same for a whole channel: all columns that are given decide between its indexes (see schema)."""
UNCERTAIN = posts.c.state == sa.literal(State.UNCERTAIN.value, literal_execute=True)
"""In the words of the index over what is looked up."""
INCIDENT = 3
"""The urgency of a message that is posted separately, before all others, and never shares a message."""
IS_INCIDENT = posts.c.urgency >= INCIDENT
IS_READY = posts.c.state == sa.literal(State.READY.value, literal_execute=True)
"""In the words of the indexes over answers and calls that wait."""

_BEFORE = posts.alias("before")
_FOLLOWS_UNCERTAIN = (
    sa.exists()
    .where(
        _BEFORE.c.channel == posts.c.channel,
        _BEFORE.c.state == sa.literal(State.UNCERTAIN.value, literal_execute=True),
        _BEFORE.c.id < posts.c.id,
        _BEFORE.c.alert_id == posts.c.alert_id,
        sa.or_(
            posts.c.alert_id != "", (_BEFORE.c.kind == posts.c.kind) & posts.c.kind.in_(names(in_order=True))
        ),
    )
    .correlate(posts)
)
"""What belongs into the thread of an uncertain card, or tells how something went on of which an uncertain post tells:
after it, or it would be misread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A message to one channel, with what is needed to draw it."""

    id: int
    dedupe: str
    workspace: str
    channel: str
    kind: str
    alert_id: str
    note: str
    bundle: str
    thread_ts: str
    ts: str
    version: int
    attempts: int
    lookups: int
    tried_until: float | None
    created_at: float
    refusals: int = 0
    failed_lookups: int = 0
    condensed: bool = False
    mention: str = ""
    change: AuditEntry | None = None
    """The change of sequences that it tells of, with what became of them since."""
    alert: AlertRow | None = None
    """None where it belongs to none."""

    @property
    def mark(self) -> str:
        return hashlib.sha256(self.dedupe.encode()).hexdigest()[:20]

    @property
    def key(self) -> str:
        """What the message's metadata has, by which it is found again."""
        return self.bundle or f"p{self.mark}"


_OWN = tuple(posts.c[field.name] for field in fields(Post) if field.name in posts.c)
_NAMES = tuple(column.name for column in _OWN)
_CHANGE = len(_NAMES)
_ALERT = _CHANGE + len(rows.ENTRY_COLUMNS)
"""Where the columns of a post's change and of its alert begin."""


def drawable() -> sa.Select[Any]:
    source = posts.outerjoin(alerts, alerts.c.id == posts.c.alert_id)
    source = source.outerjoin(deliveries, deliveries.c.id == alerts.c.delivery_id)
    source = source.outerjoin(audit, audit.c.id == posts.c.undo)
    return sa.select(*_OWN, *rows.ENTRY_COLUMNS, *rows.COLUMNS).select_from(source)


def read_posts(
    tx: Transaction, query: sa.Select[Any], values: Mapping[str, Any] | None = None
) -> tuple[Post, ...]:
    """The rows of a query on `drawable`."""
    return tuple(
        Post(
            **dict(zip(_NAMES, row, strict=False)),
            change=None if row[_CHANGE] is None else rows.entry_of(row[_CHANGE:_ALERT]),
            alert=rows.alert_of(row[_ALERT:]),
        )
        for row in tx.execute(query, values)
    )


# The queries over what is not sent are built once: this takes longer than their execution. Each reads an index in its
# own order, and so what it returns, however much waits in the channel.

_IS_DEAD = posts.c.state == sa.literal(State.DEAD.value, literal_execute=True)
_IS_AWAITED = sa.or_(*(posts.c.kind == sa.literal(one, literal_execute=True) for one in names(awaited=True)))
"""In the words of the index over answers that wait."""


def _of_channel(*which: sa.ColumnElement[bool], by: Sequence[Any]) -> sa.Select[Any]:
    here = drawable().where(posts.c.channel == sa.bindparam("of"), *which)
    return here.order_by(*by).limit(sa.bindparam("limit", type_=sa.Integer))


def _unless_doubtful(*which: sa.ColumnElement[bool], by: Sequence[Any]) -> Mapping[bool, sa.Select[Any]]:
    """Ready posts; True: without those that follow an uncertain one."""
    return {
        False: _of_channel(UNSENT, IS_READY, *which, by=by),
        True: _of_channel(UNSENT, IS_READY, *which, sa.not_(_FOLLOWS_UNCERTAIN), by=by),
    }


_BY_URGENCY = (posts.c.urgency.desc(), posts.c.id)
_DEAD_LETTERS = _of_channel(_IS_DEAD, sa.not_(posts.c.unsure), by=[posts.c.attempts, posts.c.id])
_ANSWERS = _of_channel(IS_READY, _IS_AWAITED, by=[posts.c.id])
_INCIDENTS = _unless_doubtful(IS_INCIDENT, by=_BY_URGENCY)
_OTHERS = _unless_doubtful(sa.not_(IS_INCIDENT), by=[posts.c.id])
_IS_ALERT = posts.c.kind == sa.literal(ALERT, literal_execute=True)
_IS_REST = posts.c.kind != sa.literal(ALERT, literal_execute=True)
"""Both in the words of their indexes."""
_ALERTS = _unless_doubtful(_IS_ALERT, sa.not_(IS_INCIDENT), by=_BY_URGENCY)
_REST = _unless_doubtful(_IS_REST, sa.not_(IS_INCIDENT), by=[posts.c.id])


def dead_letter(tx: Transaction, channel: str) -> tuple[Post, ...]:
    """The dead letter that was tried least; none whose fate is unknown."""
    return read_posts(tx, _DEAD_LETTERS, {"of": channel, "limit": 1})


def next_answer(tx: Transaction, channel: str) -> tuple[Post, ...]:
    """The first answer to a person that waits."""
    return read_posts(tx, _ANSWERS, {"of": channel, "limit": 1})


def waiting_incidents(tx: Transaction, channel: str, *, limit: int, in_order: bool) -> tuple[Post, ...]:
    """Incidents that wait; `in_order`: without those that follow an uncertain post."""
    return read_posts(tx, _INCIDENTS[in_order], {"of": channel, "limit": limit})


def waiting_others(tx: Transaction, channel: str, *, limit: int, in_order: bool) -> tuple[Post, ...]:
    """What waits longest and is no incident; `in_order` as in `waiting_incidents`."""
    return read_posts(tx, _OTHERS[in_order], {"of": channel, "limit": limit})


def waiting_alerts(tx: Transaction, channel: str, *, limit: int, in_order: bool) -> tuple[Post, ...]:
    """Cards of alerts that are no incidents, interested replies first."""
    return read_posts(tx, _ALERTS[in_order], {"of": channel, "limit": limit})


def waiting_rest(tx: Transaction, channel: str, *, limit: int, in_order: bool) -> tuple[Post, ...]:
    """What is neither the card of an alert nor an incident, and so shares no message."""
    return read_posts(tx, _REST[in_order], {"of": channel, "limit": limit})
