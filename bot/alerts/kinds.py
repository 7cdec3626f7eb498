"""The Card of an alert, as the table of kinds of events names it.

Pure: an alert's Card depends only on its event, its claim and the number of its deliveries, so any process can render
it at any time, and an update renders the same way as the first post.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from bot.alerts import domains, interested
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
from bot.blockkit.card_blocks import EXCERPT
from bot.blockkit.elements import cut
from shared.api.event_kinds import kind_of
from shared.api.events import Event
from shared.commands.leads import Lead, Remove
from shared.domain.alert import Alert, domain_of
from shared.domain.card import Button, Card, Tone
from shared.records.records import Subscription
from shared.text.formats import clip

LISTED = 120
"""Characters of a reply in the line of a list."""


def matches(subscription: Subscription, event: Event) -> bool:
    """True where an event matches a subscription."""
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
    quote = cut(" ".join(whole.quote.split()), EXCERPT)
    brief = (fact.value for fact in (*whole.facts, *whole.details) if fact.brief)
    text = " · ".join(filter(None, (*whole.text[:1], *brief, f"“{quote}”" if quote else "")))
    return Card(title=whole.title, tone=whole.tone, text=(text,) if text else (), buttons=first_act(whole))


def again(alert: Alert, *, at: datetime) -> Card:
    """The message for thread and channel when a paused domain is reported again."""
    return Card(
        title=f"Paused again: {domain_of(alert.event) or 'a domain'}",
        tone=Tone.BAD,
        facts=(when("Reported again", at), when("First reported", alert.received)),
    )


def turned(alert: Alert) -> Card:
    """The message for thread and channel when the card of a reply shows more than it did."""
    whole = card(alert)
    return Card(
        title=whole.title,
        tone=whole.tone,
        text=("Updated on the card above.",),
        quote=clip(whole.quote, length=LISTED),
        buttons=first_act(whole),
        notifies=True,
    )


def listed(card: Card) -> Card:
    """The card in a list of many: the beginning of its quote, the first thing to do, and a look at the rest."""
    buttons = first_act(card)
    look = next((button for button in card.buttons if _looks(button) and button not in buttons), None)
    if look:
        buttons += (replace(look, label="Details" if look.menu else "View", menu=False),)
    where = tuple(fact for fact in card.details if fact.brief)
    return replace(card, quote=clip(card.quote, length=LISTED), details=where, buttons=buttons)


def first_act(card: Card) -> tuple[Button, ...]:
    """The first thing that can be done with a card in the message itself."""
    return tuple(button for button in card.buttons if not (button.url or button.menu))[:1]


def _looks(button: Button) -> bool:
    """True where a button shows the lead or the whole alert."""
    action = button.action
    return isinstance(action, Lead) or (isinstance(action, OnAlert) and action.verb in {LEAD, DETAILS})


def _brief(alert: Alert) -> Card:
    """The card of an event that happened to a lead, with what can be done about it."""
    event, kind, snooze = alert.event, kind_of(alert.event.kind), alert.snooze
    facts = [
        *facts_of(("Back on", show_day(event.return_date or "")), brief=True),
        *facts_of(("Bounce", event.bounce_type)),
        *facts_of(("Reason", event.reason), brief=True),
    ]
    if snooze:
        facts += [when("Reminder", snooze.at), *facts_of(("Set by", f"@{snooze.name}"))]
    return Card(
        title=f"{kind.title or kind.label}: {about(event)}",
        tone=Tone(kind.tone),
        facts=tuple(facts),
        quote=event.reply or "",
        buttons=_offered(alert),
        details=(
            *facts_of(("Email", event.lead.email)),
            *facts_of(("Sequence", campaign_of(event)), brief=True),
            when("Received", alert.received),
        ),
        footer=footer(alert),
        notifies=True,
    )


def _offered(alert: Alert) -> tuple[Button, ...]:
    """To remove a lead who must not be written to anymore, or a reminder of one who is away; and a look at them."""
    email, kind = alert.event.lead.email or "", kind_of(alert.event.kind)
    buttons: list[Button] = []
    if kind.offers == "removal" and email:  # removing asks first
        remove = Remove(who=email, status=kind.lead_status)
        buttons.append(Button(label="Remove lead …", action=remove, workspace=alert.workspace, tone=Tone.BAD))
    if kind.offers == "reminder" and alert.snooze:
        buttons.append(Button(label="Cancel reminder", action=OnAlert(verb="wake", alert=alert.id)))
    elif kind.offers == "reminder":
        day = day_of(alert.event.return_date or "")
        if day and day > alert.received.date():
            on_return = OnAlert(verb="snooze", alert=alert.id, detail=str(day))
            buttons.append(Button(label=f"Remind on {day.day} {day:%b}", action=on_return))
        buttons.append(Button(label="Remind me …", action=OnAlert(verb="snooze", alert=alert.id)))
    if kind.offers and email:
        look = Lead(who=email, status=kind.lead_status)
        buttons.append(Button(label="View lead", action=look, workspace=alert.workspace))
    return tuple(buttons)


_CARDS: Mapping[str, Callable[[Alert], Card]] = {
    "reply": interested.card,
    "paused domain": domains.paused_card,
    "dns": domains.dns_card,
    "brief": _brief,
}
