"""Forgets: what is old, in portions, and a person, wherever an address was stored.

Texts go early and hashes late, because a hash is the only protection against a replay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa

from shared.frozen import frozen
from shared.storage.database import long_statements
from shared.storage.redaction import Redaction, rows_with
from shared.store import messages
from shared.store.db.engine import Repository, Transaction, portions, reads, writes
from shared.store.db.schema import alerts, audit, deliveries, known_leads, literal, posts, questions
from shared.store.deliveries import ERASED, address, lead_key
from shared.store.messages import IS_GIVEN_UP, UNSENT, State, is_in
from shared.store.post_kinds import ALERT, names

PRUNED_AT_ONCE = 2_000
"""Rows that one transaction forgets, so that the intake never waits long."""
STATEMENT_SECONDS = 20.0
"""A statement may look through much where the database is large."""
REDACTED = "(erased)"

_UNSENT = sa.select(posts.c.alert_id).where(UNSENT, posts.c.alert_id != "", sa.not_(IS_GIVEN_UP))
# Deliveries that are routed, and whose messages are all sent or given up: a channel may be broken for longer than words
# are kept.
_DONE = sa.not_(deliveries.c.pending) & deliveries.c.id.not_in(
    sa.select(alerts.c.delivery_id).where(alerts.c.id.in_(_UNSENT))
)


class Retention(Repository):
    """Delete what has reached its retention limit."""

    @writes
    def prune(self, tx: Transaction, *, bodies_after: float, hashes_after: float) -> bool:
        """Forget one portion of what is older than so many seconds: what leads wrote, and all that is recorded of them.

        Returns whether more is left.
        """
        words, hashes, most = tx.now - bodies_after, tx.now - hashes_after, PRUNED_AT_ONCE
        # Entries of the audit are numbered as they come, and reminders quote leads.
        first_acts = sa.select(audit.c.id).order_by(audit.c.id).limit(most)
        ended = posts.c.kind.in_(names(kept="briefly")) | (posts.c.state == State.SENT)
        is_no_alert = posts.c.kind != literal(ALERT)  # in the words of the index
        old_posts = (
            is_no_alert & (posts.c.created_at < words) & posts.c.kind.not_in(names(kept="alert")) & ended
        )
        with long_statements(tx.connection, STATEMENT_SECONDS):
            forgotten = {
                _forget_words(tx, before=words),
                _forget_deliveries(tx, before=hashes),
                tx.prune(audit, audit.c.id.in_(first_acts) & (audit.c.at < hashes), most=most),
                # Those that the service has long ceased to list as interested: listed again, they are news.
                tx.prune(known_leads, known_leads.c.seen_at < hashes, by=known_leads.c.seen_at, most=most),
                # A question of `remove` names a lead.
                tx.prune(questions, questions.c.ends_at < words, by=questions.c.ends_at, most=most),
                tx.prune(posts, old_posts, most=most),
            }
            # What Slack refused for good, of which there is little.
            lost = is_in(State.DEAD) & IS_GIVEN_UP & (posts.c.created_at < words)
            tx.delete(posts, lost)
        return most in forgotten


def _forget_words(tx: Transaction, *, before: float) -> int:
    c = deliveries.c
    old = sa.select(c.id).where(c.received_at < before, c.body.is_not(None), _DONE).limit(PRUNED_AT_ONCE)
    return tx.update(deliveries, c.id.in_(old), body=None)


def _forget_deliveries(tx: Transaction, *, before: float) -> int:
    """Forget deliveries with their alerts and posts."""
    c = deliveries.c
    old = sa.select(c.id).where(c.received_at < before, c.last_at < before, _DONE).limit(PRUNED_AT_ONCE)
    ids = tx.scalars(old).all()
    of_these = sa.select(alerts.c.id).where(alerts.c.delivery_id.in_(ids))
    tx.delete(posts, posts.c.alert_id.in_(of_these))
    tx.delete(alerts, alerts.c.delivery_id.in_(ids))
    return tx.delete(deliveries, c.id.in_(ids))


@frozen
class PostedMessage:
    """A message in Slack about the person; `shared` with other people's alerts, where many arrived at once."""

    channel: str
    ts: str
    shared: bool


@frozen
class Traces:
    """The places of a person in the database, by the ids of rows; what merely quotes the address is redacted."""

    email: str
    alerts: tuple[str, ...] = ()
    deliveries: tuple[int, ...] = ()
    posts: tuple[int, ...] = ()
    questions: tuple[str, ...] = ()
    audit: tuple[int, ...] = ()
    known: int = 0
    """The number of workspaces in which the person is remembered as interested."""
    messages: tuple[PostedMessage, ...] = ()
    on_their_way: int = 0
    """The number of messages that may be in Slack, where the database doesn't yet know."""

    def __bool__(self) -> bool:
        return any((self.alerts, self.deliveries, self.posts, self.questions, self.audit, self.known))


