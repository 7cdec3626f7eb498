"""`ack al_…`: a person acknowledges a paused domain, and its card shows it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from bot.blockkit.actions import ACK
from bot.commands.alert_actions import ActionResult
from bot.store import Store
from shared.domain.card import Card, Tone
from shared.domain.records import Actor, AuditEntry
from shared.domain.recurrence import find_zone
from shared.text.formats import show_time


async def acknowledge(
    store: Store, alert: str, actor: Actor, *, zone: str, changed: Callable[[], None]
) -> ActionResult:
    """Put the person's name on the card, unless it has one."""
    now = datetime.fromtimestamp(store.database.clock(), UTC)
    found = await store.acknowledgements.acknowledge(alert, actor)
    if found is None:
        return ActionResult(card=Card(title="This alert no longer exists", tone=Tone.WARN))
    if found.changed:
        changed()
        entry = AuditEntry(
            at=now, actor=actor, workspace=found.workspace, command=f"{ACK} {alert}", result=found.domain
        )
        await store.records.record(entry)
        return ActionResult(card=Card(title=f"You acknowledged {found.domain}", tone=Tone.GOOD), shown=True)
    if found.at is None:
        return ActionResult(card=Card(title=f"{found.domain} has recovered", tone=Tone.GOOD))
    at = show_time(datetime.fromtimestamp(found.at, UTC), now=now, zone=find_zone(zone) or UTC)
    return ActionResult(card=Card(title=f"@{found.name} acknowledged {found.domain} at {at}"))
