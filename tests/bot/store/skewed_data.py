"""A store in which one workspace, one lead and one channel of each state have everything, and how to try work on it.

Whatever a trial writes is undone after it, so that one database serves all cases of its size.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import sqlalchemy as sa

from shared.domain.wall_clock import moment
from shared.domain_health.encoding import encode_report
from shared.domain_health.report import Check, CheckReport, DomainReport, Value
from shared.store import facts
from shared.store.db.engine import Database, Transaction, Work, portions
from shared.store.db.schema import (
    alerts,
    audit,
    deliveries,
    domains,
    incidents,
    jobs,
    known_leads,
    posts,
    questions,
    samples,
    sequence_changes,
)
from shared.store.db.schema import facts as fact_rows
from tests.bot.harness import interested

T = TypeVar("T")
Row = dict[str, Any]

WORKSPACE = "acme"
EMAIL = "ada0@acme.example"
CALM, UNCERTAIN, REFUSED, HELD, STALE, SHARED = "C1", "C2", "C3", "C4", "C5", "C6"
"""A channel for each state that its posts can be in."""
MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0


class Rehearsal(Database):
    """A database whose work is undone after each trial, and done in the thread of the test."""

    connection: sa.Connection | None = None

    async def _run(self, _pool: ThreadPoolExecutor, job: Callable[[], T]) -> T:
        return job()

    def _transact(self, engine: sa.Engine, work: Work[T]) -> T:
        if self.connection is None:
            return super()._transact(engine, work)
        with self.connection.begin_nested():
            return work(Transaction(self.connection, self._now))

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Everything within is one transaction that is rolled back."""
        with self.engine.connect() as connection, connection.begin() as transaction:
            self.connection = connection
            try:
                yield
            finally:
                self.connection = None
                transaction.rollback()


def fill(connection: sa.Connection, count: int, *, now: float) -> None:
    """So many rows of each table and state."""
    numbers = range(count)
    bodies, told, posted = _alerts(numbers, now=now)
    tables: Mapping[sa.Table, Sequence[Row]] = {
        deliveries: bodies,
        alerts: told,
        posts: [*posted, *_posts(numbers, now=now)],
        **_records(numbers, now=now),
        **_guardrails(numbers, now=now),
        **_domains(numbers, now=now),
    }
    for table, rows in tables.items():
        for some in portions(list(rows), 5_000):  # each within the time that a statement may take
            connection.execute(sa.insert(table), some)


_STATES: Mapping[str, Callable[[float, int], Row]] = {
    "old": lambda at, _: {"handled_at": at, "handled_name": "ann", "claimed_at": at, "received_at": at - 10 * DAY},
    "open": lambda at, _: {"waiting_since": at},
    "mine": lambda at, _: {"claimed_by": "U1", "claimed_name": "ann", "claimed_at": at},
    "asleep": lambda at, _: {"snoozed_until": at, "snoozed_name": "ann"},
    "turn": lambda at, _: {"waiting_since": at, "nudges": 2, "rota": "routes", "owner": "U2", "turn_ends_at": at + DAY},
    "domain": lambda at, n: {"kind": "domain.paused", "domain": f"d{n}.example", "ack_due_at": at},
}  # fmt: skip
"""Alerts of one lead, half an hour old and more, by what their ids begin with after `al_`."""


def _alerts(numbers: Sequence[int], *, now: float) -> tuple[list[Row], list[Row], list[Row]]:
    """Deliveries, their alerts and the cards of those in a calm channel; then the deliveries that nobody has read."""
    bodies: list[Row] = []
    told: list[Row] = []
    posted: list[Row] = []
    for place, (name, values) in enumerate(_STATES.items()):
        for n in numbers:
            key, at = 1 + n + place * 100_000, now - 30 * MINUTE - n
            row = {
                "received_at": at,
                "kind": "reply.interested",
                "email": EMAIL,
                "sequence": "Q3",
                **_NOT_YET,
                **values(at, n),
            }
            told.append(
                {
                    **row,
                    "id": f"al_{name}{n}",
                    "delivery_id": key,
                    "workspace": WORKSPACE,
                    "reply": f"{name}{n}",
                }
            )
            bodies.append(delivered(key, row["kind"], interested(n), at=row["received_at"], pending=False))
            posted.append(
                _post(f"{name}{n}", CALM, "sent", at=at, alert_id=f"al_{name}{n}", ts=f"1.{key}", sent_at=at)
            )
    seen = {"domain": "d0.example", "sequence": "Q3", "detail": "hard", "inbox": "sam@d0.example"}
    bodies += [
        {**delivered(800_000 + n, "lead.bounced", b"{}", at=now - n / 10, pending=False), **seen}
        for n in numbers
    ]
    bodies += [delivered(900_000 + n, "", interested(n), at=now - n / 100, pending=True) for n in numbers]
    return bodies, told, posted


