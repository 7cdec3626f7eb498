"""Takes an address out of all that a database holds, whatever its tables are called."""

from __future__ import annotations

import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError, OperationalError

REMOVED = "(removed)"
PIECE_BYTES = 1 << 20
LONGEST_BYTES = 2_000
"""No address is longer, however JSON writes it."""
ROWS_AT_ONCE = 500
"""Rows that one transaction changes: a running bot waits for each."""
# JSON writes a line's end in front of an address as `\n`, whose letter doesn't belong to the address.
BEGINS = r"(?:(?<=\\[bfnrt])|(?<=\\u[0-9a-f]{4})|(?<![\w.+%-]))"

Key = tuple[Any, ...]
Changes = Mapping[Key, Mapping[str, Any]]
"""The new values of some rows, by their primary keys."""


class Redaction:
    """Replaces one address, in any case, and nothing that merely contains it: not `lada@x.example` for `ada@x.example`."""

    def __init__(self, address: str, *names: str) -> None:
        """`names` are ids of what is the person's, which have their first three letters in common."""
        spellings = dict.fromkeys((address, json.dumps(address)[1:-1]))  # as text, and as JSON has it
        self.beginnings = (*spellings, *(name[:3] for name in names[:1]))
        either = "|".join(map(re.escape, (*spellings, *names)))
        self._pattern = re.compile(rf"{BEGINS}(?:{either})(?![\w-]|\.\w)", re.IGNORECASE)

    def text(self, text: str) -> str:
        return self._pattern.sub(REMOVED, text)

    def is_in(self, file: Path) -> bool:
        """Return True if a file has the address, piece by piece: a backup may be larger than the memory."""
        rest = b""
        with file.open("rb") as opened:
            while piece := opened.read(PIECE_BYTES):
                piece = rest + piece
                if self.bytes(piece) != piece:
                    return True
                rest = piece[-LONGEST_BYTES:]
        return False

    def bytes(self, content: bytes) -> bytes:
        """The content without the address; what was packed by zlib is unpacked for it."""
        try:
            plain, is_packed = zlib.decompress(content), True
        except zlib.error:
            plain, is_packed = content, False
        redacted = self.text(plain.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if redacted == plain:
            return content
        return zlib.compress(redacted) if is_packed else redacted


def mentions(engine: sa.Engine, metadata: sa.MetaData, redaction: Redaction) -> int:
    """Count the rows that have the address in one of their columns."""
    with engine.connect() as connection:
        return sum(
            len(rows_with(connection, redaction, *table.columns)) for table in _tables(connection, metadata)
        )


def redact(engine: sa.Engine, metadata: sa.MetaData, redaction: Redaction) -> Mapping[str, Sequence[Key]]:
    """Replace the address wherever it is; the primary keys of the rows that had it, by table.

    A row that is known by the address, and would then be known as another is, is deleted.
    """
    changed: dict[str, Sequence[Key]] = {}
    with engine.connect() as connection:
        tables = tuple(_tables(connection, metadata))
    for table in tables:
        with engine.connect() as connection:
            changes = rows_with(connection, redaction, *table.columns)
        keys = tuple(changes)
        for start in range(0, len(keys), ROWS_AT_ONCE):
            with engine.begin() as connection:
                for key in keys[start : start + ROWS_AT_ONCE]:
                    _change(connection, table, key, changes[key])
        if keys:
            changed[table.name] = keys
    return changed


def clear_free_space(engine: sa.Engine) -> bool:
    """Overwrite what SQLite keeps of deleted rows in its file and its journal; False while another process uses it."""
    if engine.dialect.name != "sqlite":
        return True  # autovacuum reuses the space; a backup by pg_dump doesn't have it
    connection: Any = engine.raw_connection()
    try:
        connection.execute("VACUUM")
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except OperationalError:
        return False
    finally:
        connection.close()
    return not busy


def _tables(connection: sa.Connection, metadata: sa.MetaData) -> Iterator[sa.Table]:
    there = sa.inspect(connection).get_table_names()
    return (table for table in metadata.sorted_tables if table.name in there)


def rows_with(connection: sa.Connection, redaction: Redaction, *columns: sa.Column[Any]) -> Changes:
    """The rows of a table that have the address in one of these columns, with what these are without it."""
    changes: defaultdict[Key, dict[str, Any]] = defaultdict(dict)
    keys = list(columns[0].table.primary_key.columns) or list(columns[0].table.columns)
    for column in columns:
        has_it: sa.ColumnElement[bool] = column.is_not(
            None
        )  # bytes may be packed, so all of them may have it
        if isinstance(column.type, sa.String):
            lower = sa.func.lower(column)
            has_it = sa.or_(*(lower.contains(text.lower(), autoescape=True) for text in redaction.beginnings))
        elif not isinstance(column.type, sa.LargeBinary):
            continue
        query = sa.select(*keys, column).where(has_it).order_by(*keys)
        for row in connection.execute(query.execution_options(yield_per=ROWS_AT_ONCE)):
            *key, value = row
            redacted = redaction.text(value) if isinstance(value, str) else redaction.bytes(bytes(value))
            if redacted != value:
                changes[tuple(key)][column.name] = redacted
    return changes


def _change(connection: sa.Connection, table: sa.Table, key: Key, values: Mapping[str, Any]) -> None:
    columns = list(table.primary_key.columns) or list(table.columns)
    row = sa.and_(*(column == value for column, value in zip(columns, key, strict=True)))
    try:
        with connection.begin_nested():
            connection.execute(sa.update(table).where(row).values(**values))
    except IntegrityError:
        connection.execute(sa.delete(table).where(row))
