"""The huge account: its past is simulated for leads that responded; SQL writes the others."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    MetaData,
    Table,
    Text,
    bindparam,
    func,
    insert,
    select,
    text,
    update,
)

from sandbox.service.base import schema
from sandbox.service.base.clock import DAY, HOUR, day_of
from sandbox.service.base.schema import LEAD_INDEXES, daily_counts, inboxes
from sandbox.service.campaign import rows, rules
from sandbox.service.campaign.account_plans import ACME
from sandbox.service.campaign.daily_counts import COUNTS, Cell
from sandbox.service.campaign.people_names import FIRST, LAST, Person, plain
from sandbox.service.campaign.rules import Window, next_slot
from sandbox.service.seed.cohorts import Cohort, cohorts, responders, variant_of
from sandbox.service.seed.past_events import insert_past_events
from sandbox.service.seed.prehistory import BACKED_DAYS, LeadHistory, Prehistory

LEADS = 1_000_000
INBOXES = 10_000
DOMAINS = 500
_PLANS = ACME.sequences
_QUEUE_DAYS = 45
"""The leads to whom nothing was sent yet become due over so many days."""


def _temporary(name: str, *columns: Column[Any]) -> Table:
    return Table(name, MetaData(), *columns, prefixes=["TEMPORARY"])


_GIVEN, _FAMILY = (
    _temporary(
        name, Column("number", BigInteger, primary_key=True), Column("name", Text), Column("plain", Text)
    )
    for name in ("given", "family")
)
_BLOCKS = _temporary(
    "blocks",
    *(Column(name, BigInteger) for name in ("first", "serial", "size", "sequence", "inbox", "turns", "step")),
    Column("status", Text),
    *(Column(name, Float(53)) for name in ("due", "spread", "created")),
)
"""Leads that differ in their numbers alone: `turns` inboxes from `inbox` on take them in turn."""
_SENT = _temporary("sent", *(Column(name, BigInteger) for name in ("place", "day", "sends")))
_LEADS = """
WITH RECURSIVE n(i) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < :most - 1),
made AS (
    SELECT blocks.*, i, serial + i AS number, ((serial + i) * 16807 + :seed) % 65537 % :firsts AS f,
           ((serial + i) * 40692 + :seed) % 65539 % :lasts AS l
    FROM blocks CROSS JOIN n WHERE i < size
)
INSERT INTO leads (pk, workspace_pk, sequence_pk, email, first_name, last_name, company,
                   status, step, due_at, inbox_pk, created_at)
SELECT first + i, :workspace, sequence, given.plain || made.number || '@lead' || (made.number % 40009) || '.example',
       given.name, family.name, family.name || ' & Co', status, step,
       due + (made.number * 69621) % 864000 / 864000.0 * spread, inbox + i % turns * :sequences, created + i * 0.0005
FROM made LEFT JOIN given ON given.number = f LEFT JOIN family ON family.number = l
"""
_INBOX_COUNTS = """
INSERT INTO tallies (workspace_pk, "grouping", day, group_key,
                     sends, replies, positive_replies, meetings, bounces, complaints)
