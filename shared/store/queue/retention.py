"""Deletes old data: texts early, hashes late, because a hash is the only protection against a replay."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from shared.storage.database import long_statements
from shared.store.db.engine import Repository, Transaction, writes
from shared.store.db.schema import (
    alerts,
    audit,
    deliveries,
    known_leads,
    posts,
    questions,
)
from shared.store.messages import UNSENT, State
from shared.store.post_kinds import ALERT, names
from shared.store.posting import IS_GIVEN_UP

AT_ONCE = 2_000
"""Rows that one transaction forgets, so that the intake never waits long."""

STATEMENT_SECONDS = 20.0
"""It may look through much where the database is large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """How much was forgotten; `more` is left for the next time."""

    bodies: int
    deliveries: int
    more: bool


class Retention(Repository):
    """Delete what has reached its retention limit."""

    @writes
    def prune(self, tx: Transaction, *, bodies_after: float, hashes_after: float) -> Pruned:
        """Forget one portion of what is older than so many seconds: what leads wrote, and all that is recorded of them."""
        with long_statements(tx.connection, STATEMENT_SECONDS):
            bodies = _forget_words(tx, before=tx.now - bodies_after)
            gone = _forget_deliveries(tx, before=tx.now - hashes_after)
            logged = [_forget_acts(tx, before=tx.now - hashes_after)]
            logged.append(_forget_known_leads(tx, before=tx.now - hashes_after))
            logged.append(_forget_questions(tx, before=tx.now - bodies_after))
            said = _forget_messages(tx, before=tx.now - bodies_after)
            tx.execute(_GIVEN_UP, {"before": tx.now - bodies_after})
        return Pruned(bodies=bodies, deliveries=gone, more=AT_ONCE in {bodies, gone, said, *logged})


_UNSENT = sa.select(posts.c.alert_id).where(UNSENT, posts.c.alert_id != "", sa.not_(IS_GIVEN_UP))
_DONE = sa.not_(deliveries.c.pending) & deliveries.c.id.not_in(
    sa.select(alerts.c.delivery_id).where(alerts.c.id.in_(_UNSENT))
)
"""Deliveries that are routed, and whose messages are all sent or given up: a channel may be broken for longer than words
are kept."""
_GIVEN_UP = sa.delete(posts).where(
    posts.c.state == sa.literal(State.DEAD.value, literal_execute=True),
    IS_GIVEN_UP,
    posts.c.created_at < sa.bindparam("before"),
)
"""What Slack refused for good, of which there is little."""


def _forget_words(tx: Transaction, *, before: float) -> int:
    old = sa.select(deliveries.c.id).where(
        deliveries.c.received_at < before, deliveries.c.body.is_not(None), _DONE
    )
    query = sa.update(deliveries).where(deliveries.c.id.in_(old.limit(AT_ONCE))).values(body=None)
    return tx.execute(query).rowcount


def _forget_deliveries(tx: Transaction, *, before: float) -> int:
    """With their alerts and posts."""
    old = sa.select(deliveries.c.id).where(
        deliveries.c.received_at < before, deliveries.c.last_at < before, _DONE
    )
    ids = tx.execute(old.limit(AT_ONCE)).scalars().all()
    names = sa.select(alerts.c.id).where(alerts.c.delivery_id.in_(ids))
    tx.execute(sa.delete(posts).where(posts.c.alert_id.in_(names)))
    tx.execute(sa.delete(alerts).where(alerts.c.delivery_id.in_(ids)))
    return tx.execute(sa.delete(deliveries).where(deliveries.c.id.in_(ids))).rowcount


def _forget_acts(tx: Transaction, *, before: float) -> int:
    """Entries of the audit, which are numbered as they come."""
    first = sa.select(audit.c.id, audit.c.at).order_by(audit.c.id).limit(AT_ONCE).subquery()
    old = sa.select(first.c.id).where(first.c.at < before)
    return tx.execute(sa.delete(audit).where(audit.c.id.in_(old))).rowcount


def _forget_known_leads(tx: Transaction, *, before: float) -> int:
    """Those that the service has long ceased to list as interested: listed again, they are news."""
    c = known_leads.c
    old = sa.select(c.workspace, c.lead).where(c.seen_at < before).order_by(c.seen_at).limit(AT_ONCE)
    return tx.execute(sa.delete(known_leads).where(sa.tuple_(c.workspace, c.lead).in_(old))).rowcount


def _forget_questions(tx: Transaction, *, before: float) -> int:
    """Of `remove`, they name a lead."""
    c = questions.c
    old = sa.select(c.id).where(c.ends_at < before).order_by(c.ends_at).limit(AT_ONCE)
    return tx.execute(sa.delete(questions).where(c.id.in_(old))).rowcount


def _forget_messages(tx: Transaction, *, before: float) -> int:
    """Answers, and posts other than alerts, because reminders quote leads."""
    c = posts.c
    ended = c.state == State.SENT
    old = sa.select(c.id).where(
        c.kind != sa.literal(ALERT, literal_execute=True),  # in the words of the index
        c.created_at < before,
        c.kind.not_in(names(kept="alert")),
        sa.or_(c.kind.in_(names(kept="briefly")), ended),
    )
    return tx.execute(sa.delete(posts).where(c.id.in_(old.limit(AT_ONCE)))).rowcount
