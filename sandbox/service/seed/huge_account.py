"""The huge account, written by the database itself: a million leads are too many to carry through Python one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, MetaData, Table, Text, func, insert, select, text

from sandbox.service.base import schema
from sandbox.service.base.clock import day_of
from sandbox.service.base.schema import LEAD_INDEXES, daily_counts, inboxes
from sandbox.service.campaign import rows
from sandbox.service.campaign.account_plans import ACME, SequencePlan
from sandbox.service.campaign.daily_counts import COUNTS
from sandbox.service.campaign.people_names import FIRST, LAST, plain
from sandbox.service.campaign.rules import Window, next_slot

LEADS = 1_000_000
INBOXES = 10_000
DOMAINS = 500
_DAYS = 64

# Shares of the four steps and of the two variants; what rounding leaves falls to the last.
_STEPS = (0.40, 0.33, 0.20, 0.07)
_VARIANTS = (0.47, 0.53)


def _names(name: str) -> Table:
    columns = (Column("number", BigInteger, primary_key=True), Column("name", Text), Column("plain", Text))
    return Table(name, MetaData(), *columns, prefixes=["TEMPORARY"])


_GIVEN, _FAMILY = _names("given"), _names("family")
_LEADS = """
WITH RECURSIVE n(i) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < :leads - 1),
dice AS (
    SELECT i, i % :sequences AS place, (i * 48271 + :seed) % 65521 % 100 AS luck,
           (i * 16807 + :seed) % 65537 % :firsts AS f, (i * 40692 + :seed) % 65539 % :lasts AS l,
           (i * 69621) % 864000 AS wait, i % 2 AS started
    FROM n
)
INSERT INTO leads (pk, workspace_pk, sequence_pk, email, first_name, last_name, company,
                   status, step, due_at, inbox_pk, created_at)
SELECT i + 1, :workspace, :first_sequence + place,
       given.plain || i || '@lead' || (i % 40009) || '.example',
       given.name, family.name, family.name || ' & Co',
       CASE WHEN luck < 46 THEN 'active' WHEN luck < 88 THEN 'completed' WHEN luck < 93 THEN 'replied'
            WHEN luck < 95 THEN 'interested' WHEN luck < 98 THEN 'bounced' ELSE 'unsubscribed' END,
       CASE WHEN luck < 46 THEN started ELSE 1 + started END,
       CASE WHEN luck < 46 THEN :now + wait END,
       CASE WHEN luck < 46 AND started = 0 THEN NULL
            ELSE :first_inbox + (i / :sequences) % (:inboxes / :sequences) * :sequences + place END,
       :now - (:leads - i) * 3.0
FROM dice LEFT JOIN given ON given.number = f LEFT JOIN family ON family.number = l
"""
_INBOX_COUNTS = """
WITH RECURSIVE d(day) AS (SELECT :today - :days UNION ALL SELECT day + 1 FROM d WHERE day < :today),
sent AS (
    SELECT d.day, inboxes.pk, daily_limit AS sends, (inboxes.pk * 31 + d.day * 17) % 7 AS luck
    FROM inboxes CROSS JOIN d WHERE inboxes.workspace_pk = :workspace
)
INSERT INTO tallies (workspace_pk, "grouping", day, group_key,
                     sends, replies, positive_replies, meetings, bounces, complaints)
SELECT :workspace, 'inbox', day, pk, sends, luck / 2, luck / 4, luck / 6, luck / 5, 0 FROM sent
"""
_SEQUENCE_COUNTS = """
INSERT INTO tallies (workspace_pk, "grouping", day, group_key,
                     sends, replies, positive_replies, meetings, bounces, complaints)
SELECT :workspace, 'sequence', day, sequence_pk,
       sum(sends), sum(replies), sum(positive_replies), sum(meetings), sum(bounces), sum(complaints)
