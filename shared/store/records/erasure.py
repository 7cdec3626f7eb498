"""Erases a person: everything that was stored of an address, whether posted, waiting or only recorded."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import sqlalchemy as sa

from shared.store import messages
from shared.store.db.engine import Repository, Transaction, portions, reads, writes
from shared.store.db.schema import (
    alerts,
    audit,
    deliveries,
    jobs,
    known_leads,
    posts,
    questions,
)
from shared.store.jobs import read_payload
from shared.store.queue.intake import address, lead_key
from shared.store.queue.routing import ERASED

REDACTED = "(erased)"
K = TypeVar("K", int, str)
ALERT_ID = "al_"
"""The beginning of the ids of alerts."""
MANY_ALERTS = 20
AT_ONCE = 500
"""Bodies that are read together."""


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
        found = (self.alerts, self.deliveries, self.posts, self.questions, self.jobs, self.audit)
        return any(found) or self.known > 0


class Erasure(Repository):
    """Find and erase what is stored of a person. Other rows, and the hashes of deliveries, stay as they are."""

    @reads
    def find(self, tx: Transaction, email: str) -> Traces:
        """What there is; reads every row with text, so it takes a while where the database is large."""
        email = address(email)
        of_person = sa.select(alerts.c.id, alerts.c.delivery_id).where(alerts.c.email == email)
        own = tx.execute(of_person).all()
        names = tuple(row.id for row in own)
        mine = _Mentions(email, names)
        bodies = mine.ids(tx, deliveries.c.id, deliveries.c.body)
        noted = {*_ids_of(tx, posts.c.id, posts.c.alert_id, names), *mine.ids(tx, posts.c.id, posts.c.note)}
        known = sa.select(sa.func.count()).where(known_leads.c.lead == lead_key(email))
        return Traces(
            email=email,
            alerts=names,
            deliveries=tuple(sorted({*(row.delivery_id for row in own), *bodies})),
            posts=tuple(sorted(noted)),
            questions=tuple(sorted(mine.ids(tx, questions.c.id, questions.c.data, questions.c.result))),
            jobs=tuple(sorted(mine.ids(tx, jobs.c.id, jobs.c.payload, jobs.c.key, jobs.c.error))),
            audit=tuple(sorted(mine.ids(tx, audit.c.id, audit.c.command, audit.c.result))),
            known=tx.scalar(known) or 0,
            messages=_messages(tx, noted),
        )

    async def erase(self, traces: Traces) -> None:
        """Erase it in portions; doing it again after a crash finishes it."""
        for some in portions(traces.posts):
            await self._erase_posts(some)
        for names in portions(traces.alerts):
            await self._delete(alerts.c.id, names)
        for some in portions(traces.deliveries):
            await self._erase_bodies(some)
        for names in portions(traces.questions):
            await self._delete(questions.c.id, names)
        for some in portions(traces.jobs):
            await self._erase_payloads(some)
        for some in portions(traces.audit):
            await self._erase_lines(some)
        await self._delete(known_leads.c.lead, [lead_key(traces.email)])

    @writes
    def redraw(self, tx: Transaction, ids: Sequence[int]) -> None:
        """Have the messages of these deliveries drawn anew: other people's texts, from which an address was removed."""
        changed = sa.select(alerts.c.id).where(alerts.c.delivery_id.in_(ids))
        drawn = posts.c.alert_id.in_(changed) & (posts.c.ts != "")
        messages.redraw(tx, drawn)

    @writes
    def _delete(self, tx: Transaction, key: sa.Column[str], values: Sequence[str]) -> None:
        tx.execute(sa.delete(key.table).where(key.in_(values)))

    @writes
    def _erase_posts(self, tx: Transaction, ids: Sequence[int]) -> None:
        """Delete them, and have the messages that they share with others drawn anew, without them."""
        gone = sa.select(posts.c.channel, posts.c.ts).where(posts.c.id.in_(ids), posts.c.ts != "").distinct()
        shared = sa.tuple_(posts.c.channel, posts.c.ts).in_(gone) & posts.c.id.not_in(ids)
        messages.redraw(tx, shared)
        tx.execute(sa.delete(posts).where(posts.c.id.in_(ids)))

    @writes
    def _erase_bodies(self, tx: Transaction, ids: Sequence[int]) -> None:
        """The hash stays: the same delivery, sent again, must not bring the person back."""
        other = deliveries.alias()
        known = (other.c.dkey == deliveries.c.dkey) & (
            sa.not_(other.c.pending) | (other.c.id < deliveries.c.id)
        )
        repeats = deliveries.c.pending & sa.exists().where(known)
        tx.execute(sa.delete(deliveries).where(deliveries.c.id.in_(ids), repeats))
        erased = sa.update(deliveries).where(deliveries.c.id.in_(ids))
        tx.execute(erased.values(body=None, pending=False, problem=ERASED))

    @writes
    def _erase_payloads(self, tx: Transaction, ids: Sequence[int]) -> None:
        """Keep the jobs and their times: a pause must end, whatever its reason said."""
        rows = tx.execute(sa.select(jobs.c.id, jobs.c.payload).where(jobs.c.id.in_(ids))).all()
        for row in rows:
            payload = read_payload(row.payload)
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
        self._email, self._alerts = email.lower(), frozenset(map(str.lower, names))
        # Not ada@x.example in lada@x.example, nor in ada@x.example.org.
        self._words = re.compile(
            rf"(?<![\w.+%-])(?:{re.escape(email)}|{ALERT_ID}\w+)(?![\w-]|\.\w)", re.IGNORECASE
        )

    def ids(self, tx: Transaction, key: sa.Column[K], *texts: sa.Column[Any]) -> set[K]:
        found: set[K] = set()
        for text in texts:
            if isinstance(text.type, sa.LargeBinary):
                found |= self._in_bodies(tx, key, text)
                continue
            like = (sa.func.lower(text).contains(part.lower(), autoescape=True) for part in self._parts)
            rows = tx.execute(sa.select(key.label("id"), text.label("text")).where(sa.or_(*like)))
            found |= {row.id for row in rows if self._in(row.text)}
        return found

    def _in(self, text: str) -> bool:
        return any(
            word == self._email or word in self._alerts for word in map(str.lower, self._words.findall(text))
        )

    def _in_bodies(self, tx: Transaction, key: sa.Column[K], body: sa.Column[Any]) -> set[K]:
        """Of those without an alert, which names the person already: not yet routed, or unreadable."""
        unread = sa.select(key.label("id"), body.label("body")).where(
            body.is_not(None), ~sa.exists().where(alerts.c.delivery_id == deliveries.c.id)
        )
        found: set[K] = set()
        for row in tx.execute(unread.execution_options(yield_per=AT_ONCE)):
            if self._in(bytes(row.body).decode("utf-8", "replace")):
                found.add(row.id)
        return found


def _ids_of(tx: Transaction, key: sa.Column[int], column: sa.Column[str], values: Sequence[str]) -> set[int]:
    return {
        found for some in portions(values) for found in tx.scalars(sa.select(key).where(column.in_(some)))
    }


def _messages(tx: Transaction, ids: Collection[int]) -> tuple[PostedMessage, ...]:
    mine: defaultdict[str, set[str]] = defaultdict(set)
    for some in portions(sorted(ids)):
        own = sa.select(posts.c.channel, posts.c.ts).where(posts.c.id.in_(some), posts.c.ts != "")
        for row in tx.execute(own.distinct()):
            mine[row.channel].add(row.ts)
    places: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    # Once each, however many of its posts there are, and of one channel at a time: SQLite looks up no pairs.
    for channel, stamps in mine.items():
        for chunk in portions(sorted(stamps)):
            there = sa.select(posts.c.id, posts.c.ts).where(posts.c.channel == channel, posts.c.ts.in_(chunk))
            for row in tx.execute(there):
                places[channel, row.ts].add(row.id)
    whole = set(ids)
    return tuple(
        PostedMessage(channel=channel, ts=ts, shared=not known <= whole)
        for (channel, ts), known in sorted(places.items())
    )