_NOT_YET: Row = {
    **dict.fromkeys(
        ("waiting_since", "handled_at", "claimed_at", "snoozed_until", "ack_due_at", "turn_ends_at")
    ),
    "nudges": 0,
    **dict.fromkeys(
        ("handled_name", "claimed_by", "claimed_name", "snoozed_name", "domain", "rota", "owner"), ""
    ),
}


def delivered(key: int, kind: str, body: bytes, *, at: float, pending: bool) -> Row:
    return {
        "id": key, "dkey": hashlib.sha256(b"%d" % key).digest(), "workspace": WORKSPACE, "kind": kind, "body": body,
        "received_at": at, "last_at": at, "seen": 1, "pending": pending, "domain": "", "sequence": "", "detail": "",
        "inbox": "",
    }  # fmt: skip


def _post(dedupe: str, channel: str, state: str, *, at: float, **values: Any) -> Row:
    row = {
        "dedupe": dedupe, "workspace": WORKSPACE, "channel": channel, "kind": "alert", "state": state, "created_at": at,
        "note": "", "ts": "", "alert_id": "", "bundle": "", "undo": 0,
        "held_until": None, "sent_at": None, "tried_until": None,
    }  # fmt: skip
    return {**row, **values}


def _posts(numbers: Sequence[int], *, now: float) -> Iterator[Row]:
    """Those that are not simply sent: of the alerts that are open, each state in a channel of its own."""
    for n in numbers:
        at, alert = now - 20 * MINUTE + n / 1000, f"al_open{n}"
        yield _post(f"wait{n}", CALM, "ready", at=at, alert_id=alert)
        yield _post(f"unsure{n}", UNCERTAIN, "uncertain", at=at, alert_id=alert, tried_until=at)
        yield _post(f"dead{n}", REFUSED, "dead", at=at, alert_id=alert)
        yield _post(f"held{n}", HELD, "held", at=at, alert_id=alert, held_until=at)
        yield _post(f"stale{n}", STALE, "sent", at=at, alert_id=alert, ts=f"5.{n}")
        yield _post(f"shared{n}", SHARED, "sent", at=at, alert_id=alert, bundle="b1", ts="9.1")
        yield _post(f"undo{n}", CALM, "sent", at=at, kind="note", note="{}", undo=n + 1, ts=f"6.{n}")


def _queue(numbers: Sequence[int], *, now: float) -> list[Row]:
    """The jobs of the channels, and of those with uncertain posts and stale messages."""
    broken = {"trouble": "is_archived", "trouble_since": now - HOUR}
    channels: dict[str, tuple[float | None, dict[str, Any]]] = {
        CALM: (now - MINUTE, {}),
        REFUSED: (None, broken),
        SHARED: (None, {}),
        **{f"C{100 + n}": (None, {"trouble": "not_in_channel"}) for n in numbers},
    }
    return [
        *(
            {"workspace": "", "kind": "post", "key": channel, "due_at": due, "payload": json.dumps(payload)}
            for channel, (due, payload) in channels.items()
        ),
        {"workspace": "", "kind": "lookup", "key": f"{UNCERTAIN}/", "due_at": now - 1.0, "payload": "{}"},
        *(
            {"workspace": "", "kind": "paint", "key": f"{STALE}/5.{n}", "due_at": now - 1.0, "payload": "{}"}
            for n in numbers
        ),
    ]


