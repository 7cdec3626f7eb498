"""Reminds of paused domains until someone acknowledges them: in the card's thread and the channel, at growing intervals."""

from __future__ import annotations

from datetime import timedelta

from bot.alerts import notes
from bot.blockkit.actions import ACK, OnAlert
from shared.commands.base import clip
from shared.domain.alert_settings import Routing
from shared.domain.card import Button, Card, Tone
from shared.store.queue.alert_row import Due
from shared.store.queue.outbox import PlannedPost
from shared.store.queue.post_kinds import UNACKNOWLEDGED
from shared.store.queue.posts import INCIDENT
from shared.text.formats import show_exact_span


def plan(due: Due, now: float, *, routing: Routing) -> PlannedPost:
    """One reminder, without a mention in the channel's quiet hours. Pure."""
    policy = routing.channel_policy(due.channel)
    return PlannedPost(
        dedupe=f"{due.alert.id}:{due.channel}:{UNACKNOWLEDGED}:{due.alert.ack_reminders}",
        channel=due.channel,
        kind=UNACKNOWLEDGED,
        urgency=INCIDENT,
        note=notes.write_note(reminder_card(due, now=now)),
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
