"""Inserting rows, and the row of a new lead."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Executable, Table, func, insert, select

from sandbox.service.campaign.people_names import person

_INSERTED_AT_ONCE = 2_000


def insert_one(connection: Connection, table: Table, **values: Any) -> int:
    return int(connection.execute(insert(table).values(**values).returning(table.c.pk)).scalar_one())


def insert_all(connection: Connection, table: Table, rows: Iterable[dict[str, Any]]) -> None:
    execute_all(connection, insert(table), rows)


def execute_all(connection: Connection, statement: Executable, rows: Iterable[dict[str, Any]]) -> None:
    """Run a statement for each row, with few of them in memory at once."""
    left = iter(rows)
    while some := list(islice(left, _INSERTED_AT_ONCE)):
        connection.execute(statement, some)


def continue_numbering(connection: Connection, table: Table) -> None:
    if connection.dialect.name == "postgresql":
        last = select(func.max(table.c.pk)).scalar_subquery()
        connection.execute(select(func.setval(func.pg_get_serial_sequence(table.name, "pk"), last)))


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
