"""Sequences, inboxes, stats and subscriptions as `/v1` shows and changes them."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from sandbox.service.base import ids
from sandbox.service.base.clock import date_of
from sandbox.service.base.schema import inboxes, sequences, subscriptions
from sandbox.service.v1.fast_reads import Statement
from sandbox.service.v1.leads import sequence_number

_DEFAULT_DAYS = 30
# So many rows are read between two looks at the event loop: a few milliseconds of them.
_TURN = 500

_SEQUENCES = Statement(
    select(sequences.c.pk, sequences.c.name, sequences.c.status, sequences.c.steps)
    .where(sequences.c.workspace_pk == bindparam("workspace"))
    .order_by(sequences.c.pk)
)
_INBOXES = Statement(
    select(inboxes.c.pk, inboxes.c.email, inboxes.c.health, inboxes.c.daily_limit, inboxes.c.status)
    .where(inboxes.c.workspace_pk == bindparam("workspace"), inboxes.c.pk > bindparam("after"))
    .order_by(inboxes.c.pk)
    .limit(bindparam("room"))
)


def list_sequences(connection: Connection, *, workspace: int) -> list[str]:
    """The sequences of a workspace as JSON texts (document: GET /sequences)."""
    return [
        f'{{"id":"{ids.encode_known("sq", pk)}","name":{quoted(name)},"status":"{status}","steps":{steps}}}'
        for pk, name, status, steps in _SEQUENCES.rows(connection, workspace=workspace)
    ]


def change_sequence(
    connection: Connection, sequence_id: str, *, workspace: int, status: str
) -> dict[str, Any]:
    """Pause or resume (document: PATCH /sequences/{id}).

    Raises `NotFound`: the sequence is not in this workspace.
    """
    number = sequence_number(connection, sequence_id, workspace=workspace)
    changed = update(sequences).where(sequences.c.pk == number).values(status=status).returning(*sequences.c)
    row = connection.execute(changed).one()
    return {"id": sequence_id, "name": row.name, "status": row.status, "steps": row.steps}


def list_inboxes(connection: Connection, *, workspace: int) -> Iterator[list[str]]:
    """The inboxes of a workspace as JSON texts, in turns (document: GET /inboxes)."""
    for rows in _turns(partial(_INBOXES.rows, connection, workspace=workspace, room=_TURN)):
        yield [
            f'{{"id":"{ids.encode_known("ib", pk)}","email":{quoted(email)},"health_score":{score},'
            f'"daily_limit":{limit},"status":"{status}"}}'
            for pk, email, score, limit, status in rows
        ]


def _turns(rows: Callable[..., Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """All rows of a statement that counts on from its first column, so many at a time."""
    after, more = -1, True
    while more:
        found = rows(after=after)
        yield found
        more = len(found) == _TURN
        after = found[-1][0] if found else after


def date_range(start: dt.date | None, end: dt.date | None, *, now: float) -> tuple[dt.date, dt.date]:
    """The days that stats are asked for: the last 30, today included, when both ends are omitted.

    One end alone is not shown in the document: `to` is then today, and `from` 29 days before `to`. A range that ends
    before it starts has no days: nothing in the document makes it an error.
    """
    end = date_of(now) if end is None else end
    if start is None:
        start = dt.date.fromordinal(max(1, end.toordinal() - _DEFAULT_DAYS + 1))
    return start, end


def subscribe(
    connection: Connection, *, workspace: int, url: str, events: list[str], now: float
) -> dict[str, Any]:
    """Keep a subscription; its secret is shown in this answer alone (document: POST /webhooks)."""
    secret = f"whsec_{secrets.token_urlsafe(32)}"
    row = {
        "workspace_pk": workspace,
        "url": url,
        "secret": secret,
        "events": " ".join(dict.fromkeys(events)),
        "created_at": now,
    }
    number = connection.execute(insert(subscriptions).returning(subscriptions.c.pk), row).scalar_one()
    return {"id": ids.encode("wh", number), "secret": secret}
