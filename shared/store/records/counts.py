"""Counts for `status`, readiness and digests: waiting messages, deliveries, timers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from shared.store.db.engine import Transaction
from shared.store.db.schema import deliveries, jobs, posts
from shared.store.jobs import RESUME, unknown_kinds
from shared.store.messages import UNSENT, State, broken_channels
from shared.store.post_kinds import names

UNDER_WAY = (State.READY, State.SENDING, State.UNCERTAIN)


@dataclass(slots=True)
class Backlog:
    """How many messages of a workspace wait, by state, and since when the oldest has waited."""

    counts: Counter[str] = field(
        default_factory=lambda: Counter(dict.fromkeys(("waiting", "dead", "unsure", "uncertain", "held"), 0))
    )
    oldest_at: float | None = None

    def add(self, state: str, number: int, oldest: float) -> None:
        self.counts[state if state in self.counts else "waiting"] += number
        if not state or state in UNDER_WAY:
            self.oldest_at = oldest if self.oldest_at is None else min(self.oldest_at, oldest)


UNSURE = "unsure"
"""The state of what is in Slack or not: it can't be looked up for now."""
_STATE = sa.case(
    (
        (posts.c.state == sa.literal(State.DEAD.value, literal_execute=True)) & posts.c.unsure,
        sa.literal(UNSURE, literal_execute=True),
    ),
    else_=posts.c.state,
)
BACKLOG = sa.union_all(
    sa.select(
        posts.c.workspace,
        _STATE.label("state"),
        sa.func.count().label("number"),
        sa.func.min(posts.c.created_at).label("oldest"),
    )
    .where(posts.c.kind.not_in(names(awaited=True)), UNSENT)
    .group_by(posts.c.workspace, _STATE),
    sa.select(deliveries.c.workspace, sa.literal(""), sa.func.count(), sa.func.min(deliveries.c.received_at))
    .where(deliveries.c.pending)
    .group_by(deliveries.c.workspace),
)


REFUSED = (
    sa.select(posts.c.workspace, posts.c.error, sa.func.count().label("number"))
    .where(
        posts.c.state == sa.literal(State.DEAD.value, literal_execute=True),
        sa.not_(posts.c.unsure),
        posts.c.kind.not_in(names(awaited=True)),
    )
    .group_by(posts.c.workspace, posts.c.error)
)


def by_state(workspace: str) -> sa.Select[Any]:
    return (
        sa.select(_STATE, sa.func.count(), sa.func.min(posts.c.created_at))
        .where(posts.c.workspace == workspace, posts.c.kind.not_in(names(awaited=True)), UNSENT)
        .group_by(_STATE)
    )


def deliveries_since(workspace: str, since: float) -> sa.Select[Any]:
    flawed = (deliveries.c.problem != "").label("problem")
    return (
        sa.select(deliveries.c.kind, flawed, sa.func.count().label("seen"))
        .where(deliveries.c.workspace == workspace, deliveries.c.received_at >= since)
        # What came since was repeated since, if at all: the index by workspace has that time.
        .where(deliveries.c.last_at >= since)
        .where(sa.not_(deliveries.c.found), sa.not_(deliveries.c.pending))
        .group_by(deliveries.c.kind, flawed)
    )


def pending(workspace: str) -> sa.Select[int, float | None]:
    return (
        sa.select(sa.func.count(), sa.func.min(deliveries.c.received_at))
        .select_from(deliveries)
        .where(deliveries.c.pending, deliveries.c.workspace == workspace)
    )


def broken(tx: Transaction, workspace: str) -> dict[str, str]:
    waits = sa.select(posts.c.channel).where(
        posts.c.workspace == workspace, posts.c.kind.not_in(names(awaited=True)), UNSENT
    )
    waiting = set(tx.scalars(waits.distinct()))
    return {channel: error for channel, error in broken_channels(tx).items() if channel in waiting}


TIMERS_BY_WORKSPACE = (
    sa.select(jobs.c.workspace, sa.func.count().label("waiting"))
    .where(jobs.c.kind == RESUME)
    .group_by(jobs.c.workspace)
    .order_by(jobs.c.workspace)
)


def timers_by_workspace(tx: Transaction) -> dict[str, int]:
    return {row.workspace: row.waiting for row in tx.execute(TIMERS_BY_WORKSPACE)}


def unknown_timers(tx: Transaction, workspace: str) -> tuple[str, ...]:
    """The kinds of jobs that are due in a workspace and that this version doesn't know."""
    due = (jobs.c.workspace == workspace) & (jobs.c.due_at <= tx.now)
    query = sa.select(jobs.c.kind).where(due, jobs.c.kind.in_(unknown_kinds(tx)))
    return tuple(tx.scalars(query.distinct().order_by(jobs.c.kind)))
