"""The Card of an alert, as the table of kinds of events names it.

Pure: an alert's Card depends only on its event, its claim and the number of its deliveries, so any process can render
it at any time, and an update renders the same way as the first post.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from bot.alerts import domains, interested
from bot.alerts.model import Alert, domain_of
from bot.alerts.wording import (
    about,
    campaign_of,
    day_of,
    facts_of,
    footer,
    show_day,
    when,
)
from bot.blockkit.actions import DETAILS, LEAD, OnAlert
from shared.api.event_kinds import kind_of
from shared.api.events import Event
from shared.commands.leads import Lead, Remove
from shared.domain.card import Button, Card, Tone
from shared.records.records import Subscription
from shared.text.formats import clip


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
    return _CARDS[kind_of(alert.event.kind).card](alert)


def condensed(alert: Alert) -> Card:
    """An alert in one line: what it is called, and the first thing that can be done with it."""
    whole = card(alert)
    parts = [
        *whole.text[:1],
        *(fact.value for fact in (*whole.facts, *whole.details) if fact.brief),
    ]
    quote = " ".join(whole.quote.split())
    short = quote if len(quote) <= 140 else f"{quote[:139]}…"
    text = " · ".join(filter(None, (*parts, f"“{short}”" if short else "")))
    return Card(title=whole.title, tone=whole.tone, text=(text,) if text else (), buttons=first_act(whole))


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
        title=whole.title,
        tone=whole.tone,
        text=("Updated on the card above.",),
        quote=clip(whole.quote, length=LISTED),
        buttons=first_act(whole),
        notifies=True,
    )


LISTED = 120
"""Characters of a reply in the line of a list."""


def listed(card: Card) -> Card:
    """The card in a list of many: the beginning of its quote, the first thing to do, and a look at the rest."""
    first = first_act(card)
    look = next((one for one in card.buttons if _looks(one) and one not in first), None)
    label = "Details" if look and look.menu else "View"
    shown = (*first, *((replace(look, label=label, menu=False),) if look else ()))
    where = tuple(fact for fact in card.details if fact.brief)
    return replace(card, quote=clip(card.quote, length=LISTED), details=where, buttons=shown)


def first_act(card: Card) -> tuple[Button, ...]:
    """The first thing that can be done with a card in the message itself."""
    return tuple(one for one in card.buttons if not (one.url or one.menu))[:1]


def _looks(button: Button) -> bool:
    """Whether a button shows the lead or the whole alert."""
    action = button.action
    return isinstance(action, Lead) or (isinstance(action, OnAlert) and action.verb in {LEAD, DETAILS})


def _removable(alert: Alert) -> tuple[Button, ...]:
    """For a lead who must not be written to anymore; removing asks first."""
    email, status = alert.event.lead.email, kind_of(alert.event.kind).lead_status
    if not email:
        return ()
    return (
        Button(
            label="Remove lead …",
            action=Remove(who=email, status=status),
            workspace=alert.workspace,
            tone=Tone.BAD,
        ),
        Button(label="View lead", action=Lead(who=email, status=status), workspace=alert.workspace),
    )


def _absent(alert: Alert) -> tuple[Button, ...]:
    """For a lead who is away: a reminder on the morning of the return, or at a chosen time."""
    email, status = alert.event.lead.email, kind_of(alert.event.kind).lead_status
    viewed = (
        (Button(label="View lead", action=Lead(who=email, status=status), workspace=alert.workspace),)
        if email
        else ()
    )
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


def _brief(alert: Alert) -> Card:
    event, kind = alert.event, kind_of(alert.event.kind)
    offers = {"removal": _removable, "reminder": _absent}.get(kind.offers)
    return Card(
        title=f"{kind.title or kind.label}: {about(event)}",
        tone=Tone(kind.tone),
        facts=(
            *facts_of(("Back on", show_day(event.return_date or "")), brief=True),
            *facts_of(("Bounce", event.bounce_type)),
            *facts_of(("Reason", event.reason), brief=True),
            *((when("Reminder", alert.snooze.at),) if alert.snooze else ()),
            *facts_of(("Set by", f"@{alert.snooze.name}" if alert.snooze else None)),
        ),
        quote=event.reply or "",
        buttons=offers(alert) if offers else (),
        details=(
            *facts_of(("Email", event.lead.email)),
            *facts_of(("Sequence", campaign_of(event)), brief=True),
            when("Received", alert.received_at),
        ),
        footer=footer(alert),
        notifies=True,
    )


_CARDS: Mapping[str, Callable[[Alert], Card]] = {
    "reply": interested.card,
    "paused domain": domains.paused_card,
    "dns": domains.dns_card,
    "brief": _brief,
}
