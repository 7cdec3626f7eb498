"""From a pending delivery to the messages it causes. Pure: what the ledger calls within its transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot import alerts
from bot.ledger.inbox import Decision, Pending, Planned
from shared.api.events import Event, read_event
from shared.records import Subscription

AGAIN_AFTER = 1800.0
"""Seconds after an acknowledged report of a paused domain when an identical one is a new event, not a retry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """Who is told what, by workspace."""

    alert_channels: Mapping[str, str | None]
    subscriptions: Mapping[str, Sequence[Subscription]]

    def decide(self, pending: Pending) -> Decision:
        """What becomes of a delivery."""
        event = read_event(pending.body)
        if not isinstance(event, Event):
            return Decision(problem=event.reason)
        known = "" if event.is_known else f"{event.kind[:80]!r} is no event of the document"
        return Decision(
            kind=event.kind[:80],
            problem=known,
            email=event.lead.email or "",
            posts=tuple(self._posts(pending, event)),
        )

    def _posts(self, pending: Pending, event: Event) -> list[Planned]:
        channels = alerts.routes(
            event,
            alert_channel=self.alert_channels.get(pending.workspace),
            subscriptions=self.subscriptions.get(pending.workspace, ()),
        )
        urgency = alerts.kind_of(event.kind).urgency
        first = [Planned(dedupe=f"{pending.alert_id}:{c}", channel=c, urgency=urgency) for c in channels]
        return [*first, *self._again(pending, event, channels)]

    def _again(self, pending: Pending, event: Event, channels: Sequence[str]) -> list[Planned]:
        """A domain that is paused anew sends the same bytes; a sender that was told 200 does not retry."""
        if event.kind != alerts.PAUSED or pending.seen < 2 or not pending.acknowledged_before:
            return []
        if pending.last_at - pending.before_at < AGAIN_AFTER:
            return []
        mark = f"again:{pending.seen}"
        return [
            Planned(dedupe=f"{pending.alert_id}:{c}:{mark}", channel=c, kind="again", urgency=1)
            for c in channels
        ]