SELECT :workspace, 'inbox', day, pk, sends, 0, 0, 0, 0, 0
FROM inboxes JOIN sent ON place = (pk - :first_inbox) % :sequences WHERE workspace_pk = :workspace
"""


_SETTLED = (
    update(schema.leads)
    .where(schema.leads.c.pk == bindparam("lead"))
    .values(status=bindparam("now_is"), step=bindparam("at_step"), due_at=None)
)


class HugeAccount:
    """10,000 inboxes on 500 domains, a million leads, and nine weeks of counts that their leads and replies back.

    Inbox k sends for sequence k modulo their number, so that neither needs to be looked up.
    """

    def __init__(self, connection: Connection, *, workspace: int, seed: int, now: float) -> None:
        self._connection = connection
        self._workspace = workspace
        self._seed = seed
        self._now = now
        self._past = Prehistory(seed=seed, now=now)
        self._sequences = [self._insert(schema.sequences, **plan.model_dump()) for plan in _PLANS]
        self._turns = tuple(len(range(place, INBOXES, len(_PLANS))) for place in range(len(_PLANS)))
        self._cohorts = cohorts(_PLANS, inboxes=self._turns, seed=seed, now=now)
        since = day_of(now) - BACKED_DAYS + 1
        self._first_of: dict[int, int] = {}
        """The row of the first lead of each cohort whose leads are still there, by its serial."""
        first = 1
        for cohort in self._cohorts:
            if cohort.kept(since):
                self._first_of[cohort.serial] = first
                first += cohort.size
        self._queue_first = first

    def _insert(self, table: Table, **values: Any) -> int:
        return rows.insert_one(self._connection, table, workspace_pk=self._workspace, **values)

    def create(self) -> None:
        self._insert_inboxes()
        chance = random.Random(self._seed)
        for cohort in self._cohorts:
            self._play_cohort(cohort, chance)
        self._insert_leads()
        self._insert_counts()
        names = {pk: plan.name for pk, plan in zip(self._sequences, _PLANS, strict=True)}
        self._past.settled = [one for one in self._past.settled if one.history.pk is not None]
        insert_past_events(
            self._connection, self._past, workspace=self._workspace, sequences=names, person=self._person
        )

    def _insert_inboxes(self) -> None:
        homes = [
            self._insert(schema.domains, name=f"acme-{number + 1}.example", state="healthy")
            for number in range(DOMAINS)
        ]
        windows = [Window.of(plan) for plan in _PLANS]
        made = [
            {
                "workspace_pk": self._workspace,
                "domain_pk": homes[number % DOMAINS],
                "sequence_pk": self._sequences[number % len(_PLANS)],
                "email": f"{plain(FIRST[number % len(FIRST)])}{number}@acme-{number % DOMAINS + 1}.example",
                "health": float(_health(number)),
                "daily_limit": 30 + number % 5 * 5,
                "full_limit": 30 + number % 5 * 5,
                "status": "active",
                "next_slot_at": next_slot(
                    windows[number % len(_PLANS)],
                    limit=30 + number % 5 * 5,
                    after=self._now,
                    key=(self._seed, number + 1),
                ),
            }
            for number in range(INBOXES)
        ]
        rows.insert_all(self._connection, inboxes, made)
        first = select(func.min(inboxes.c.pk)).where(inboxes.c.workspace_pk == self._workspace)
        self._first_inbox = self._connection.execute(first).scalar_one()

    def _play_cohort(self, cohort: Cohort, chance: random.Random) -> None:
        place, plan = cohort.place, _PLANS[cohort.place]
        turns, sequence = self._turns[place], self._sequences[place]
        healths = [_health(place + turn * len(_PLANS)) for turn in range(turns)]
        first, done = self._first_of.get(cohort.serial), set[int]()
        for step, day in enumerate(cohort.sent_on, start=1):
            mood = rules.mood(seed=self._seed, sequence=sequence, day=day)
            for one in responders(
                chance,
                size=cohort.size,
                step=step,
                serial=cohort.serial,
                healths=healths,
                appeal=plan.appeal * mood,
            ):
                if one.place in done:
                    continue
                done.add(one.place)
                inbox = self._first_inbox + place + one.place % turns * len(_PLANS)
                at = (day * 24 + plan.opens + chance.random() * (plan.closes - plan.opens)) * HOUR
                history = LeadHistory(
                    serial=cohort.serial + one.place,
                    sequence=sequence,
                    inbox=inbox,
                    created_at=day * DAY,
                    step=step,
                    pk=None if first is None else first + one.place,
                )
                self._past.histories.append(history)
                cell = Cell(self._workspace, day, sequence, step, variant_of(history.serial, step), inbox)
                for later, day_after in enumerate(cohort.sent_on[step:], start=step + 1):
                    unsent = Cell(
                        self._workspace, day_after, sequence, later, variant_of(history.serial, later), inbox
                    )
                    self._past.buffer.count(unsent, "sends", -1)
                if at + one.delay > self._now:
                    self._past.expect(history, one.kind, due_at=at + one.delay)
                else:
                    self._past.settle(history, one.kind, steps=plan.steps, cell=cell, at=at + one.delay)

    def _person(self, serial: int) -> Person:
        first = FIRST[(serial * 16807 + self._seed) % 65537 % len(FIRST)]
        last = LAST[(serial * 40692 + self._seed) % 65539 % len(LAST)]
        email = f"{plain(first)}{serial}@lead{serial % 40009}.example"
        return Person(first_name=first, last_name=last, company=f"{last} & Co", email=email, title="")

    def _blocks(self) -> Iterator[dict[str, Any]]:
        for cohort in self._cohorts:
            first = self._first_of.get(cohort.serial)
            if first is not None:
                yield {
                    "first": first,
                    "serial": cohort.serial,
                    "size": cohort.size,
                    "sequence": self._sequences[cohort.place],
                    "inbox": self._first_inbox + cohort.place,
                    "turns": self._turns[cohort.place],
                    "step": cohort.step,
                    "status": "completed" if cohort.next_on is None else "active",
                    "due": cohort.due_at(Window.of(_PLANS[cohort.place])),
                    "spread": 8 * HOUR,
                    "created": cohort.day * DAY + cohort.place * HOUR / 4,
                }
        last = self._cohorts[-1]
        offset = last.serial + last.size - self._queue_first
        for place, sequence in enumerate(self._sequences):
            size = len(range(self._queue_first + place, LEADS + 1, len(_PLANS)))
            first = self._queue_first + sum(
                len(range(self._queue_first + before, LEADS + 1, len(_PLANS))) for before in range(place)
            )
            queue = {"first": first, "serial": first + offset, "size": size, "sequence": sequence}
            due = {"step": 0, "status": "active", "due": self._now, "spread": _QUEUE_DAYS * DAY}
            yield queue | due | {"inbox": None, "turns": 1, "created": self._now - HOUR + place * 300.0}

    def _insert_leads(self) -> None:
        """One statement for a million rows; the indexes are built afterwards, from what is there."""
        for index in LEAD_INDEXES:
            index.drop(self._connection)
        for table, names in ((_GIVEN, FIRST), (_FAMILY, LAST)):
            numbered = [{"number": n, "name": name, "plain": plain(name)} for n, name in enumerate(names)]
            self._fill(table, numbered)
        blocks = list(self._blocks())
        self._fill(_BLOCKS, blocks)
        # Bound beforehand, parameters have types, which PostgreSQL asks for.
        self._connection.execute(
            text(_LEADS).bindparams(
                most=max(block["size"] for block in blocks),
                sequences=len(_PLANS),
                workspace=self._workspace,
                seed=self._seed,
                firsts=len(FIRST),
                lasts=len(LAST),
            )
        )
        self._settle_leads()
        for table in (_GIVEN, _FAMILY, _BLOCKS):
            table.drop(self._connection)
        for index in LEAD_INDEXES:
            index.create(self._connection)
        rows.continue_numbering(self._connection, schema.leads)

    def _settle_leads(self) -> None:
        """The leads that responded, and the responses that are still to come."""
        settled = (
            {"lead": one.pk, "now_is": one.status, "at_step": one.step}
            for one in self._past.histories
            if one.pk is not None
        )
        rows.execute_all(self._connection, _SETTLED, settled)
        self._past.insert_pending(self._connection)

    def _insert_counts(self) -> None:
        """First the sends without any response, then the responses, and the sends that they prevented."""
        sent = Counter[tuple[int, int]]()
        totals = Counter[tuple[str, int, int]]()
        for cohort in self._cohorts:
            for step, day in enumerate(cohort.sent_on, start=1):
                sent[cohort.place, day] += cohort.size // self._turns[cohort.place]
                totals["sequence", day, self._sequences[cohort.place]] += cohort.size
                totals["step", day, step] += cohort.size
                first = variant_of(cohort.serial, step)
                totals["variant", day, first] += (cohort.size + 1) // 2
                totals["variant", day, 1 - first] += cohort.size // 2
        self._fill(
            _SENT, [{"place": place, "day": day, "sends": sends} for (place, day), sends in sent.items()]
        )
        bound = {"workspace": self._workspace, "first_inbox": self._first_inbox, "sequences": len(_PLANS)}
        self._connection.execute(text(_INBOX_COUNTS).bindparams(**bound))
        _SENT.drop(self._connection)
        nothing = dict.fromkeys(COUNTS, 0) | {"workspace_pk": self._workspace}
        self._connection.execute(
            insert(daily_counts),
            [
                nothing | {"grouping": grouping, "day": day, "group_key": group, "sends": sends}
                for (grouping, day, group), sends in totals.items()
            ],
        )
        self._past.buffer.save(self._connection)

    def _fill(self, table: Table, made: list[dict[str, Any]]) -> None:
        table.create(self._connection)
        self._connection.execute(insert(table), made)


def _health(number: int) -> int:
    return 62 + number * 7 % 37
