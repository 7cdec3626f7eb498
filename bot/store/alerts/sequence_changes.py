"""The locks of the sequences: one change at a time over all processes, each written down with its timer.

A change is bounded: its lock lasts `LOCK_SECONDS`, and only a living process renews it. A request that was never
answered, because it timed out or its process died, may still be carried out later, after another change was confirmed.
For `LATE_SECONDS` such a sequence is `doubtful`: whoever looks sends the confirmed status again if it is no longer so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import sqlalchemy as sa

from bot.store.alerts import timers as timer_rows
from bot.store.alerts.timers import RESUME, DueTimer
from bot.store.db.columns import NOW
from bot.store.db.engine import Repository, Transaction, reads, writes
from bot.store.db.schema import sequence_changes
from shared.domain.sequence_changes import LOCK_SECONDS, UNDER_WAY, ChangeResult, SequenceChange, Status

LATE_SECONDS = 120.0
"""How long a service may take to carry out a request that it did not answer."""

c = sequence_changes.c
_LOCKED = (
    sa.select(sequence_changes)
    .where(c.workspace == sa.bindparam("workspace"), c.sequence == sa.bindparam("sequence"))
    .with_for_update()
)
_DOUBTFUL = sa.select(sequence_changes).where(
    c.workspace.in_(sa.bindparam("workspaces", expanding=True)),
    c.locked_until.is_(None),
    ((c.confirmed == "paused") & (c.resume_late_until > NOW))
    | ((c.confirmed == "active") & (c.pause_late_until > NOW)),
)
_LATE = {"paused": c.pause_late_until, "active": c.resume_late_until}


class TimerReplaced(Exception):
    """The timer that should end a pause was cancelled, set anew, or is carried out by another process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubtful:
    """A sequence that an unanswered request may still turn into the opposite of its confirmed status."""

    workspace: str
    sequence: str
    confirmed: Status


class SequenceChanges(Repository):
    """Implements `shared.domain.sequence_changes.SequenceChanges`."""

    @reads
    def revisions(self, tx: Transaction, workspace: str) -> Mapping[str, int]:
        return _revisions(tx, c.workspace == workspace)

    @writes
    def begin(
        self,
        tx: Transaction,
        workspace: str,
        sequence: str,
        *,
        status: Status,
        firing: DueTimer | None = None,
        if_confirmed: bool = False,
    ) -> SequenceChange | None:
        """As in the protocol; raises `TimerReplaced` where the timer that is `firing` is no longer ours.

        `if_confirmed`: None also where another status was confirmed last.
        """
        names = {"workspace": workspace, "sequence": sequence}
        tx.execute(tx.insert_once(sequence_changes), names)
        row = tx.execute(_LOCKED, names).one()
        # Looked up under the row's lock: from here on nobody else can replace it.
        if firing and not timer_rows.is_ours(tx, firing):
            raise TimerReplaced
        if row.locked_until is not None and tx.now < row.locked_until <= tx.now + LOCK_SECONDS:
            return None
        if if_confirmed and row.confirmed != status:
            return None
        values: dict[Any, Any] = {
            "token": c.token + 1,
            "locked_until": tx.now + LOCK_SECONDS,
            "asked": status,
        }
        died = row.locked_until is not None
        if died:
            values |= _doubt(tx, row.asked)
        tx.execute(sa.update(sequence_changes).where(_which(workspace, sequence)).values(values))
        return SequenceChange(
            workspace=workspace,
            sequence=sequence,
            status=status,
            token=row.token + 1,
            revision=UNDER_WAY if died or _is_doubtful(row, now=tx.now) else row.revision,
            timer=timer_rows.find(tx, workspace, RESUME, sequence),
        )

    @writes
    def renew(self, tx: Transaction, change: SequenceChange) -> bool:
        renewed = sa.update(sequence_changes).where(_mine(change)).values(locked_until=tx.now + LOCK_SECONDS)
        return tx.execute(renewed).rowcount == 1

    @writes
    def end(self, tx: Transaction, change: SequenceChange, result: ChangeResult) -> bool:
        values: dict[Any, Any] = {"locked_until": None}
        if result.outcome == "uncertain":
            values |= _doubt(tx, change.status)
        elif result.outcome == "confirmed":
            values |= {"confirmed": change.status, "revision": c.revision + 1}
        if result.late:
            values[_LATE[change.status]] = tx.now + LATE_SECONDS
        if tx.execute(sa.update(sequence_changes).where(_mine(change)).values(values)).rowcount == 0:
            # Ours was sent while another change had begun: what that one confirms is looked at again.
            late = {_LATE[change.status]: tx.now + LATE_SECONDS, "revision": c.revision + 1}
            which = _which(change.workspace, change.sequence)
            tx.execute(sa.update(sequence_changes).where(which).values(late))
            return False
        if not result.keep_timer:
            if result.timer is None:
                timer_rows.drop(tx, change.workspace, RESUME, change.sequence)
            else:
                timer_rows.put(tx, change.workspace, result.timer)
        return True

    @reads
    def doubtful(self, tx: Transaction, workspaces: Collection[str]) -> Sequence[Doubtful]:
        """The sequences of these workspaces to look at, while nobody changes them."""
        return [
            Doubtful(workspace=row.workspace, sequence=row.sequence, confirmed=cast("Status", row.confirmed))
            for row in tx.execute(_DOUBTFUL, {"workspaces": [*workspaces], "now": tx.now})
        ]


def revisions_of(tx: Transaction, workspace: str, names: Collection[str]) -> dict[str, int]:
    """The revisions of these sequences, within a transaction."""
    found = _revisions(tx, (c.workspace == workspace) & c.sequence.in_(names))
    return {name: found.get(name, 0) for name in names}


def _revisions(tx: Transaction, which: sa.ColumnElement[bool]) -> dict[str, int]:
    rows = tx.execute(sa.select(sequence_changes).where(which)).all()
    return {
        row.sequence: row.revision
        if row.locked_until is None and not _is_doubtful(row, now=tx.now)
        else UNDER_WAY
        for row in rows
    }


def _is_doubtful(row: sa.Row[Any], *, now: float) -> bool:
    """Whether an unanswered request may have changed the status since it was confirmed, or may do so."""
    return any(until is not None and until > now for until in (row.pause_late_until, row.resume_late_until))


def _doubt(tx: Transaction, status: str) -> dict[Any, Any]:
    """What an unanswered request leaves: it may be carried out later, and what it contradicts isn't certain."""
    still = sa.case((c.confirmed == status, c.confirmed), else_="")
    return {_LATE[status]: tx.now + LATE_SECONDS, "confirmed": still, "revision": c.revision + 1}


def _which(workspace: str, sequence: str) -> sa.ColumnElement[bool]:
    return (c.workspace == workspace) & (c.sequence == sequence)


def _mine(change: SequenceChange) -> sa.ColumnElement[bool]:
    return _which(change.workspace, change.sequence) & (c.token == change.token)
