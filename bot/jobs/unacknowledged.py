"""Reminds of paused domains until someone acknowledges them: in the card's thread and the channel, at growing intervals."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from bot.alerts import rendering
from bot.blockkit.actions import ACK, OnAlert
from bot.store import Store
from bot.store.queue.alert_row import Due
from bot.store.queue.outbox import PlannedPost
from bot.store.queue.post_kinds import UNACKNOWLEDGED
from bot.store.queue.posts import INCIDENT
from shared.commands.arguments import clip
from shared.domain.alert_settings import Routing
from shared.domain.card import Button, Card, Tone
from shared.settings.sections import AlertPolicy
from shared.text.formats import show_exact_span

EVERY = 5.0
"""Seconds between two sweeps."""


class UnacknowledgedDomains:
    """`sweep` regularly; several processes can, and each reminder is planned once."""

    def __init__(
        self, store: Store, policy: AlertPolicy, routing: Routing, *, planned: Callable[[], None]
    ) -> None:
        self._store, self._policy, self._routing, self._planned = store, policy, routing, planned

    async def sweep(self) -> None:
        """Plan the reminders that are due. Raises `RecordsUnavailable`."""
        if self._policy.remind_after is None:
            return
        after = self._policy.remind_after.total_seconds()
        if await self._store.acknowledgements.sweep(self.plan, remind_after=after):
            self._planned()

    def plan(self, due: Due, now: float) -> PlannedPost:
        """One reminder, without a mention in the channel's quiet hours. Pure."""
        policy = self._routing.channel_policy(due.channel)
        return PlannedPost(
            dedupe=f"{due.alert.id}:{due.channel}:{UNACKNOWLEDGED}:{due.alert.ack_reminders}",
            channel=due.channel,
            kind=UNACKNOWLEDGED,
            urgency=INCIDENT,
            note=rendering.write_note(reminder_card(due, now=now)),
            condensed=True,
            mention="" if policy.quiet_until(now) else policy.mention,
            alert_id=due.alert.id,
        )


def reminder_card(due: Due, *, now: float) -> Card:
    """A paused domain that isn't acknowledged yet."""
    span = show_exact_span(timedelta(seconds=now - due.alert.received_at))
    return Card(
        title=f"{clip(due.alert.domain or 'A domain')} has been paused for {span}",
        tone=Tone.BAD,
        text=("Not acknowledged yet.",),
        buttons=(Button(label="Acknowledge", action=OnAlert(verb=ACK, alert=due.alert.id), tone=Tone.GOOD),),
    )
