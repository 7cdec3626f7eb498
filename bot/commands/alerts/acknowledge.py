"""`ack al_…`: a person acknowledges a paused domain, and its card shows it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC

from bot.blockkit.actions import ACK
from bot.commands.alerts.alert_actions import GONE, ActionResult
from shared.domain.card import Card, Tone
from shared.domain.wall_clock import find_zone, moment
from shared.records.audit import Actor, AuditEntry
from shared.store import Store
from shared.text.formats import show_time


async def acknowledge(
    store: Store, alert: str, actor: Actor, *, zone: str, changed: Callable[[], None]
) -> ActionResult:
    """Put the person's name on the card, unless it has one."""
    now = moment(store.database.clock())
    acknowledged = await store.alerts.acknowledge(alert, actor)
    if acknowledged is None:
        return ActionResult(card=GONE)
    row = acknowledged.alert
    if acknowledged.changed:
        changed()
        entry = AuditEntry(
            at=now, actor=actor, workspace=row.workspace, command=f"{ACK} {alert}", result=row.domain
        )
        await store.records.record(entry)
        return ActionResult(
            card=Card(title=f"@{actor.name} acknowledged {row.domain}", tone=Tone.GOOD), shown=True
        )
    if row.acked_at is None:
        return ActionResult(card=Card(title=f"{row.domain} has recovered", tone=Tone.GOOD))
    at = show_time(moment(row.acked_at), now=now, zone=find_zone(zone) or UTC)
    return ActionResult(card=Card(title=f"@{row.acked_name} acknowledged {row.domain} at {at}"))