def _records(numbers: Sequence[int], *, now: float) -> dict[sa.Table, list[Row]]:
    here = {"workspace": WORKSPACE}
    undo = json.dumps({"sq1": {"label": "S1", "status": "active", "revision": 1}})
    return {
        known_leads: [
            {**here, "lead": "" if n == 0 else f"lead{n}", "seen_at": now - 2 * DAY} for n in numbers
        ],
        questions: [
            {**here, "id": f"q{n}", "person": "U1", "data": "{}", "ends_at": now + HOUR} for n in numbers
        ],
        jobs: [
            {**here, "kind": kind, "key": f"sq{n}", "due_at": now - 1.0} for kind in ("late", "resume") for n in numbers
        ] + _queue(numbers, now=now)
        + [{"kind": "remind", "key": f"al_{state}{n}", "due_at": now - 1.0, "workspace": ""}
           for state in ("open", "mine") for n in numbers]
        + [{"kind": "digest", "key": f"day/C{100 + n}", "due_at": now - 1.0, **here} for n in numbers]
        + [{"kind": "release", "key": HELD, "due_at": now - 1.0, "workspace": ""}],
        sequence_changes: [
            {**here, "sequence": f"sq{n}", "confirmed": "paused", "resume_late_until": now + MINUTE} for n in numbers
        ],
        audit: [
            {"at": now - 1000.0 + n, **here, "actor_name": "ann", "actor_id": "U1", "command": "pause", "result": "done",
             "effect": "paused", "sequences": '["sq1"]', "undoable": undo} for n in numbers
        ],
        fact_rows: [*_facts(numbers, now=now)],
    }  # fmt: skip


def _guardrails(numbers: Sequence[int], *, now: float) -> dict[sa.Table, list[Row]]:
    incident = {
        "workspace": WORKSPACE, "rule": "rule0", "sentence": "", "action": "tell", "label": "", "note": "", "state": "done",
        "held_at": now - HOUR, "ended_at": None, "resumes_at": None, "change": 0,
    }  # fmt: skip
    return {
        incidents: [
            *({**incident, "subject": f"over{n}", "began_at": now - 2 * DAY - n, "ended_at": now - DAY, "change": n + 1}
              for n in numbers),
            *({**incident, "subject": f"now{n}", "began_at": now - n, "resumes_at": now + HOUR} for n in numbers),
            *({**incident, "subject": f"cut{n}", "began_at": now - n, "state": "decided"}
              for n in numbers[:INTERRUPTED]),
        ],
        samples: [
            {"workspace": WORKSPACE, "day": int((now - age * DAY) // DAY), "slot": slot, "scope": "inbox",
             "key": f"sam{n}@d0.example", "at": (now - age * DAY) // DAY * DAY + slot * 900.0, "sends": 9}
            for n in numbers for age in (1, 5) for slot in (0, 1, 95)
        ],
    }  # fmt: skip


INTERRUPTED = 5
"""Acts of guardrails that ended half-way: a rule has a limit of acts a day."""
SENTENCE = "notify about sequence when replies < 1% of at least 50 sends in 24h"


def _facts(numbers: Sequence[int], *, now: float) -> Iterator[Row]:
    """So many of each kind."""
    rule = {"sentence": SENTENCE, "added_by": "", "added_name": ""}
    webhook = {"url": "https://bot.example", "events": [], "secret": "s", "created_at": now}
    for n in numbers:
        subscription = facts.key_of(CALM, "lead.bounced", f"S{n}", "")
        for kind, workspace, key, value, at in (
            (facts.ROTA, "", f"C{n}", {"last": "U1"}, None),
            (facts.ABSENCE, "", f"U9{n}", {"name": f"n{n}"}, now - HOUR),
            (facts.SUBSCRIPTION, WORKSPACE, subscription, {"condensed": False}, None),
            (facts.DIGEST, WORKSPACE, f"day/C{100 + n}", {"at": "09:00"}, now),
            (facts.WEBHOOK, WORKSPACE, f"wh{n}", webhook, None),
            (facts.PROCESS, "", f"bot{n}", {"host": "here"}, now - 2 * DAY - n),
            (facts.RULE, WORKSPACE, f"rule{n}", rule, now),
            (facts.SWITCH, WORKSPACE, f"off{n}", {"by": "", "at": now}, None),
            (facts.REQUEST, "", f"Ev{n}", {}, now - 30 * DAY + n),
            (facts.SENDER, WORKSPACE, f"dns{n}.example", {"health": 90.0}, now),
            (facts.LIMIT, "", f"chat.update C{n}", {}, None),
        ):
            yield {"kind": kind, "workspace": workspace, "key": key, "value": json.dumps(value), "at": at}


def _domains(numbers: Sequence[int], *, now: float) -> dict[sa.Table, list[Row]]:
    """All of one workspace, each checked before, and broken of late."""
    at = moment(now - DAY)
    spf = CheckReport(check=Check.SPF, value=Value.PROBLEM, checked_at=at, confirmed=True)
    names = [f"dns{n}.example" for n in numbers]
    return {
        domains: [
            {"domain": name, "checked_at": now - DAY, "broken": "spf",
             "report": encode_report(DomainReport(domain=name, checks=(spf,)))}
            for name in names
        ],
    }  # fmt: skip
