"""The queue of replies, read again and again while somebody looks at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from shared.api.event_kinds import INTERESTED
from shared.store.alerts.claims import CLAIMED_BY
from shared.store.db.engine import Repository, Transaction, portions, reads
from shared.store.db.schema import alerts
from shared.store.queue.alert_row import ALERT_ROWS, OWN, AlertRow, read_alerts
from shared.store.records import counts

_OLDEST = (alerts.c.received_at, alerts.c.id)
_IS_INTERESTED = alerts.c.kind == sa.literal(INTERESTED, literal_execute=True)
_IS_NOT_DONE = alerts.c.handled_at.is_(None)
_IS_NOBODYS = alerts.c.claimed_by == sa.literal("", literal_execute=True)
CLAIMED_WITHIN = 30 * 86_400.0
"""What was claimed before and never marked done is not work that anybody waits for."""
NAMED_WITHIN, MOST_NAMED = 30 * 86_400.0, 2_000
"""For so many seconds a done reply can be reopened by its name; so many replies are searched for a name."""


class ReplyQueueRecords(Repository):
    """How the replies of a workspace stand, and what they say."""

    @reads
    def standings(self, tx: Transaction, workspace: str, *, most: int) -> tuple[int, Sequence[AlertRow]]:
        """How many are unclaimed, and without their words: the unclaimed, the snoozed, the claimed; `most` of each."""
        own = sa.select(*OWN)
        unclaimed = own.where(counts.is_unclaimed(workspace)).order_by(*_OLDEST).limit(most)
        asleep = (
            own.where(alerts.c.workspace == workspace, _IS_INTERESTED, _IS_NOBODYS, _IS_NOT_DONE)
            .where(alerts.c.snoozed_until.is_not(None))
            .order_by(alerts.c.snoozed_until, alerts.c.id)
            .limit(most)
        )
        claimed = (
            own.where(alerts.c.workspace == workspace, alerts.c.claimed_at.is_not(None), _IS_INTERESTED)
            .where(alerts.c.claimed_at > tx.now - CLAIMED_WITHIN, _IS_NOT_DONE)
            .order_by(alerts.c.claimed_at.desc(), alerts.c.id)
            .limit(most)
        )
        count = tx.execute(counts.unclaimed(workspace)).one()[0]
        return count, [row for query in (unclaimed, asleep, claimed) for row in read_alerts(tx, query)]

    @reads
    def with_words(self, tx: Transaction, ids: Sequence[str]) -> Mapping[str, AlertRow]:
        """The alerts of these ids with their deliveries."""
        found = (
            row for some in portions(ids) for row in read_alerts(tx, ALERT_ROWS.where(alerts.c.id.in_(some)))
        )
        return {row.id: row for row in found}

    @reads
    def candidates(self, tx: Transaction, workspace: str, person: str, *, done: bool) -> Sequence[AlertRow]:
        """The replies that a line may name, with their words, the newest first: open ones, or those done lately.

        What the person has claimed is among them whatever its kind.
        """
        lately = alerts.c.handled_at > tx.now - NAMED_WITHIN
        known = (
            ALERT_ROWS.where(
                alerts.c.workspace == workspace, _IS_INTERESTED, lately if done else _IS_NOT_DONE
            )
            .order_by(alerts.c.received_at.desc(), alerts.c.id)
            .limit(MOST_NAMED)
        )
        own = [] if done else read_alerts(tx, CLAIMED_BY, {"person": person})
        rows = {row.id: row for row in (*own, *read_alerts(tx, known)) if row.workspace == workspace}
        return list(rows.values())
