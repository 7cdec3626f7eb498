"""Forgets: what is old, in portions, and a person, wherever an address was stored.

Texts go early and hashes late, because a hash is the only protection against a replay.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import sqlalchemy as sa

from shared.storage.database import long_statements
from shared.store import facts, messages
from shared.store.db.engine import AT_ONCE, Repository, Transaction, portions, reads, writes
from shared.store.db.schema import alerts, audit, deliveries, jobs, known_leads, posts, questions
from shared.store.deliveries import ERASED, address, lead_key
from shared.store.messages import UNSENT, State, is_in
from shared.store.post_kinds import ALERT, names
from shared.store.posting import IS_GIVEN_UP

PRUNED_AT_ONCE = 2_000
"""Rows that one transaction forgets, so that the intake never waits long."""
STATEMENT_SECONDS = 20.0
"""A statement may look through much where the database is large."""
REDACTED = "(erased)"
ALERT_ID = "al_"
"""The beginning of the ids of alerts."""
MANY_ALERTS = 20
K = TypeVar("K", int, str)


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
        words, hashes = tx.now - bodies_after, tx.now - hashes_after
        with long_statements(tx.connection, STATEMENT_SECONDS):
            bodies = _forget_words(tx, before=words)
            gone = _forget_deliveries(tx, before=hashes)
            others = {
                _forget(tx, audit.c.id, _old_acts(hashes)),
                _forget_known_leads(tx, before=hashes),
                _forget(tx, questions.c.id, _old_questions(words)),
                _forget(tx, posts.c.id, _old_messages(words)),
            }
            # What Slack refused for good, of which there is little.
            lost = is_in(State.DEAD) & IS_GIVEN_UP & (posts.c.created_at < words)
            tx.execute(sa.delete(posts).where(lost))
        return Pruned(bodies=bodies, deliveries=gone, more=PRUNED_AT_ONCE in {bodies, gone, *others})


_UNSENT = sa.select(posts.c.alert_id).where(UNSENT, posts.c.alert_id != "", sa.not_(IS_GIVEN_UP))
_DONE = sa.not_(deliveries.c.pending) & deliveries.c.id.not_in(
    sa.select(alerts.c.delivery_id).where(alerts.c.id.in_(_UNSENT))
)
"""Deliveries that are routed, and whose messages are all sent or given up: a channel may be broken for longer than words
are kept."""


def _forget(tx: Transaction, key: sa.Column[Any], old: sa.Select[Any]) -> int:
    return tx.execute(sa.delete(key.table).where(key.in_(old))).rowcount


def _forget_words(tx: Transaction, *, before: float) -> int:
    c = deliveries.c
    old = sa.select(c.id).where(c.received_at < before, c.body.is_not(None), _DONE).limit(PRUNED_AT_ONCE)
    return tx.execute(sa.update(deliveries).where(c.id.in_(old)).values(body=None)).rowcount


def _forget_deliveries(tx: Transaction, *, before: float) -> int:
    """With their alerts and posts."""
    c = deliveries.c
    old = sa.select(c.id).where(c.received_at < before, c.last_at < before, _DONE).limit(PRUNED_AT_ONCE)
    ids = tx.scalars(old).all()
    of_these = sa.select(alerts.c.id).where(alerts.c.delivery_id.in_(ids))
    tx.execute(sa.delete(posts).where(posts.c.alert_id.in_(of_these)))
    tx.execute(sa.delete(alerts).where(alerts.c.delivery_id.in_(ids)))
    return tx.execute(sa.delete(deliveries).where(c.id.in_(ids))).rowcount


def _old_acts(before: float) -> sa.Select[Any]:
    """Entries of the audit, which are numbered as they come."""
    first = sa.select(audit.c.id, audit.c.at).order_by(audit.c.id).limit(PRUNED_AT_ONCE).subquery()
    return sa.select(first.c.id).where(first.c.at < before)


def _forget_known_leads(tx: Transaction, *, before: float) -> int:
    """Those that the service has long ceased to list as interested: listed again, they are news."""
    c = known_leads.c
    old = sa.select(c.workspace, c.lead).where(c.seen_at < before).order_by(c.seen_at).limit(PRUNED_AT_ONCE)
    return tx.execute(sa.delete(known_leads).where(sa.tuple_(c.workspace, c.lead).in_(old))).rowcount


def _old_questions(before: float) -> sa.Select[Any]:
    """A question of `remove` names a lead."""
    c = questions.c
    return sa.select(c.id).where(c.ends_at < before).order_by(c.ends_at).limit(PRUNED_AT_ONCE)


def _old_messages(before: float) -> sa.Select[Any]:
    """Answers, and posts other than alerts, because reminders quote leads."""
    c = posts.c
    ended = sa.or_(c.kind.in_(names(kept="briefly")), c.state == State.SENT)
    is_no_alert = c.kind != sa.literal(ALERT, literal_execute=True)  # in the words of the index
    old = is_no_alert & (c.created_at < before) & c.kind.not_in(names(kept="alert")) & ended
    return sa.select(c.id).where(old).limit(PRUNED_AT_ONCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedMessage:
    """A message in Slack about the person; `shared` with other people's alerts, where many arrived at once."""

    channel: str
    ts: str
    shared: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """Where a person is in the database; ids of rows."""

    email: str
    alerts: tuple[str, ...] = ()
    deliveries: tuple[int, ...] = ()
    posts: tuple[int, ...] = ()
    questions: tuple[str, ...] = ()
    jobs: tuple[int, ...] = ()
    audit: tuple[int, ...] = ()
    known: int = 0
    """In how many workspaces the person is remembered as interested."""
    messages: tuple[PostedMessage, ...] = ()

    def __bool__(self) -> bool:
        kept = (self.alerts, self.deliveries, self.posts, self.questions, self.jobs, self.audit)
        return any(kept) or self.known > 0


