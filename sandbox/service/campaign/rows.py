"""Plans as rows: how a sequence, a domain and a new lead are written down."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select

from sandbox.service.base.schema import domains, sequences
from sandbox.service.campaign.account_plans import DomainPlan, SequencePlan
from sandbox.service.campaign.people_names import person

_AT_ONCE = 2_000


def insert_one(connection: Connection, table: Table, **values: Any) -> int:
    return int(connection.execute(insert(table).values(**values).returning(table.c.pk)).scalar_one())


def insert_all(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    for start in range(0, len(rows), _AT_ONCE):
        connection.execute(insert(table), rows[start : start + _AT_ONCE])


def count_on(connection: Connection, table: Table) -> None:
    if connection.dialect.name == "postgresql":
        last = select(func.max(table.c.pk)).scalar_subquery()
        connection.execute(select(func.setval(func.pg_get_serial_sequence(table.name, "pk"), last)))


def insert_sequence(connection: Connection, plan: SequencePlan, *, workspace: int) -> int:
    """Write a sequence down; its number."""
    return insert_one(
        connection,
        sequences,
        workspace_pk=workspace,
        name=plan.name,
        status=plan.status,
        steps=plan.steps,
        opens=plan.opens,
        closes=plan.closes,
        weekdays=plan.weekdays,
        appeal=plan.appeal,
    )


def insert_domain(connection: Connection, plan: DomainPlan, *, workspace: int) -> int:
    return insert_one(
        connection, domains, workspace_pk=workspace, name=plan.name, state=plan.state, until=None
    )


def fresh_lead(*, workspace: int, sequence: int, key: tuple[object, ...], now: float) -> dict[str, Any]:
    """A lead that has just been added and was sent nothing yet."""
    someone = person(*key)
    return {
        "workspace_pk": workspace,
        "sequence_pk": sequence,
        "email": someone.email,
        "first_name": someone.first_name,
        "last_name": someone.last_name,
        "company": someone.company,
        "custom": json.dumps({"title": someone.title}),
        "status": "active",
        "step": 0,
        "due_at": now,
        "inbox_pk": None,
        "created_at": now,
    }
