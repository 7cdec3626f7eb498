"""Column types and metadata shared by all tables."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData(naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s"})

NOW = sa.bindparam("now", type_=sa.Double)
"""The time of the transaction, in statements that are built once: building one takes ten times as long as running it."""


Serial = sa.BigInteger().with_variant(sa.Integer, "sqlite")  # only INTEGER counts up by itself in SQLite


def serial() -> sa.Column[int]:
    return sa.Column("id", Serial, primary_key=True, autoincrement=True)


def text(name: str, *, primary_key: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, primary_key=primary_key, nullable=False, server_default="")


def count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default="0")


def flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false())


def timestamp(name: str, *, nullable: bool = True) -> sa.Column[float]:
    return sa.Column(name, sa.Double, nullable=nullable)


def partial_index(
    name: str,
    *columns: sa.ColumnElement[Any],
    where: sa.ColumnElement[bool] | sa.TextClause,
    unique: bool = False,
) -> None:
    """Add an index of the rows for which `where` holds, on either engine."""
    sa.Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)
