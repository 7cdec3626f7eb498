"""Statements that are compiled once for all databases of a test process.

SQLAlchemy keeps what it has compiled for each engine
(https://docs.sqlalchemy.org/en/20/core/connections.html#sql-compilation-caching); a test that opens databases of its own
compiled every statement again, which took an eighth of the time of the bot's tests.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import util
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

_COMPILED: Any = util.LRUCache(5000)


def compile_once() -> None:
    """Share them between all engines on SQLite, whose dialects have the same options."""
    made = sa.Engine.__init__

    def share(engine: sa.Engine, *args: Any, **options: Any) -> None:
        made(engine, *args, **options)
        if type(engine.dialect) is SQLiteDialect_pysqlite:
            engine._compiled_cache = _COMPILED

    def is_same(one: SQLiteDialect_pysqlite, other: object) -> bool:
        return type(one) is type(other)

    sa.Engine.__init__ = share  # type: ignore[method-assign,assignment]
    SQLiteDialect_pysqlite.__eq__ = is_same  # type: ignore[method-assign,assignment]
    SQLiteDialect_pysqlite.__hash__ = lambda one: hash(type(one))  # type: ignore[method-assign,assignment]