FROM tallies JOIN inboxes ON inboxes.pk = group_key
WHERE tallies.workspace_pk = :workspace AND "grouping" = 'inbox' GROUP BY day, sequence_pk
"""


def seed_huge_account(connection: Connection, *, workspace: int, seed: int, now: float) -> None:
    """10,000 inboxes on 500 domains, a million leads, nine weeks of counts that add up in every grouping."""
    plans = ACME.sequences
    sequences = [
        rows.insert_one(connection, schema.sequences, workspace_pk=workspace, **plan.model_dump())
        for plan in plans
    ]
    homes = [
        rows.insert_one(
            connection,
            schema.domains,
            workspace_pk=workspace,
            name=f"acme-{number + 1}.example",
            state="healthy",
        )
        for number in range(DOMAINS)
    ]
    _insert_inboxes(
        connection, plans, sequences=sequences, homes=homes, workspace=workspace, seed=seed, now=now
    )
    first_inbox = connection.execute(
        select(func.min(inboxes.c.pk)).where(inboxes.c.workspace_pk == workspace)
    ).scalar()
    _insert_leads(connection, first=(sequences[0], first_inbox), workspace=workspace, seed=seed, now=now)
    # Bound beforehand, parameters have types, which PostgreSQL asks for.
    connection.execute(text(_INBOX_COUNTS).bindparams(workspace=workspace, today=day_of(now) - 1, days=_DAYS))
    connection.execute(text(_SEQUENCE_COUNTS).bindparams(workspace=workspace))
    connection.execute(insert(daily_counts), list(_split_days(connection, workspace=workspace)))


def _insert_inboxes(
    connection: Connection,
    plans: Sequence[SequencePlan],
    *,
    sequences: list[int],
    homes: list[int],
    workspace: int,
    seed: int,
    now: float,
) -> None:
    made = [
        {
            "workspace_pk": workspace,
            "domain_pk": homes[number % DOMAINS],
            "sequence_pk": sequences[number % len(sequences)],
            "email": f"{plain(FIRST[number % len(FIRST)])}{number}@acme-{number % DOMAINS + 1}.example",
            "health": float(62 + number * 7 % 37),
            "daily_limit": 30 + number % 5 * 5,
            "full_limit": 30 + number % 5 * 5,
            "status": "active",
            "next_slot_at": next_slot(
                Window.of(plans[number % len(plans)]),
                limit=30 + number % 5 * 5,
                after=now,
                key=(seed, number + 1),
            ),
        }
        for number in range(INBOXES)
    ]
    rows.insert_all(connection, inboxes, made)


def _insert_leads(
    connection: Connection, *, first: tuple[int, Any], workspace: int, seed: int, now: float
) -> None:
    """One statement for a million rows; the indexes are built afterwards, from what is there."""
    for index in LEAD_INDEXES:
        index.drop(connection)
    _fill_names(connection, _GIVEN, FIRST)
    _fill_names(connection, _FAMILY, LAST)
    connection.execute(
        text(_LEADS).bindparams(
            leads=LEADS,
            inboxes=INBOXES,
            sequences=len(ACME.sequences),
            first_sequence=first[0],
            first_inbox=first[1],
            workspace=workspace,
            seed=seed,
            now=now,
            firsts=len(FIRST),
            lasts=len(LAST),
        )
    )
    for table in (_GIVEN, _FAMILY):
        table.drop(connection)
    for index in LEAD_INDEXES:
        index.create(connection)


def _fill_names(connection: Connection, table: Table, names: Sequence[str]) -> None:
    table.create(connection)
    rows = [{"number": number, "name": name, "plain": plain(name)} for number, name in enumerate(names)]
    connection.execute(insert(table), rows)


def _split_days(connection: Connection, *, workspace: int) -> Iterator[dict[str, Any]]:
    """The counts by step and by variant: each day's totals, divided."""
    sums = (func.sum(daily_counts.c[name]).label(name) for name in COUNTS)
    days = select(daily_counts.c.day, *sums).where(
        daily_counts.c.workspace_pk == workspace, daily_counts.c.grouping == "sequence"
    )
    for day in connection.execute(days.group_by(daily_counts.c.day)).mappings().all():
        for grouping, shares, first in (("step", _STEPS, 1), ("variant", _VARIANTS, 0)):
            parts = {name: _divide(int(day[name]), shares) for name in COUNTS}
            for place in range(len(shares)):
                yield {
                    "workspace_pk": workspace,
                    "grouping": grouping,
                    "day": day["day"],
                    "group_key": first + place,
                } | {name: parts[name][place] for name in COUNTS}


def _divide(total: int, shares: Sequence[float]) -> list[int]:
    parts = [int(total * share) for share in shares[:-1]]
    return [*parts, total - sum(parts)]
