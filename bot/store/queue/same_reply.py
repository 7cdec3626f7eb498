"""Makes one card per reply and channel, in whatever order its events arrive.

The service reports a reply as `lead.replied`, and again with its classification. The most specific event gets the card:
a less specific one adds nothing, and a more specific one takes over the existing card.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from bot.store.db.columns import NOW
from bot.store.db.engine import Transaction
from bot.store.db.schema import alerts, posts
from bot.store.queue import outbox, renewals
from bot.store.queue.outbox import PlannedPost
from bot.store.queue.post_kinds import ALERT, REPLACED, TURNED
from bot.store.queue.posts import State
from shared.api.event_kinds import REPLIES

WITHIN = 3600.0
"""Seconds between two events of one reply, at most."""
UNNOTICED = 60.0
"""Seconds after which a card that turns into another one is announced in its thread: updates don't notify anyone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyCard:
    """A card that shows a reply, planned or posted."""

    workspace: str
    channel: str
    email: str
    kind: str
    reply: str
    """A hash of its text; empty where the event has none."""
    id: int = 0
    state: str = ""
    sent_at: float | None = None

    def shows(self, other: ReplyCard) -> bool:
        """Whether both are of the same reply, in the same channel."""
        here = (self.workspace, self.channel, self.email) == (other.workspace, other.channel, other.email)
        return here and (self.reply == other.reply or not (self.reply and other.reply))

    @property
    def says(self) -> int:
        return REPLIES[self.kind]


def lock(tx: Transaction, leads: Collection[tuple[str, str]]) -> None:
    """Let one process at a time decide on a lead's replies; SQLite has one writer in any case."""
    if not tx.is_postgresql:
        return
    names = (hashlib.sha256(f"{workspace}\0{email}".encode()).digest()[:8] for workspace, email in leads)
    for key in sorted(int.from_bytes(name, signed=True) for name in names):
        tx.execute(sa.select(sa.func.pg_advisory_xact_lock(key)))


def merge(
    tx: Transaction, rows: Sequence[dict[str, Any]], replies: Mapping[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """The posts that are still to be planned; `replies` has workspace, kind, email and reply by alert."""
    mine = [row for row in rows if row["alert_id"] in replies and row["kind"] == ALERT]
    if not mine:
        return list(rows)
    known = _cards(tx, {replies[row["alert_id"]]["email"] for row in mine})
    # A repeat of what took over a card: the card has the name of the event that it was planned for.
    shown = _shown(tx, {row["alert_id"] for row in mine})
    merged = {row["dedupe"] for row in mine if (row["alert_id"], row["channel"]) in shown}
    for row in sorted(mine, key=lambda row: -REPLIES[replies[row["alert_id"]]["kind"]]):
        if row["dedupe"] in merged:
            continue
        card = ReplyCard(channel=row["channel"], **replies[row["alert_id"]])
        same = [one for one in known if one.says != card.says and one.shows(card)]
        if any(one.says > card.says for one in same):
            merged.add(row["dedupe"])
        elif same:
            _take_over(tx, same[-1], row)
            merged.add(row["dedupe"])
        known.append(card)
    return [row for row in rows if row["dedupe"] not in merged]


_SHOWN = sa.select(posts.c.alert_id, posts.c.channel).where(
    posts.c.alert_id.in_(sa.bindparam("names", expanding=True)), posts.c.kind.in_([ALERT, REPLACED])
)
_CARDS = (
    sa.select(
        *(posts.c[name] for name in ("id", "workspace", "channel", "state", "sent_at")),
        *(alerts.c[name] for name in ("email", "kind", "reply")),
    )
    .join(alerts, alerts.c.id == posts.c.alert_id)
    .where(alerts.c.email.in_(sa.bindparam("emails", expanding=True)), alerts.c.kind.in_(REPLIES))
    .where(posts.c.kind == ALERT, alerts.c.received_at > NOW - WITHIN)
    .order_by(posts.c.id)
)


def _shown(tx: Transaction, names: Collection[str]) -> set[tuple[str, str]]:
    """Alerts with the channels that have a card of them, planned or posted."""
    return {(row.alert_id, row.channel) for row in tx.execute(_SHOWN, {"names": [*names]})}


def _cards(tx: Transaction, emails: Collection[str]) -> list[ReplyCard]:
    rows = tx.execute(_CARDS, {"emails": [*emails], "now": tx.now})
    return [ReplyCard(**row._asdict()) for row in rows]


def _take_over(tx: Transaction, card: ReplyCard, row: Mapping[str, Any]) -> None:
    """Have a card show another event of its reply, and announce it if it would go unnoticed."""
    values = {name: row[name] for name in ("alert_id", "urgency", "condensed", "mention")}
    if card.state == State.HELD and row["held_until"] is None:
        values |= {"state": State.READY, "held_until": None}
        outbox.wake(tx, [card.channel])
    if card.state not in {State.READY, State.HELD}:  # Slack may have it as it was
        values |= {"turned": True, "held_until": row["held_until"]}
    repainted = sa.update(posts).where(posts.c.id == card.id)
    tx.execute(repainted.values(**values, version=posts.c.version + 1, repaint_at=tx.now))
    seen = card.sent_at is not None and (row["mention"] or tx.now - card.sent_at > UNNOTICED)
    if seen:
        note = PlannedPost(
            dedupe=f"{row['dedupe']}:turned",
            channel=card.channel,
            kind=TURNED,
            urgency=row["urgency"],
            mention=row["mention"],
            alert_id=row["alert_id"],
        )
        outbox.plan(tx, note, workspace=card.workspace)
    renewals.renew_unsure(tx, [card.id])
