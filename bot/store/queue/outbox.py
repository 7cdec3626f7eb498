"""The outbox: messages planned once each, held during quiet hours, and updated when their content changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa

from bot.store.db.columns import NOW
from bot.store.db.engine import Repository, Transaction, reads, writes
from bot.store.db.schema import channel_leases, posts
from bot.store.queue.dead_letters import NOT_ALLOWED, not_allowed
from bot.store.queue.post_kinds import ALERT, POSTS, names
from bot.store.queue.posts import UNSENT, State
from bot.store.queue.slack_events import present_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPost:
    """A message to come: at most one per `dedupe`."""

    dedupe: str
    channel: str
    kind: str = ALERT
    urgency: int = 0
    note: str = ""
    condensed: bool = False
    mention: str = ""
    held_until: float | None = None
    """It is kept back until then: a quiet time."""
    alert_id: str = ""
    """Of a message of the bot's own that belongs into the thread of that alert's card."""
    thread_ts: str = ""
    """Of an answer: the thread in which the person asked."""
    undo: str = ""
    """The question that its Undo button answers."""


def plan(tx: Transaction, planned: PlannedPost, *, workspace: str) -> None:
    plan_rows(tx, [post_row(planned, workspace=workspace, alert=planned.alert_id, now=tx.now)])


def post_row(planned: PlannedPost, *, workspace: str, alert: str, now: float) -> dict[str, Any]:
    return {
        "dedupe": planned.dedupe,
        "workspace": workspace,
        "channel": planned.channel,
        "kind": POSTS[planned.kind].name,
        "alert_id": alert,
        "note": planned.note,
        "urgency": planned.urgency,
        "state": "ready" if planned.held_until is None else "held",
        "condensed": planned.condensed,
        "mention": planned.mention,
        "held_until": planned.held_until,
        "thread_ts": planned.thread_ts,
        "undo": planned.undo,
        "created_at": now,
    }


def plan_rows(tx: Transaction, rows: Sequence[dict[str, Any]]) -> None:
    """Insert them and give their channels a turn; one that is pacing itself or in trouble keeps its time.

    What a Slack workspace may not see is a dead letter at once: a storm's summary would name it.
    """
    if not rows:
        return
    ids = present_ids(tx)
    rows = [{**row, "channel": ids.get(row["channel"], row["channel"])} for row in rows]
    unseen = not_allowed(tx, ((row["channel"], row["workspace"]) for row in rows))
    dead = {"state": State.DEAD.value, "held_until": None, "error": NOT_ALLOWED}
    rows = [
        {**row, "error": "", **(dead if (row["channel"], row["workspace"]) in unseen else {})} for row in rows
    ]
    tx.execute(tx.insert_once(posts), rows)
    wake(tx, [row["channel"] for row in rows])


def wake(tx: Transaction, channels: Iterable[str]) -> None:
    due = [{"channel": channel, "due_at": tx.now} for channel in sorted(set(channels))]
    if due:
        tx.execute(_wake(tx.dialect), due)


@cache
def _wake(dialect: Any) -> Any:
    new = dialect.insert(channel_leases)
    later = sa.func.coalesce(channel_leases.c.due_at, new.excluded.due_at)
    return new.on_conflict_do_update(index_elements=["channel"], set_={"due_at": later})


_REPAINT = (
    sa.update(posts)
    .where(posts.c.alert_id.in_(sa.bindparam("names", expanding=True)))
    .where(posts.c.kind.in_(names(repainted=True)), sa.not_(posts.c.frozen))
    .values(
        version=posts.c.version + 1,
        repaint_at=NOW,
        clicked=sa.or_(posts.c.clicked, sa.bindparam("by_click", type_=sa.Boolean)),
    )
)


def repaint(tx: Transaction, names: Sequence[str], *, clicked: bool = False) -> None:
    """Queue every message of these alerts for a repaint; `clicked`: ahead of those that no person waits for."""
    if names:
        tx.execute(_REPAINT, {"names": names, "now": tx.now, "by_click": clicked})


def give_up(tx: Transaction, channel: str) -> None:
    """Drop what a broken channel never took, and its trouble; a channel that works keeps all."""
    broken = channel_leases.c.trouble != sa.literal("", literal_execute=True)
    values = {"trouble": "", "trouble_since": None, "due_at": None, "lease_until": None, "storm": 0}
    recovered = (
        sa.update(channel_leases)
        .where(channel_leases.c.channel == channel, broken)
        .values(**values, token=channel_leases.c.token + 1)  # an attempt under way says nothing any more
    )
    if tx.execute(recovered).rowcount:
        tx.execute(sa.delete(posts).where(posts.c.channel == channel, UNSENT))


_RELEASED = (
    sa.update(posts)
    .where(posts.c.held_until <= NOW, posts.c.state == State.HELD)
    .values(state=State.READY, held_until=None)
    .returning(posts.c.channel)
)


def release_held(tx: Transaction) -> int:
    """Let go of the posts whose quiet hours are over; returns how many."""
    channels = tx.scalars(_RELEASED, {"now": tx.now}).all()
    wake(tx, channels)
    return len(channels)


class Outbox(Repository):
    """Messages to come."""

    @writes
    def plan(self, tx: Transaction, workspace: str, planned: PlannedPost) -> None:
        plan(tx, planned, workspace=workspace)

    @reads
    def reaches(self, tx: Transaction, channel: str) -> bool:
        """Whether the bot has posted in a channel, and Slack did not refuse it since."""
        sent = sa.select(posts.c.id).where(posts.c.channel == channel, posts.c.ts != "").limit(1)
        trouble = sa.select(channel_leases.c.trouble).where(channel_leases.c.channel == channel)
        return tx.execute(sent).first() is not None and not tx.scalar(trouble)
