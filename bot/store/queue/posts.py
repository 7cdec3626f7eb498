"""Planned and posted messages, with everything needed to render them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from typing import Any

import sqlalchemy as sa

from bot.store.db.engine import Transaction
from bot.store.db.schema import alerts, deliveries, posts, questions


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
UNCERTAIN = posts.c.state == sa.literal(State.UNCERTAIN.value, literal_execute=True)
"""In the words of the index over what is looked up."""
INCIDENT = 3
"""The urgency of a message that is posted separately, before all others, and never bundled in a storm."""
IS_INCIDENT = posts.c.urgency >= sa.literal(INCIDENT, literal_execute=True)
"""In the words of the index over incidents that wait."""
UNFINISHED = "unfinished"
"""The kind of message that asks a claimer to finish, and shows when it is done."""
ALERT = "alert"
"""The kind of message that is an alert's card."""
TURNED = "turned"
"""The kind of message that tells that a card shows more than it did."""
CURRENT = "current"
"""The kind of message that shows, in the thread of a card that Slack lets nobody edit, what the card should show."""
REPLACED = "replaced"
"""The kind of a message that Slack lets nobody edit, and instead of which another one is kept up to date."""
NOTE = "note"
"""The kind of message that tells what the bot did or noticed."""
ANSWER = "answer"
"""The kind of message that answers a person: its note is the rendered message."""
NUDGES = ("reminder", "escalation", "back", UNFINISHED)
"""Kinds of message that ask for an alert to be claimed or done, and show when it was."""
UNACKNOWLEDGED = "unacknowledged"
"""The kind of message that asks for a paused domain to be acknowledged, and shows when it was."""


_BEFORE = posts.alias("before")
_FOLLOWS_UNCERTAIN = (
    sa.exists()
    .where(
        _BEFORE.c.channel == posts.c.channel,
        _BEFORE.c.state == sa.literal(State.UNCERTAIN.value, literal_execute=True),
        _BEFORE.c.id < posts.c.id,
        _BEFORE.c.alert_id == posts.c.alert_id,
        sa.or_(posts.c.alert_id != "", (_BEFORE.c.kind == posts.c.kind) & (posts.c.kind == NOTE)),
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
    storm: int
    thread_ts: str
    ts: str
    version: int
    attempts: int
    lookups: int
    tried_until: float | None
    created_at: float
    body: bytes | None
    found: bool
    seen: int
    received_at: float
    claimed_by: str
    claimed_name: str
    claimed_at: float | None
    failed_lookups: int = 0
    condensed: bool = False
    mention: str = ""
    waiting_since: float | None = None
    nudges: int = 0
    snoozed_until: float | None = None
    snoozed_name: str = ""
    handled_name: str = ""
    handled_at: float | None = None
    closed_reason: str = ""
    standing: str = ""
    recovered_at: float | None = None
    acked_name: str = ""
    acked_at: float | None = None
    undo: str = ""
    undone_by: str = ""
    overtaken_by: str = ""
    """Who used its Undo, or changed since what that would take back."""

    @property
    def mark(self) -> str:
        return hashlib.sha256(self.dedupe.encode()).hexdigest()[:20]

    @property
    def key(self) -> str:
        """What the message's metadata has, by which it is found again."""
        return self.bundle or f"p{self.mark}"


def load(
    tx: Transaction,
    channel: str,
    state: State,
    *,
    limit: int,
    urgent_first: bool = False,
    only: int = 0,
    sure: bool = False,
    least_tried: bool = False,
    incidents: bool | None = None,
    kind: str = "",
    in_order: bool = False,
) -> tuple[Post, ...]:
    """Posts of a channel in one state, which is not `SENT`, the first planned first.

    `in_order`: without those that follow an uncertain one.
    """
    values = {
        "channel": channel,
        "state": state,
        "limit": limit,
        "only": only,
        "kind": kind,
    }
    query = _in_state(
        only=bool(only),
        kind=bool(kind),
        sure=sure,
        in_order=in_order,
        incidents=incidents,
        urgent_first=urgent_first,
        least_tried=least_tried,
    )
    return read_posts(tx, query, {name: value for name, value in values.items() if value})


@cache
def _in_state(
    *,
    only: bool,
    kind: bool,
    sure: bool,
    in_order: bool,
    incidents: bool | None,
    urgent_first: bool,
    least_tried: bool,
) -> sa.Select[Any]:
    """The query of `load`, built once: this takes longer than its execution."""
    conditions = [posts.c.channel == sa.bindparam("channel"), UNSENT, posts.c.state == sa.bindparam("state")]
    if only:
        conditions.append(posts.c.id == sa.bindparam("only"))
    if kind:
        conditions.append(posts.c.kind == sa.bindparam("kind"))
    if sure:
        conditions.append(sa.not_(posts.c.unsure))
    if in_order:
        conditions.append(sa.not_(_FOLLOWS_UNCERTAIN))
    if incidents is not None:
        conditions.append(IS_INCIDENT if incidents else sa.not_(IS_INCIDENT))
    order = [posts.c.urgency.desc()] * urgent_first + [posts.c.attempts] * least_tried + [posts.c.id]
    return drawable().where(*conditions).order_by(*order).limit(sa.bindparam("limit"))


def drawable() -> sa.Select[Any]:
    source = posts.outerjoin(alerts, alerts.c.id == posts.c.alert_id)
    source = source.outerjoin(deliveries, deliveries.c.id == alerts.c.delivery_id)
    source = source.outerjoin(questions, questions.c.id == posts.c.undo)
    return sa.select(*_COLUMNS).select_from(source)


def _or(column: sa.ColumnElement[Any], default: Any) -> sa.ColumnElement[Any]:
    return sa.func.coalesce(column, default).label(column.name)


_OWN = {field.name for field in fields(Post)} & set(posts.c.keys())
_COLUMNS = (
    *(column for column in posts.c if column.name in _OWN),
    *(
        _or(alerts.c[name], "")
        for name in (
            "claimed_by",
            "claimed_name",
            "snoozed_name",
            "handled_name",
            "closed_reason",
            "standing",
            "acked_name",
        )
    ),
    *(
        alerts.c[name]
        for name in ("claimed_at", "waiting_since", "snoozed_until", "handled_at", "recovered_at", "acked_at")
    ),
    _or(alerts.c.received_at, posts.c.created_at),
    _or(alerts.c.nudges, 0),
    _or(deliveries.c.seen, 0),
    _or(deliveries.c.found, sa.false()),
    deliveries.c.body,
    sa.func.coalesce(questions.c.given_name, "").label("undone_by"),
    _or(questions.c.overtaken_by, ""),
)


def read_posts(
    tx: Transaction, query: sa.Select[Any], values: Mapping[str, Any] | None = None
) -> tuple[Post, ...]:
    """The rows of a query on `drawable`."""
    return tuple(Post(**row) for row in tx.execute(query, values).mappings())
