"""How work grows with what there is: N against ten times as much, counted, never timed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import sqlalchemy as sa

LINEAR = 12.0
"""How many times the work ten times as much may take; the rest is for logarithms."""


def lines_run(act: Callable[[], object]) -> int:
    """The lines of Python that a call runs, in whatever module."""
    count, before = 0, sys.gettrace()

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return count


@dataclass
class DatabaseWork:
    """What statements did meanwhile, over all of them and in the largest transaction."""

    statements: int = 0
    """Each set of values counts as one."""
    rows: int = 0
    """PostgreSQL: rows that plans have read. SQLite: hundreds of steps of its virtual machine, a few to a row."""
    written: int = 0
    most_written: int = 0
    """Rows, in one transaction."""
    _open: dict[int, int] = field(default_factory=dict)
    _explaining: bool = False

    def step(self) -> int:
        self.rows += 1
        return 0

    def before(
        self, connection: sa.Connection, cursor: Any, statement: str, values: Any, _context: Any, many: object
    ) -> None:
        if connection.dialect.name == "sqlite":
            _driver(connection).set_progress_handler(self.step, 100)
        elif not self._explaining and not many and statement.lstrip().upper().startswith(("SELECT", "WITH")):
            self._explaining = True
            self.rows += _rows_read(cursor, statement, values)
            self._explaining = False

    def after(
        self, connection: sa.Connection, cursor: Any, statement: str, values: Any, _context: Any, many: object
    ) -> None:
        if connection.dialect.name == "sqlite":
            _driver(connection).set_progress_handler(None, 0)
        self.statements += len(values) if many else 1
        if statement.lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE")):
            written = max(cursor.rowcount, 0)
            self.written += written
            self._open[id(connection)] = self._open.get(id(connection), 0) + written
            self.most_written = max(self.most_written, self._open[id(connection)])

    def begun(self, connection: sa.Connection) -> None:
        self._open.pop(id(connection), None)
        if connection.dialect.name == "postgresql":
            _driver(connection).execute("SET LOCAL enable_seqscan = off")


@contextmanager
def database_work(engine: sa.Engine) -> Iterator[DatabaseWork]:
    """Count what an engine is asked to do; reading statements are carried out twice on PostgreSQL.

    There, what the indexes allow is counted: a small table is read whole, because that is faster.
    """
    if engine.dialect.name == "postgresql":
        with engine.begin() as connection:
            connection.execute(sa.text("ANALYZE"))
    work = DatabaseWork()
    listeners: list[tuple[str, Callable[..., None]]] = [
        ("before_cursor_execute", work.before),
        ("after_cursor_execute", work.after),
        ("begin", work.begun),
    ]
    for name, listener in listeners:
        sa.event.listen(engine, name, listener)
    try:
        yield work
    finally:
        for name, listener in listeners:
            sa.event.remove(engine, name, listener)


def _driver(connection: sa.Connection) -> Any:
    return connection.connection.driver_connection


def _rows_read(cursor: Any, statement: str, values: Any) -> int:
    cursor.execute("SAVEPOINT growth")
    cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", values)
    ((found,),) = cursor.fetchall()
    cursor.execute("ROLLBACK TO SAVEPOINT growth")
    plan = found if isinstance(found, list) else json.loads(found)
    return sum(
        int((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
        for node in _nodes(plan[0]["Plan"])
        if "Relation Name" in node
    )


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)
