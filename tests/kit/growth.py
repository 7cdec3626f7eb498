"""How work grows with what there is: N against ten times as much, counted, never timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

LINEAR = 12.0
"""How many times the work ten times as much may take; the rest is for logarithms."""
STEPS = 10
"""Steps of SQLite's virtual machine that count as one: a row takes a few of them more."""


@dataclass
class DatabaseWork:
    """What statements did meanwhile, over all of them and in the largest transaction."""

    statements: int = 0
    """Each set of values counts as one."""
    rows: int = 0
    """Tens of steps of SQLite's virtual machine, about one to a row that is read. PostgreSQL has the same indexes."""
    written: int = 0
    most_written: int = 0
    """Rows, in one transaction."""
    changed: int = 0
    """Rows that statements of PostgreSQL said to have changed."""
    at_begin: int = 0

    def step(self) -> int:
        self.rows += 1
        return 0

    def begun(self, connection: sa.Connection) -> None:
        self.at_begin = self._changes(connection)

    def committed(self, connection: sa.Connection) -> None:
        written = self._changes(connection) - self.at_begin
        self.written += written
        self.most_written = max(self.most_written, written)

    def _changes(self, connection: sa.Connection) -> int:
        # A cursor of SQLite knows nothing of a statement that returns rows.
        is_sqlite = connection.dialect.name == "sqlite"
        return int(_driver(connection).total_changes) if is_sqlite else self.changed


@contextmanager
def database_work(engine: sa.Engine) -> Iterator[DatabaseWork]:
    """Count what an engine is asked to do; statements that read are carried out twice."""
    work = DatabaseWork()
    counts_steps = engine.dialect.name == "sqlite"

    def before(connection: sa.Connection, _: Any, statement: str, values: Any, *more: Any) -> None:
        _context, many = more
        if counts_steps:
            driver = _driver(connection)
            driver.set_progress_handler(work.step, STEPS)
            if not many and statement.lstrip().upper().startswith(("SELECT", "WITH")):
                # Read to the end: the program's own cursor makes one step, and the others when rows are fetched.
                driver.execute(statement, values).fetchall()
                driver.set_progress_handler(None, 0)

    def after(connection: sa.Connection, cursor: Any, _: str, values: Any, *more: Any) -> None:
        context, many = more
        if counts_steps:
            _driver(connection).set_progress_handler(None, 0)
        work.statements += len(values) if many else 1
        if context.isinsert or context.isupdate or context.isdelete:
            work.changed += max(cursor.rowcount, 0)

    listeners: dict[str, Callable[..., None]] = {
        "before_cursor_execute": before,
        "after_cursor_execute": after,
        "begin": work.begun,
        "commit": work.committed,
    }
    for name, listener in listeners.items():
        sa.event.listen(engine, name, listener)
    try:
        yield work
    finally:
        for name, listener in listeners.items():
            sa.event.remove(engine, name, listener)


def _driver(connection: sa.Connection) -> Any:
    return connection.connection.driver_connection
