"""How work grows with what there is: N against ten times as much, counted, never timed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

LINEAR = 12.0
"""How many times the work ten times as much may take; the rest is for logarithms."""
BY_INDEX = "; ".join(f"SET LOCAL enable_{one} = off" for one in ("seqscan", "hashjoin", "mergejoin"))
"""Has PostgreSQL look up each row of a small table, as it does with one that is large."""
STEPS = 10
"""Of SQLite's virtual machine, that count as one: a row takes a few of them more."""


@dataclass
class DatabaseWork:
    """What statements did meanwhile, over all of them and in the largest transaction."""

    statements: int = 0
    """Each set of values counts as one."""
    rows: int = 0
    """PostgreSQL: rows that plans have read. SQLite: tens of steps of its virtual machine, about one to a row."""
    written: int = 0
    most_written: int = 0
    """Rows, in one transaction."""
    _open: dict[int, int] = field(default_factory=dict)
    _changes: dict[int, int] = field(default_factory=dict)
    _looking: bool = False

    def step(self) -> int:
        self.rows += 1
        return 0

    def before(
        self, connection: sa.Connection, cursor: Any, statement: str, values: Any, _context: Any, many: object
    ) -> None:
        if self._looking:
            return
        self._looking = True
        try:
            self._look(connection, statement, values, many=bool(many))
        finally:
            self._looking = False

    def _look(self, connection: sa.Connection, statement: str, values: Any, *, many: bool) -> None:
        """Carry out a statement once more, as far as that tells what it reads."""
        first, driver = statement.lstrip().upper(), _driver(connection)
        reads = not many and first.startswith(("SELECT", "WITH"))
        if connection.dialect.name == "sqlite":
            self._changes.setdefault(id(driver), driver.total_changes)
            driver.set_progress_handler(self.step, STEPS)
            if reads:
                # Read to the end: the program's own cursor makes one step, and the others when rows are fetched.
                driver.execute(statement, values).fetchall()
                driver.set_progress_handler(None, 0)
        elif not many and (reads or first.startswith(("UPDATE", "DELETE"))):
            # Not with the program's own cursor: that may be one of the server.
            with driver.cursor() as again:
                self.rows += _rows_read(again, statement, values)

    def after(
        self, connection: sa.Connection, cursor: Any, statement: str, values: Any, _context: Any, many: object
    ) -> None:
        if self._looking:
            return
        self.statements += len(values) if many else 1
        if connection.dialect.name == "sqlite":
            _driver(connection).set_progress_handler(None, 0)
            self.wrote(connection)
        elif statement.lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE")):
            self._write(connection, max(cursor.rowcount, 0))

    def wrote(self, connection: sa.Connection) -> None:
        """Count by the connection: a cursor of SQLite knows nothing of a statement that returns rows."""
        if connection.dialect.name == "sqlite":
            driver = _driver(connection)
            before = self._changes[id(driver)]
            self._changes[id(driver)] = driver.total_changes
            self._write(connection, driver.total_changes - before)

    def _write(self, connection: sa.Connection, rows: int) -> None:
        self.written += rows
        self._open[id(connection)] = self._open.get(id(connection), 0) + rows
        self.most_written = max(self.most_written, self._open[id(connection)])

    def begun(self, connection: sa.Connection) -> None:
        self._open.pop(id(connection), None)
        if connection.dialect.name == "postgresql":
            _driver(connection).execute(BY_INDEX)


@contextmanager
def database_work(engine: sa.Engine) -> Iterator[DatabaseWork]:
    """Count what an engine is asked to do; reading statements are carried out twice, on PostgreSQL all.

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
        ("commit", work.wrote),
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
    """The rows that PostgreSQL reads for a statement; what it changes is undone."""
    cursor.execute("SAVEPOINT growth")
    cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", values)
    ((found,),) = cursor.fetchall()
    cursor.execute("ROLLBACK TO SAVEPOINT growth")
    cursor.execute("RELEASE SAVEPOINT growth")
    plan = found if isinstance(found, list) else json.loads(found)
    return sum(_rows_of(node) for node in _nodes(plan[0]["Plan"]) if "Relation Name" in node)


def _rows_of(node: dict[str, Any]) -> int:
    """So many rows of its table a node of a plan has looked at, each time that it ran."""
    removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return int((node["Actual Rows"] + removed) * node["Actual Loops"])


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A node of a plan, and all below it."""
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)
