"""Forgets: what is old, in portions, and a person, wherever an address was stored.

Texts go early and hashes late, because a hash is the only protection against a replay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa

from shared.domain.wall_clock import DAY
from shared.frozen import frozen
from shared.storage.database import long_statements
from shared.storage.redaction import Redaction, rows_with
from shared.store import facts, messages
from shared.store.db.engine import AT_ONCE, Repository, Transaction, portions, reads, writes
from shared.store.db.schema import (
    alerts,
    audit,
    deliveries,
    domains,
    incidents,
    jobs,
    known_leads,
    literal,
    posts,
    questions,
    samples,
)
from shared.store.db.schema import facts as fact_rows
from shared.store.deliveries import ERASED, address, lead_key
from shared.store.messages import IS_GIVEN_UP, UNSENT, is_in
from shared.store.post_kinds import ALERT, names

PRUNED_AT_ONCE = AT_ONCE
"""Rows of a table that one transaction forgets, so that the intake never waits long."""
COUNTS_SECONDS = 40 * DAY
"""The time for which guardrails' counts and incidents are kept: no rule looks back further."""
UNUSED_SECONDS = 7 * DAY
"""The time without an inbox after which a domain is no longer checked."""
EVENTS_SECONDS = 3 * DAY
"""The time for which an event of Slack's is known again; Slack sends one again for about an hour."""
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

        Likewise what is counted, checked or known only for a time of its own. Returns whether more is left.
        """
        words, hashes, counts = tx.now - bodies_after, tx.now - hashes_after, tx.now - COUNTS_SECONDS
        most = PRUNED_AT_ONCE
        # Entries of the audit are numbered as they come, and reminders quote leads.
        first_acts = sa.select(audit.c.id).order_by(audit.c.id).limit(most)
        ended = posts.c.kind.in_(names(kept="briefly")) | (posts.c.state == "sent")
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
                tx.prune(samples, samples.c.at < counts, by=samples.c.at, most=most),
            }
            # What Slack refused for good, of which there is little.
            lost = is_in("dead") & IS_GIVEN_UP & (posts.c.created_at < words)
            tx.delete(posts, lost)
            tx.delete(incidents, (incidents.c.began_at < counts) & incidents.c.ended_at.is_not(None))
        facts.forget(tx, "request", before=tx.now - EVENTS_SECONDS)
        # The DNS of domains: its changes, and the domains that nobody sends from.
        facts.forget(tx, "change", before=hashes)
        facts.forget(tx, "sender", before=tx.now - UNUSED_SECONDS)
        sending = sa.select(fact_rows.c.key).where(fact_rows.c.kind == "sender")
        tx.delete(domains, domains.c.domain.not_in(sending))
        tx.delete(jobs, (jobs.c.kind == "domain") & jobs.c.key.not_in(sending))
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


_QUOTING = ((posts.c.note,), (deliveries.c.body,), (questions.c.data,), (audit.c.command, audit.c.result))
"""The columns, table by table, that may quote a person."""
_UNDER_WAY = {"sending", "uncertain"}
_ALIKE = posts.alias()
_PARTS = sa.select(
    *(posts.c[name] for name in ("channel", "ts", "state")),
    sa.select(sa.func.count())
    .where(_ALIKE.c.channel == posts.c.channel, _ALIKE.c.ts == posts.c.ts, _ALIKE.c.ts != "")
    .scalar_subquery()
    .label("parts"),
)
"""Posts, and of how many the message consists that each is a part of."""


@frozen
class Traces:
    """The places of a person in the database; what merely quotes the address is redacted."""

    email: str
    rows: Mapping[str, Sequence[Any]]
    """The keys of rows, by the name of their table; the person may be remembered as interested in several workspaces."""
    messages: tuple[PostedMessage, ...] = ()
    on_their_way: int = 0
    """The number of messages that may be in Slack, where the database doesn't yet know."""

    def __bool__(self) -> bool:
        return any(self.rows.values())


class Erasure(Repository):
    """Find and erase what is stored of a person. Other rows, and the hashes of deliveries, stay as they are."""

    @reads
    def find(self, tx: Transaction, email: str) -> Traces:
        """Find a person; reads every row with text, so it takes a while where the database is large."""
        email = address(email)
        own = tx.execute(sa.select(alerts.c.id, alerts.c.delivery_id).where(alerts.c.email == email)).all()
        told = [row.id for row in own]
        # By their address, or by the id of one of their alerts.
        redaction = Redaction(email, *told)
        rows: dict[str, set[Any]] = {}
        for columns in _QUOTING:
            quoting = rows_with(tx.connection, redaction, *columns)
            rows[columns[0].table.name] = {key for (key,) in quoting}
        noted, bodies = rows[posts.name], rows[deliveries.name]
        mine = sa.select(alerts.c.id).where(alerts.c.email == email)
        noted.update(tx.scalars(sa.select(posts.c.id).where(posts.c.alert_id.in_(mine))))
        # Of the deliveries that quote the person in another's alert, only the address is removed.
        bodies.difference_update(tx.scalars(sa.select(alerts.c.delivery_id).where(alerts.c.email != email)))
        bodies.update(row.delivery_id for row in own)
        remembered = sa.select(known_leads.c.lead).where(known_leads.c.lead == lead_key(email))
        rows |= {alerts.name: {*told}, known_leads.name: {*tx.scalars(remembered)}}
        on_their_way, ours = 0, Counter[tuple[str, str, int]]()
        for some in portions(sorted(noted)):
            for row in tx.execute(_PARTS.where(posts.c.id.in_(some))):
                on_their_way += row.state in _UNDER_WAY and not row.ts
                ours[row.channel, row.ts, row.parts] += 1
        return Traces(
            email=email,
            rows={name: sorted(keys) for name, keys in rows.items()},
            messages=tuple(
                PostedMessage(channel=channel, ts=ts, shared=parts > number)
                for (channel, ts, parts), number in sorted(ours.items())
                if ts
            ),
            on_their_way=on_their_way,
        )

    async def erase(self, traces: Traces) -> None:
        """Erase it in portions; doing it again after a crash finishes it."""
        for name, erase in _ERASED.items():
            for some in portions(traces.rows[name]):
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


_ERASED: Mapping[str, Callable[..., None]] = {
    posts.name: _erase_posts,
    alerts.name: partial(_delete, alerts.c.id),
    deliveries.name: _erase_bodies,
    questions.name: partial(_delete, questions.c.id),
    audit.name: _erase_lines,
    known_leads.name: partial(_delete, known_leads.c.lead),
}
"""The functions that erase rows, table by table, in this order."""
