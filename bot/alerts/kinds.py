"""The table of alerts: for each kind of event, its title, urgency and Card.

Pure: an alert's Card depends only on its event, its claim and the number of its deliveries, so any process can render
it at any time, and an update renders the same way as the first post.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from bot.alerts import interested, paused_domain
from bot.alerts.model import INTERESTED, PAUSED, Alert, domain_of
from bot.alerts.wording import (
    about,
    campaign_of,
    day_of,
    facts_of,
    footer,
    show_day,
    when,
)
from bot.blockkit.actions import OnAlert
from bot.store.queue.posts import INCIDENT
from shared.api.events import Event
from shared.commands.arguments import Lead, Remove
from shared.domain.card import Button, Card, Tone
from shared.domain.records import Subscription


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertKind:
    """One entry per kind of event."""

    title: str
    """What a count of them is called."""
    choice: str
    """What the form of subscriptions calls it."""
    card: Callable[[Alert], Card]
    at_once: bool = False
    """Posted to the alert channel without anybody having subscribed."""
    urgency: int = 0


def matches(subscription: Subscription, event: Event) -> bool:
    """Whether an event matches a subscription."""
    return (
        subscription.event in {event.kind, "*"}
        and _matches(subscription.sequence, event.sequence)
        and (_matches(subscription.inbox, event.inbox) or _matches(subscription.inbox, domain_of(event)))
    )


def _matches(wanted: str, given: str | None) -> bool:
    return not wanted or wanted.casefold() == (given or "").casefold()


def card(alert: Alert) -> Card:
    return kind_of(alert.event.kind).card(alert)


def title(kind: str) -> str:
    return kind_of(kind).title


def condensed(alert: Alert) -> Card:
    """An alert in one line: what it is called, and the first thing that can be done with it."""
    whole = card(alert)
    parts = [
        *whole.text[:1],
        *(fact.value for fact in whole.facts if fact.brief),
    ]
    quote = " ".join(whole.quote.split())
    short = quote if len(quote) <= 140 else f"{quote[:139]}…"
    text = " · ".join(filter(None, (*parts, f"“{short}”" if short else "")))
    return Card(title=whole.title, tone=whole.tone, text=(text,) if text else (), buttons=whole.buttons[:1])


def kind_of(kind: str) -> AlertKind:
    return KINDS.get(kind, _OTHER)


def again(alert: Alert, *, at: datetime) -> Card:
    """What goes into the thread, and to the channel, when a paused domain is reported again."""
    return Card(
        title=f"Paused again: {domain_of(alert.event) or 'a domain'}",
        tone=Tone.BAD,
        facts=(when("Reported again", at), when("First reported", alert.received_at)),
    )


def turned(alert: Alert) -> Card:
    """What goes into the thread, and to the channel, when the card of a reply shows more than it did."""
    whole = card(alert)
    return Card(
        title=whole.title, tone=whole.tone, text=("Updated on the card above.",), buttons=whole.buttons[:1]
    )


def _removable(alert: Alert) -> tuple[Button, ...]:
    """For a lead who must not be written to anymore; removing asks first."""
    email = alert.event.lead.email
    if not email:
        return ()
    return (
        Button(label="Remove lead …", action=Remove(who=email), workspace=alert.workspace, tone=Tone.BAD),
        Button(label="View lead", action=Lead(who=email), workspace=alert.workspace),
    )


def _absent(alert: Alert) -> tuple[Button, ...]:
    """For a lead who is away: a reminder on the morning of the return, or at a chosen time."""
    email = alert.event.lead.email
    viewed = (Button(label="View lead", action=Lead(who=email), workspace=alert.workspace),) if email else ()
    if alert.snooze:
        return (Button(label="Cancel reminder", action=OnAlert(verb="wake", alert=alert.id)), *viewed)
    day = day_of(alert.event.return_date or "")
    on_return = (
        (
            Button(
                label=f"Remind on {day.day} {day:%b}",
                action=OnAlert(verb="snooze", alert=alert.id, detail=str(day)),
            ),
        )
        if day and day > alert.received_at.date()
        else ()
    )
    return (*on_return, Button(label="Remind me …", action=OnAlert(verb="snooze", alert=alert.id)), *viewed)


def _no_buttons(_: Alert) -> tuple[Button, ...]:
    return ()


def _brief(
    word: str, tone: Tone, buttons: Callable[[Alert], tuple[Button, ...]] = _no_buttons
) -> Callable[[Alert], Card]:
    def draw(alert: Alert) -> Card:
        event = alert.event
        return Card(
            title=f"{word}: {about(event)}",
            tone=tone,
            facts=(
                *facts_of(("From", event.lead.email if event.lead.name != event.lead.email else None)),
                *facts_of(
                    ("Sequence", campaign_of(event)),
                    ("Back on", show_day(event.return_date or "")),
                    brief=True,
                ),
                *facts_of(("Bounce", event.bounce_type)),
                *facts_of(("Reason", event.reason), brief=True),
                when("Received", alert.received_at),
                *((when("Reminder", alert.snooze.at),) if alert.snooze else ()),
                *facts_of(("Set by", f"@{alert.snooze.name}" if alert.snooze else None)),
            ),
            quote=event.reply or "",
            buttons=buttons(alert),
            footer=footer(alert),
        )

    return draw


def _other(alert: Alert) -> Card:
    return _brief(alert.event.kind, Tone.UNKNOWN)(alert)


KINDS: Mapping[str, AlertKind] = {
    INTERESTED: AlertKind(
        title="interested replies",
        choice="Interested reply",
        card=interested.card,
        at_once=True,
        urgency=2,
    ),
    PAUSED: AlertKind(
        title="paused domains",
        choice="Domain paused",
        card=paused_domain.card,
        at_once=True,
        urgency=INCIDENT,
    ),
    "lead.replied": AlertKind(title="replies", choice="Reply", card=_brief("Reply", Tone.INFO)),
    "reply.ooo": AlertKind(
        title="out-of-office replies",
        choice="Out of office",
        card=_brief("Out of office", Tone.INFO, _absent),
    ),
    "lead.bounced": AlertKind(
        title="bounces", choice="Bounce", card=_brief("Bounced", Tone.WARN, _removable)
    ),
    "lead.unsubscribed": AlertKind(
        title="opt-outs", choice="Opt-out", card=_brief("Opted out", Tone.WARN, _removable)
    ),
    "sequence.completed": AlertKind(
        title="completions", choice="Sequence completed", card=_brief("Sequence completed", Tone.INFO)
    ),
}
_OTHER = AlertKind(title="other events", choice="Other event", card=_other)
