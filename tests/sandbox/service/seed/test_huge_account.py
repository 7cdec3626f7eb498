"""The huge account's past, made small: its leads, its recorded replies and its stats agree with each other."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from sqlalchemy import Table, create_engine, select

from sandbox.service.base import schema
from sandbox.service.base.clock import DAY, day_of
from sandbox.service.campaign.daily_counts import GROUPINGS
from sandbox.service.seed import huge_account
from sandbox.service.seed.account import SeedOptions, seed_account

MONDAY = 1_795_413_600.0
"""2026-11-23 06:00 UTC."""
TODAY = day_of(MONDAY)
SINCE = TODAY - 29
LEADS = 12_000
FINAL = {"replied": "lead.replied", "interested": "reply.interested"}
"""What is kept forever of each; other events are kept for 30 days."""


Account = dict[Table, list[Any]]
"""The rows of acme, by table."""


@pytest.fixture(scope="module")
def huge() -> Account:
    tables = (schema.leads, schema.inboxes, schema.sequences, schema.events, schema.blocklist)
    engine = create_engine("sqlite://")
    with pytest.MonkeyPatch.context() as patch, engine.begin() as connection:
        for name, value in {"LEADS": LEADS, "INBOXES": 120, "DOMAINS": 6}.items():
            patch.setattr(huge_account, name, value)
        schema.metadata.create_all(connection)
        seed_account(connection, SeedOptions(seed=7, scenario="huge", speed=0, now=MONDAY))
        return {
            table: list(
                connection.execute(
                    select(table).where(table.c.workspace_pk == 1).order_by(*table.primary_key)
                )
            )
            for table in (*tables, schema.daily_counts)
        }


@pytest.fixture(scope="module")
def recorded(huge: Account) -> list[dict[str, Any]]:
    return [json.loads(row.body) | {"at": row.at} for row in huge[schema.events]]


def counted(huge: Account, grouping: str, column: str, *, first: int = SINCE) -> Counter[str]:
    """A count of the last 30 days by the group's name, as GET /stats shows it."""
    names = {
        ("sequence", row.pk): row.name for row in huge[schema.sequences]
    } | {("inbox", row.pk): row.email for row in huge[schema.inboxes]}  # fmt: skip
    found = Counter[str]()
    for row in huge[schema.daily_counts]:
        if row.grouping == grouping and first <= row.day <= TODAY:
            found[names.get((grouping, row.group_key), str(row.group_key))] += getattr(row, column)
    return +found


@pytest.mark.parametrize("grouping", ["sequence", "step", "inbox"])
def test_stats_count_the_recorded_replies(
    huge: Account, recorded: list[dict[str, Any]], grouping: str
) -> None:
    for kind, column in (("lead.replied", "replies"), ("reply.interested", "positive_replies")):
        said = [one for one in recorded if one["event"] == kind and one["at"] >= SINCE * DAY]
        assert counted(huge, grouping, column) == Counter(str(one[grouping]) for one in said)


def test_every_grouping_counts_the_same(huge: Account) -> None:
    for first in (SINCE, 0):
        totals = [
            [counted(huge, grouping, name, first=first).total() for name in ("sends", "replies", "meetings")]
            for grouping in GROUPINGS
        ]
        assert totals == [totals[0]] * len(GROUPINGS)
        assert 0.005 < totals[0][1] / totals[0][0] < 0.03
        assert 0 < totals[0][2] < totals[0][1]


def test_the_leads_are_as_their_events_say(huge: Account, recorded: list[dict[str, Any]]) -> None:
    told: dict[str, set[str]] = {}
    for one in recorded:
        told.setdefault(one["lead"]["email"], set()).add(one["event"])
    rows = huge[schema.leads]
    assert [row.pk for row in rows] == list(range(1, LEADS + 1))
    created = [row.created_at for row in rows]
    assert created == sorted(created)
    assert created[-1] <= MONDAY
    for row in rows:
        assert (row.due_at is None) or row.status == "active"
        if row.status in {"active", "completed"}:
            assert row.email not in told
        elif row.status in FINAL:
            assert FINAL[row.status] in told[row.email]
    assert told.keys() <= {row.email for row in rows}
    blocked = {row.entry for row in huge[schema.blocklist]}
    assert {one["lead"]["email"] for one in recorded if one["event"] == "lead.unsubscribed"} <= blocked


def test_the_sends_of_30_days_were_made_to_leads_that_are_still_there(huge: Account) -> None:
    rows = huge[schema.leads]
    for step, sends in counted(huge, "step", "sends").items():
        assert sends <= sum(row.step >= int(step) for row in rows)
    limits = {row.pk: row.daily_limit for row in huge[schema.inboxes]}
    for row in huge[schema.daily_counts]:
        assert row.sends >= 0
        assert row.grouping != "inbox" or row.sends <= limits[row.group_key]
    assert len(counted(huge, "sequence", "sends", first=TODAY - 1)) == 1  # one sequence sends on Sundays
