"""The control API's queries and changes of the store."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select, update

from sandbox.service.base import schema
from sandbox.service.base.clock import stamp
from sandbox.service.base.errors import BadRequest
from sandbox.service.base.ids import encode
from sandbox.service.base.schema import (
    api_keys,
    attempts,
    deliveries,
    domains,
    events,
    subscriptions,
    workspaces,
)
from sandbox.service.campaign import scenarios


def state(connection: Connection) -> dict[str, Any]:
    """The scenario and how much there is of everything."""
    world = connection.execute(select(schema.world)).one()
    counts = {
        table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
        for table in (
            schema.sequences,
            schema.inboxes,
            schema.leads,
            domains,
            events,
            deliveries,
            subscriptions,
        )
    }
    return {
        "scenario": scenarios.label(world.scenario),
        "seed": world.seed,
        "founded_at": stamp(world.founded_at),
        "simulated_until": stamp(world.simulated_until),
        "acts_done": world.acts_done,
        "workspaces": list(connection.execute(select(workspaces.c.name).order_by(workspaces.c.pk)).scalars()),
        "domains": [
            {"name": row.name, "state": row.state} for row in connection.execute(select(domains).limit(1_000))
        ],
        "counts": counts,
    }


def key_names(connection: Connection) -> dict[str, str]:
    """The workspace's name of each key, in the order of the workspaces."""
    rows = connection.execute(
        select(api_keys.c.key, workspaces.c.name)
        .join(workspaces, workspaces.c.pk == api_keys.c.workspace_pk)
        .order_by(workspaces.c.pk, api_keys.c.key.desc())
    )
    return {row.key: row.name for row in rows}


def deliveries_by_state(connection: Connection) -> dict[str, Any]:
    """How many deliveries there are in each state, of each kind, and how many attempts were made."""
    rows = connection.execute(
        select(events.c.kind, deliveries.c.state, func.count().label("number"))
        .join(events, events.c.pk == deliveries.c.event_pk)
        .group_by(events.c.kind, deliveries.c.state)
    ).all()
    states, kinds = Counter({"pending": 0, "delivered": 0, "failed": 0}), Counter[str]()
    for row in rows:
        states[row.state] += row.number
        kinds[row.kind] += row.number
    made = connection.execute(select(func.count()).select_from(attempts)).scalar_one()
    return {"by_state": dict(states), "by_kind": dict(sorted(kinds.items())), "attempts": made}


def number_of(connection: Connection, table: Table, name: str, *, field: str) -> int:
    """The row of the workspace or domain of a name. Raises `BadRequest`: there is none of that name."""
    found = connection.execute(select(table.c.pk).where(table.c.name == name)).scalar()
    if found is None:
        raise BadRequest(f"There is no {field} {name!r}.", field=field)
    return int(found)


def history(connection: Connection, *, email: str, workspace: str) -> list[dict[str, Any]]:
    """What ever happened to an address."""
    number = number_of(connection, workspaces, workspace, field="workspace")
    rows = connection.execute(
        select(events).where(events.c.email == email, events.c.workspace_pk == number).order_by(events.c.pk)
    )
    return [{"kind": row.kind, "at": stamp(row.at), "body": json.loads(row.body)} for row in rows]


def change_key(connection: Connection, *, workspace: str, revoke: str | None) -> dict[str, Any]:
    """Revoke a key, or issue a new one."""
    number = number_of(connection, workspaces, workspace, field="workspace")
    if revoke is not None:
        where = (api_keys.c.key == revoke) & (api_keys.c.workspace_pk == number)
        if not connection.execute(update(api_keys).where(where).values(revoked=True)).rowcount:
            raise BadRequest("This key doesn't exist in this workspace.", field="revoke")
        return {"revoked": True}
    key = f"live_{workspace}_{secrets.token_hex(12)}"
    connection.execute(insert(api_keys), {"key": key, "workspace_pk": number, "revoked": False})
    return {"key": key}


def list_subscriptions(connection: Connection, *, workspace: str | None) -> list[dict[str, Any]]:
    """Subscriptions without their secrets."""
    statement = select(subscriptions, workspaces.c.name).join(
        workspaces, workspaces.c.pk == subscriptions.c.workspace_pk
    )
    if workspace is not None:
        statement = statement.where(workspaces.c.name == workspace)
    return [
        {
            "id": encode("wh", row.pk),
            "workspace": row.name,
            "url": row.url,
            "events": row.events.split(),
            "created_at": stamp(row.created_at),
        }
        for row in connection.execute(statement.order_by(subscriptions.c.pk))
    ]


def list_deliveries(
    connection: Connection, *, state: str | None, kind: str | None, limit: int
) -> list[dict[str, Any]]:
    """The newest deliveries; `first_sent` is by the real clock, in Unix seconds."""
    sent = (
        select(func.min(attempts.c.real)).where(attempts.c.delivery_pk == deliveries.c.pk).scalar_subquery()
    )
    statement = select(deliveries, events.c.kind, events.c.body, sent.label("sent")).join(
        events, events.c.pk == deliveries.c.event_pk
    )
    if state is not None:
        statement = statement.where(deliveries.c.state == state)
    if kind is not None:
        statement = statement.where(events.c.kind == kind)
    return [
        {
            "id": encode("dl", row.pk),
            "subscription": encode("wh", row.subscription_pk),
            "event": row.kind,
            "state": row.state,
            "attempts": row.attempts,
            "next_at": stamp(row.next_at) if row.state == "pending" else None,
            "first_sent": row.sent,
            "body": row.body.decode(),
        }
        for row in connection.execute(statement.order_by(deliveries.c.pk.desc()).limit(limit))
    ]


def list_attempts(connection: Connection, delivery: int) -> list[dict[str, Any]]:
    """The attempts of a delivery, in order."""
    columns = (attempts.c[name] for name in ("number", "at", "status", "error", "seconds"))
    rows = connection.execute(
        select(*columns).where(attempts.c.delivery_pk == delivery).order_by(attempts.c.pk)
    ).mappings()
    return [{**row, "at": stamp(row["at"]), "seconds": round(row["seconds"], 4)} for row in rows]


def replay(connection: Connection, delivery: int, *, now: float) -> bool:
    """Make a delivery due again; False when there is none."""
    again = {"state": "pending", "next_at": now, "lease_until": 0.0}
    return bool(
        connection.execute(update(deliveries).where(deliveries.c.pk == delivery).values(**again)).rowcount
    )