class Erasure(Repository):
    """Find and erase what is stored of a person. Other rows, and the hashes of deliveries, stay as they are."""

    @reads
    def find(self, tx: Transaction, email: str) -> Traces:
        """Find a person; reads every row with text, so it takes a while where the database is large."""
        email = address(email)
        own = tx.execute(sa.select(alerts.c.id, alerts.c.delivery_id).where(alerts.c.email == email)).all()
        told = tuple(row.id for row in own)
        # By their address, or by the id of one of their alerts.
        redaction = Redaction(email, *told)

        def naming(*texts: sa.Column[Any]) -> set[Any]:
            return {key for (key,) in rows_with(tx.connection, redaction, *texts)}

        noted = naming(posts.c.note)
        for some in portions(told):
            noted.update(tx.scalars(sa.select(posts.c.id).where(posts.c.alert_id.in_(some))))
        # Of the deliveries that quote the person in another's alert, only the address is removed.
        bodies = naming(deliveries.c.body)
        for some in portions(sorted(bodies)):
            bodies -= {*tx.scalars(sa.select(alerts.c.delivery_id).where(alerts.c.delivery_id.in_(some)))}
        remembered = sa.select(sa.func.count()).where(known_leads.c.lead == lead_key(email))
        return Traces(
            email=email,
            alerts=told,
            deliveries=tuple(sorted(bodies.union(row.delivery_id for row in own))),
            posts=tuple(sorted(noted)),
            questions=tuple(sorted(naming(questions.c.data))),
            audit=tuple(sorted(naming(audit.c.command, audit.c.result))),
            known=tx.scalar(remembered) or 0,
            messages=_messages(tx, noted),
            on_their_way=_on_their_way(tx, noted),
        )

    async def erase(self, traces: Traces) -> None:
        """Erase it in portions; doing it again after a crash finishes it."""
        steps: tuple[tuple[Any, Sequence[Any]], ...] = (
            (_erase_posts, traces.posts),
            (partial(_delete, alerts.c.id), traces.alerts),
            (_erase_bodies, traces.deliveries),
            (partial(_delete, questions.c.id), traces.questions),
            (_erase_lines, traces.audit),
            (partial(_delete, known_leads.c.lead), [lead_key(traces.email)]),
        )
        for erase, ids in steps:
            for some in portions(ids):
                await self.database.write(partial(erase, ids=some))

    @writes
    def redraw(self, tx: Transaction, ids: Sequence[int]) -> None:
        """Have the messages of these deliveries drawn again: other people's texts, from which an address was removed."""
        changed = sa.select(alerts.c.id).where(alerts.c.delivery_id.in_(ids))
        messages.redraw(tx, posts.c.alert_id.in_(changed) & (posts.c.ts != ""))


def _delete(key: sa.Column[Any], tx: Transaction, ids: Sequence[Any]) -> None:
    tx.delete(key.table, key.in_(ids))


def _erase_posts(tx: Transaction, ids: Sequence[int]) -> None:
    """Delete them, and have the messages that they share with others drawn again, without them."""
    gone = sa.select(posts.c.channel, posts.c.ts).where(posts.c.id.in_(ids), posts.c.ts != "").distinct()
    shared = sa.tuple_(posts.c.channel, posts.c.ts).in_(gone) & posts.c.id.not_in(ids)
    messages.redraw(tx, shared)
    _delete(posts.c.id, tx, ids)


def _erase_bodies(tx: Transaction, ids: Sequence[int]) -> None:
    """The hash stays: the same delivery, sent again, must not bring the person back."""
    other = deliveries.alias()
    before = sa.not_(other.c.pending) | (other.c.id < deliveries.c.id)
    repeats = deliveries.c.pending & sa.exists().where(other.c.dkey == deliveries.c.dkey, before)
    tx.delete(deliveries, deliveries.c.id.in_(ids) & repeats)
    tx.update(deliveries, deliveries.c.id.in_(ids), body=None, pending=False, problem=ERASED)


def _erase_lines(tx: Transaction, ids: Sequence[int]) -> None:
    """Leave who did something, and when."""
    tx.update(audit, audit.c.id.in_(ids), command=REDACTED, result=REDACTED)


def _messages(tx: Transaction, ids: Collection[int]) -> tuple[PostedMessage, ...]:
    """The messages in Slack that these posts are, or have a part in."""
    c, ours = posts.c, Counter[tuple[str, str]]()
    for some in portions(sorted(ids)):
        own = tx.execute(sa.select(c.channel, c.ts).where(c.id.in_(some), c.ts != ""))
        ours.update((row.channel, row.ts) for row in own)
    posted: list[PostedMessage] = []
    for (channel, ts), number in sorted(ours.items()):
        there = tx.scalar(sa.select(sa.func.count()).where(c.channel == channel, c.ts == ts)) or 0
        posted.append(PostedMessage(channel=channel, ts=ts, shared=there > number))
    return tuple(posted)


def _on_their_way(tx: Transaction, ids: Collection[int]) -> int:
    """The number of these posts that were handed to Slack, without a known end."""
    is_open = posts.c.state.in_((State.SENDING, State.UNCERTAIN)) & (posts.c.ts == "")
    query = sa.select(sa.func.count()).where(is_open)
    return sum(tx.scalar(query.where(posts.c.id.in_(some))) or 0 for some in portions(sorted(ids)))
