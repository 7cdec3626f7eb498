"""What messages show: rows of the alerts with their deliveries, and entries of the audit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from functools import cached_property
from typing import Any

import sqlalchemy as sa

from shared.api.events import Event, read_event
from shared.domain.reply_states import State, state_of
from shared.domain.wall_clock import moment
from shared.records.audit import Actor, AuditEntry, Before, Now
from shared.store.db.engine import Transaction
from shared.store.db.schema import alerts, audit, deliveries

PRUNED = Event(kind="pruned")
"""The event of a delivery whose body is deleted."""


@dataclass(frozen=True, kw_only=True)  # without slots, to keep the event once it is decoded
class AlertRow:
    """An alert: which event it shows, who takes care of it, how its sequence or domain stands. Times are Unix seconds.

    What a query leaves out has its default.
    """

    id: str
    workspace: str = ""
    kind: str = ""
    email: str = ""
    received_at: float = 0.0
    sequence: str = ""
    domain: str = ""
    claimed_by: str = ""
    claimed_name: str = ""
    claimed_at: float | None = None
    mail_until: float | None = None
    """Until when the click of who has it opens their mail program."""
    assigned_name: str = ""
    """Who assigned it to the person that has it; empty: they claimed it."""
    waiting_since: float | None = None
    nudges: int = 0
    snoozed_until: float | None = None
    snoozed_name: str = ""
    snoozed_by: str = ""
    """The id of who snoozed it, or asked for a reminder."""
    handled_name: str = ""
    handled_at: float | None = None
    closed_reason: str = ""
    rota: str = ""
    """The rota whose turns it follows; empty: none."""
    owner: str = ""
    """Whose turn it is, as long as nobody has claimed it; empty: the group's."""
    owner_name: str = ""
    passed: str = ""
    """Whose turn it was before, separated by spaces."""
    standing: str = ""
    recovered_at: float | None = None
    worked_since: float | None = None
    """Since when the person that has it is to be done with it: the claim, or the last time it was reopened."""
    claim_nudges: int = 0
    turn_ends_at: float | None = None
    ack_due_at: float | None = None
    acked_name: str = ""
    acked_at: float | None = None
    ack_reminders: int = 0
    body: bytes | None = None
    """The body of its delivery."""
    seen: int = 0
    """How often its delivery came."""
    found: bool = False
    """It was read from the API: its delivery never came."""

    @cached_property
    def event(self) -> Event:
        """The event of its delivery; `PRUNED` where the body is deleted."""
        read = read_event(self.body or b"")
        return read if isinstance(read, Event) else PRUNED

    @property
    def is_pruned(self) -> bool:
        return self.event is PRUNED

    @property
    def state(self) -> State:
        """Who takes care of it."""
        return state_of(
            is_done=self.handled_at is not None,
            is_claimed=bool(self.claimed_by),
            is_snoozed=self.snoozed_until is not None,
        )

    @property
    def received(self) -> datetime:
        return moment(self.received_at)


def _columns(table: sa.Table) -> tuple[sa.ColumnElement[Any], ...]:
    return tuple(table.c[field.name] for field in fields(AlertRow) if field.name in table.c)


OWN = _columns(alerts)
"""The columns of an alert without its delivery."""
COLUMNS = (*OWN, *(deliveries.c[name] for name in ("body", "seen", "found")))
_NAMES = tuple(column.name for column in COLUMNS)
ALERT_ROWS = sa.select(*COLUMNS).join(deliveries, deliveries.c.id == alerts.c.delivery_id)
"""Alerts with their deliveries."""


def alert_of(values: Sequence[Any]) -> AlertRow | None:
    """The alert with these values of `COLUMNS`; None where an outer join has none."""
    return None if values[0] is None else AlertRow(**dict(zip(_NAMES, values, strict=True)))


def read_alerts(
    tx: Transaction, query: sa.Select[Any], values: Mapping[str, Any] | None = None
) -> Sequence[AlertRow]:
    """The rows of a query on columns of `AlertRow`."""
    return [AlertRow(**row._asdict()) for row in tx.execute(query, values)]


ENTRY_COLUMNS = tuple(audit.c)
"""What a query needs for `entry_of`, in this order."""
_AS_KEPT = ("workspace", "command", "result", "effect", "reason", "undoes", "undone_by", "overtaken_by")


def entry_of(values: Any) -> AuditEntry:
    """The entry of the audit that these values of `ENTRY_COLUMNS` are."""
    row = dict(zip(audit.c.keys(), values, strict=True))
    where = {name: row[name] for name in ("face", "channel", "via")}
    return AuditEntry(
        number=row["id"],
        at=moment(row["at"]),
        actor=Actor(name=row["actor_name"], id=row["actor_id"], **where),
        sequences=tuple(json.loads(row["sequences"] or "[]")),
        undoable=read_undoable(row["undoable"]),
        **{name: row[name] for name in _AS_KEPT},
    )


def read_undoable(text: str) -> dict[str, Before]:
    """The sequences of `write_undoable`."""
    return {name: _before(kept) for name, kept in json.loads(text or "{}").items()}


def _before(kept: Mapping[str, Any]) -> Before:
    later = kept.get("later")
    return Before(**{**kept, "later": Now(**later) if later else None})


def write_undoable(undoable: Mapping[str, Before]) -> str:
    """JSON of the sequences that an Undo takes back; empty where there are none."""
    return json.dumps({name: asdict(before) for name, before in undoable.items()}) if undoable else ""