class Erasure(Repository):
    """Find and erase what is stored of a person. Other rows, and the hashes of deliveries, stay as they are."""

    @reads
    def find(self, tx: Transaction, email: str) -> Traces:
        """What there is; reads every row with text, so it takes a while where the database is large."""
        email = address(email)
        own = tx.execute(sa.select(alerts.c.id, alerts.c.delivery_id).where(alerts.c.email == email)).all()
        told = tuple(row.id for row in own)
        mine = _Mentions(email, told)
        bodies = mine.ids(tx, deliveries.c.id, deliveries.c.body)
        noted = {*_ids_of(tx, posts.c.id, posts.c.alert_id, told), *mine.ids(tx, posts.c.id, posts.c.note)}
        remembered = sa.select(sa.func.count()).where(known_leads.c.lead == lead_key(email))
        return Traces(
            email=email,
            alerts=told,
            deliveries=tuple(sorted({*(row.delivery_id for row in own), *bodies})),
            posts=tuple(sorted(noted)),
            questions=tuple(sorted(mine.ids(tx, questions.c.id, questions.c.data, questions.c.result))),
            jobs=tuple(sorted(mine.ids(tx, jobs.c.id, jobs.c.payload, jobs.c.key, jobs.c.error))),
            audit=tuple(sorted(mine.ids(tx, audit.c.id, audit.c.command, audit.c.result))),
            known=tx.scalar(remembered) or 0,
            messages=_messages(tx, noted),
        )

    async def erase(self, traces: Traces) -> None:
        """Erase it in portions; doing it again after a crash finishes it."""
        for posted in portions(traces.posts):
            await self._erase_posts(posted)
        for told in portions(traces.alerts):
            await self._delete(alerts.c.id, told)
        for bodies in portions(traces.deliveries):
            await self._erase_bodies(bodies)
        for asked in portions(traces.questions):
            await self._delete(questions.c.id, asked)
        for due in portions(traces.jobs):
            await self._erase_payloads(due)
        for lines in portions(traces.audit):
            await self._erase_lines(lines)
        await self._delete(known_leads.c.lead, [lead_key(traces.email)])

    @writes
    def redraw(self, tx: Transaction, ids: Sequence[int]) -> None:
        """Have the messages of these deliveries drawn again: other people's texts, from which an address was removed."""
        changed = sa.select(alerts.c.id).where(alerts.c.delivery_id.in_(ids))
        messages.redraw(tx, posts.c.alert_id.in_(changed) & (posts.c.ts != ""))

    @writes
    def _delete(self, tx: Transaction, key: sa.Column[str], values: Sequence[str]) -> None:
        tx.execute(sa.delete(key.table).where(key.in_(values)))

    @writes
    def _erase_posts(self, tx: Transaction, ids: Sequence[int]) -> None:
        """Delete them, and have the messages that they share with others drawn again, without them."""
        gone = sa.select(posts.c.channel, posts.c.ts).where(posts.c.id.in_(ids), posts.c.ts != "").distinct()
        shared = sa.tuple_(posts.c.channel, posts.c.ts).in_(gone) & posts.c.id.not_in(ids)
        messages.redraw(tx, shared)
        tx.execute(sa.delete(posts).where(posts.c.id.in_(ids)))

    @writes
    def _erase_bodies(self, tx: Transaction, ids: Sequence[int]) -> None:
        """The hash stays: the same delivery, sent again, must not bring the person back."""
        other = deliveries.alias()
        before = sa.not_(other.c.pending) | (other.c.id < deliveries.c.id)
        repeats = deliveries.c.pending & sa.exists().where(other.c.dkey == deliveries.c.dkey, before)
        tx.execute(sa.delete(deliveries).where(deliveries.c.id.in_(ids), repeats))
        erased = sa.update(deliveries).where(deliveries.c.id.in_(ids))
        tx.execute(erased.values(body=None, pending=False, problem=ERASED))

    @writes
    def _erase_payloads(self, tx: Transaction, ids: Sequence[int]) -> None:
        """Keep the jobs and their times: a pause must end, whatever its reason said."""
        for row in tx.execute(sa.select(jobs.c.id, jobs.c.payload).where(jobs.c.id.in_(ids))).all():
            payload = facts.read(row.payload)
            kept = {name: value for name, value in payload.items() if not isinstance(value, str)}
            erased = sa.update(jobs).where(jobs.c.id == row.id)
            tx.execute(erased.values(payload=json.dumps(kept), error=""))

    @writes
    def _erase_lines(self, tx: Transaction, ids: Sequence[int]) -> None:
        """Who did something and when stays."""
        tx.execute(sa.update(audit).where(audit.c.id.in_(ids)).values(command=REDACTED, result=REDACTED))


