"""PostgreSQL connections with timeouts, because a server that hangs accepts a statement and never responds."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

CONNECT_SECONDS = 3
STATEMENT_SECONDS = 5.0
"""Seconds after which the server ends a statement."""
MARGIN = 1.0
"""Seconds more after which this side gives the connection up."""
DEFAULTS = {
    "connect_timeout": str(CONNECT_SECONDS),
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
"""Parameters of libpq; what the address says itself comes first."""


def must_be_unicode(connection: psycopg.Connection[Any]) -> None:
    """Refuse a database that doesn't know what its bytes mean: names would be cut and compared byte by byte.

    https://www.postgresql.org/docs/current/multibyte.html

    Raises `psycopg.OperationalError`: its encoding is SQL_ASCII; the connection is closed.
    """
    if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
        name = connection.info.dbname
        connection.close()
        raise psycopg.OperationalError(
            f"the encoding of database {name} is SQL_ASCII; "
            "create one with: CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0"
        )


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that is closed when the server does not answer within `limit` seconds."""

    limit = STATEMENT_SECONDS + MARGIN

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for one answer. Raises `psycopg.OperationalError`."""
        try:
            return super().wait(gen, interval, self.limit if timeout is None else timeout)
        except psycopg.OperationalError:
            if self.pgconn.transaction_status == TransactionStatus.ACTIVE:
                self.close()
            raise
