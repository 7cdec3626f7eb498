"""Sequences, inboxes, stats and subscriptions as `/v1` shows and changes them."""

from __future__ import annotations

import datetime as dt
import secrets
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, update

from sandbox.service import ids
from sandbox.service.campaign import VARIANTS
from sandbox.service.clock import date_of, day_number
from sandbox.service.leads import sequence_number
from sandbox.service.refusals import BadRequest
from sandbox.service.schema import inboxes, sequences, subscriptions, tallies

_SHOWN = ("sends", "replies", "positive_replies", "meetings")
_DEFAULT_DAYS = 30

_SEQUENCES = (
    select(sequences).where(sequences.c.workspace_pk == bindparam("workspace")).order_by(sequences.c.pk)
)
_INBOXES = (
    select(inboxes.c.pk, inboxes.c.email, inboxes.c.health, inboxes.c.daily_limit, inboxes.c.status)
    .where(inboxes.c.workspace_pk == bindparam("workspace"))
    .order_by(inboxes.c.pk)
)
_STATS = (
    select(tallies.c.group_key, *(func.sum(tallies.c[name]).label(name) for name in _SHOWN))
    .where(
        tallies.c.workspace_pk == bindparam("workspace"),
        tallies.c.grouping == bindparam("grouping"),
        tallies.c.day.between(bindparam("first"), bindparam("last")),
    )
    .group_by(tallies.c.group_key)
    .order_by(tallies.c.group_key)
)


def list_sequences(connection: Connection, *, workspace: int) -> list[dict[str, Any]]:
    """The sequences of a workspace (document: GET /sequences)."""
    return [_sequence(row) for row in connection.execute(_SEQUENCES, {"workspace": workspace})]


def _sequence(row: Any) -> dict[str, Any]:
    return {"id": ids.encode("sq", row.pk), "name": row.name, "status": row.status, "steps": row.steps}


def change_sequence(
    connection: Connection, sequence_id: str, *, workspace: int, status: str
) -> dict[str, Any]:
    """Pause or resume (document: PATCH /sequences/{id}).

    Raises:
        NotFound: the sequence is not in this workspace.
    """
    number = sequence_number(connection, sequence_id, workspace=workspace)
    changed = update(sequences).where(sequences.c.pk == number).values(status=status).returning(*sequences.c)
    return _sequence(connection.execute(changed).one())


def list_inboxes(connection: Connection, *, workspace: int) -> list[dict[str, Any]]:
    """The inboxes of a workspace (document: GET /inboxes)."""
    return [
        {
            "id": ids.encode("ib", pk),
            "email": email,
            "health_score": score,
            "daily_limit": limit,
            "status": status,
        }
        for pk, email, score, limit, status in connection.execute(_INBOXES, {"workspace": workspace})
    ]


def date_range(start: dt.date | None, end: dt.date | None, *, now: float) -> tuple[dt.date, dt.date]:
    """The days that stats are asked for: the last 30, today included, when both ends are omitted.

    One end alone is not shown in the document: `to` is then today, and `from` 29 days before `to`.

    Raises:
        BadRequest: the range ends before it starts.
    """
    end = date_of(now) if end is None else end
    if start is None:
        start = dt.date.fromordinal(max(1, end.toordinal() - _DEFAULT_DAYS + 1))
    if end < start:
        raise BadRequest("`to` is before `from`.", field="to")
    return start, end


def read_stats(
    connection: Connection, *, workspace: int, grouping: str, start: dt.date, end: dt.date
) -> list[dict[str, Any]]:
    """Counts by group over whole UTC days, both ends included (document: GET /stats)."""
    labels = _labels(connection, grouping, workspace=workspace)
    where = {
        "workspace": workspace,
        "grouping": grouping,
        "first": day_number(start),
        "last": day_number(end),
    }
    return [
        dict(zip(("group", "id"), _label(grouping, row[0], labels), strict=True))
        | {name: int(value) for name, value in zip(_SHOWN, row[1:], strict=True)}
        for row in connection.execute(_STATS, where)
    ]


def _labels(connection: Connection, grouping: str, *, workspace: int) -> dict[int, str]:
    if grouping == "sequence":
        return {row.pk: row.name for row in connection.execute(_SEQUENCES, {"workspace": workspace})}
    if grouping == "inbox":
        return {row.pk: row.email for row in connection.execute(_INBOXES, {"workspace": workspace})}
    return {}


def _label(grouping: str, key: int, labels: dict[int, str]) -> tuple[str, str]:
    """A group's name and identifier."""
    if grouping == "step":
        return str(key), str(key)
    if grouping == "variant":
        return VARIANTS[key], VARIANTS[key]
    prefix = "sq" if grouping == "sequence" else "ib"
    return labels.get(key, ""), ids.encode(prefix, key)


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