class _Mentions:
    """Rows whose text names the person: by address, or by the id of one of their alerts."""

    def __init__(self, email: str, names: Collection[str]) -> None:
        # Of many alerts, those that mention any are looked through here: a pattern for each would be tried on each row.
        self._parts = (email, *names) if len(names) <= MANY_ALERTS else (email, ALERT_ID)
        self._wanted = {text.lower() for text in (email, *names)}
        # Not ada@x.example in lada@x.example, nor in ada@x.example.org.
        self._words = re.compile(
            rf"(?<![\w.+%-])(?:{re.escape(email)}|{ALERT_ID}\w+)(?![\w-]|\.\w)", re.IGNORECASE
        )

    def ids(self, tx: Transaction, key: sa.Column[K], *texts: sa.Column[Any]) -> set[K]:
        """The rows in one of whose texts the person is named."""
        return {
            row.id
            for text in texts
            for row in tx.execute(self._query(key, text).execution_options(yield_per=AT_ONCE))
            if self._wanted & {word.lower() for word in self._words.findall(_decoded(row.text))}
        }

    def _query(self, key: sa.Column[K], text: sa.Column[Any]) -> sa.Select[Any]:
        query = sa.select(key.label("id"), text.label("text"))
        if isinstance(text.type, sa.LargeBinary):
            # Bodies without an alert, which names the person already: not yet routed, or unreadable.
            has_alert = sa.exists().where(alerts.c.delivery_id == deliveries.c.id)
            return query.where(text.is_not(None), ~has_alert)
        like = (sa.func.lower(text).contains(part.lower(), autoescape=True) for part in self._parts)
        return query.where(sa.or_(*like))


def _decoded(text: str | bytes) -> str:
    return text if isinstance(text, str) else bytes(text).decode("utf-8", "replace")


def _ids_of(tx: Transaction, key: sa.Column[int], column: sa.Column[str], values: Sequence[str]) -> set[int]:
    queries = [sa.select(key).where(column.in_(some)) for some in portions(values)]
    return {number for query in queries for number in tx.scalars(query)}


def _messages(tx: Transaction, ids: Collection[int]) -> tuple[PostedMessage, ...]:
    stamps: defaultdict[str, set[str]] = defaultdict(set)
    for numbers in portions(sorted(ids)):
        own = sa.select(posts.c.channel, posts.c.ts).where(posts.c.id.in_(numbers), posts.c.ts != "")
        for row in tx.execute(own.distinct()):
            stamps[row.channel].add(row.ts)
    places: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    # Once each, however many of its posts there are, and of one channel at a time: SQLite looks up no pairs.
    for channel, of_channel in stamps.items():
        for some in portions(sorted(of_channel)):
            here = (posts.c.channel == channel) & posts.c.ts.in_(some)
            for row in tx.execute(sa.select(posts.c.id, posts.c.ts).where(here)):
                places[channel, row.ts].add(row.id)
    return tuple(
        PostedMessage(channel=channel, ts=ts, shared=not shown <= {*ids})
        for (channel, ts), shown in sorted(places.items())
    )
