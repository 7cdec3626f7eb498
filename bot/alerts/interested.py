"""The card of a reply that a person may claim: who wrote, the words, the buttons for its state, and where it came from. Pure."""

from __future__ import annotations

from datetime import datetime

from bot.alerts.model import Alert
from bot.alerts.wording import answer_link, campaign_of, facts_of, footer, introduced, show_time, when
from bot.blockkit.actions import ASSIGN, OnAlert
from shared.api.event_kinds import kind_of
from shared.commands.leads import Remove
from shared.commands.pause import Pause
from shared.commands.resume import Resume
from shared.domain.card import Button, Card, Confirm, Fact, Tone
from shared.text.formats import show_exact_span, show_number
from shared.text.quotations import without_quotation

QUOTED = 1_500
"""Characters of a reply that the card shows."""
WORTH_FOLDING = 40
"""Characters: less quoted mail or signature than that is shown."""


def card(alert: Alert) -> Card:
    """Who wrote, the reply, how it stands, the buttons, and in one small line where and when."""
    event = alert.event
    quote, cut = excerpt(event.reply or "")
    interested = kind_of(event.kind).claimable
    # A card that is done no longer follows its sequence.
    paused = ("This sequence is paused",) if alert.sequence_paused and not alert.handled else ()
    return Card(
        title=f"{introduced(event)} {'is interested' if interested else 'replied'}",
        tone=_tone(alert) if interested else Tone.INFO,
        text=(*_status_line(alert), *paused),
        facts=_snoozed_until(alert),
        quote=quote,
        buttons=buttons(alert) if interested else _plain_buttons(alert),
        details=origin(alert),
        footer=" · ".join(filter(None, (cut, footer(alert)))),
        notifies=True,
    )


def origin(alert: Alert) -> tuple[Fact, ...]:
    """Email, sequence, step, inbox and time, for the small line of a card."""
    email = alert.event.lead.email
    link = answer_link(alert.event) if kind_of(alert.event.kind).card == "reply" else ""
    label = "Reply by email" if link else "Email"
    return (
        *((Fact(label=label, value=email, url=link),) if email else ()),
        *facts_of(("Sequence", campaign_of(alert.event)), brief=True),
        when("Received", alert.received_at),
    )


def excerpt(reply: str) -> tuple[str, str]:
    """What the lead wrote without quoted mail and signature, cut between words, and how much is not shown."""
    whole, text = reply.strip(), without_quotation(reply)
    if len(whole) <= min(QUOTED, len(text) + WORTH_FOLDING):
        return whole, ""
    if len(text) > QUOTED:
        shown = text[: QUOTED - 1]
        text = f"{shown[: shown.rfind(' ')] if ' ' in shown[-80:] else shown}…"
    hidden = len(whole) - len(text.removesuffix("…"))
    return text, f"{show_number(hidden, 'more character')} not shown"


def _tone(alert: Alert) -> Tone:
    if alert.handled or alert.claim or alert.snooze:
        return Tone.INFO
    return Tone.WARN if alert.nudges else Tone.GOOD


def _status_line(alert: Alert) -> tuple[str, ...]:
    if alert.handled and alert.closed_reason:
        return (f"Closed by @{alert.handled.name}: not interested ({alert.closed_reason})",)
    if alert.handled:
        return (f"✓ Done by @{alert.handled.name} after {_time_taken(alert, alert.handled.at)}",)
    if alert.claim:
        did = f"Assigned to @{alert.claim.name} by @{alert.assigned_by}" if alert.assigned_by else ""
        return (f"✓ {did or f'Claimed by @{alert.claim.name}'} after {_time_taken(alert, alert.claim.at)}",)
    if alert.snooze:
        return (f"Snoozed by @{alert.snooze.name}",)
    if alert.nudges > 1 or (alert.nudges and not alert.turn):
        sent = ("Still unclaimed: a reminder was sent", "Still unclaimed: escalated")[alert.nudges > 1]
        return tuple(filter(None, (sent, alert.turn)))
    return (alert.turn,) if alert.turn else ()


def _time_taken(alert: Alert, at: datetime) -> str:
    return show_exact_span(at - alert.received_at)


def _snoozed_until(alert: Alert) -> tuple[Fact, ...]:
    if alert.snooze is None or alert.handled:
        return ()
    label = "Reminder" if alert.claim else "Snoozed until"
    return (Fact(label=label, value=show_time(alert.snooze.at), at=alert.snooze.at),)


def buttons(alert: Alert) -> tuple[Button, ...]:
    """The buttons for an alert's state. Pure."""
    if alert.handled:
        return (_alert_button(alert, "reopen", "Reopen"), *_links(alert), *_lead(alert))
    if alert.claim:
        return (
            _done(alert, tone=Tone.GOOD),
            *(() if alert.snooze else (_alert_button(alert, "remind", "Remind me in 2 h", detail="2h"),)),
            take_over(alert.id, alert.claim.name),
            *_sequence(alert),
            *_links(alert),
            _alert_button(alert, "release", "Release", menu=True),
            _assign(alert, menu=True),
            _not_interested(alert),
            *_lead(alert),
        )
    claim = _claim(alert)
    if alert.snooze:
        wake = _alert_button(alert, "wake", "Unsnooze")
        assign = _assign(alert, menu=True)
        return (claim, wake, *_links(alert), _done(alert, menu=True), assign, *_lead(alert))
    return (
        claim,
        _assign(alert),
        _not_interested(alert, menu=False),
        *_sequence(alert),
        *_links(alert),
        _done(alert, menu=True),
        _alert_button(alert, "snooze", "Snooze until …", menu=True),
        *_lead(alert),
    )


def _plain_buttons(alert: Alert) -> tuple[Button, ...]:
    """Of a reply that isn't known to be interested: nobody has to claim it, but a person may."""
    if alert.claim or alert.handled:
        return buttons(alert)
    assign = _assign(alert, menu=True)
    return (_claim(alert), *_view(alert, menu=False), *_links(alert), assign, *_removal(alert))


def _claim(alert: Alert) -> Button:
    return _alert_button(alert, "claim", "Claim", tone=Tone.GOOD)


def _assign(alert: Alert, *, menu: bool = False) -> Button:
    return _alert_button(alert, ASSIGN, "Assign …", menu=menu)


def _alert_button(
    alert: Alert, verb: str, label: str, *, detail: str = "", tone: Tone = Tone.INFO, menu: bool = False
) -> Button:
    action = OnAlert(verb=verb, alert=alert.id, detail=detail)
    return Button(label=label, action=action, tone=tone, menu=menu)


def _done(alert: Alert, *, tone: Tone = Tone.INFO, menu: bool = False) -> Button:
    return _alert_button(alert, "done", "Mark done", tone=tone, menu=menu)


def take_over(alert_id: str, claimer: str) -> Button:
    """Asks first: another person has claimed it."""
    return Button(
        label="Take over",
        action=OnAlert(verb="takeover", alert=alert_id),
        confirm=Confirm(
            title="Take over this reply?",
            text=f"@{claimer} has claimed it, and will be notified.",
            yes="Take over",
        ),
    )


def _not_interested(alert: Alert, *, menu: bool = True) -> Button:
    return _alert_button(alert, "dismiss", "Not interested …", menu=menu)


def _links(alert: Alert) -> tuple[Button, ...]:
    """Leads to the lead's own page, and to the whole reply where the card folds it."""
    page = (crm_button(alert.lead_link),) if alert.lead_link else ()
    whole = (_alert_button(alert, "reply", "Show all"),) if excerpt(alert.event.reply or "")[1] else ()
    return (*whole, *page)


def crm_button(link: str) -> Button:
    return Button(label="Open in CRM", url=link)


def _sequence(alert: Alert) -> tuple[Button, ...]:
    name = alert.event.sequence
    if not name:
        return ()
    action = Resume(target=(name,)) if alert.sequence_paused else Pause(target=(name,))
    label = f"{action.verb.capitalize()} sequence"
    return (Button(label=label, action=action, workspace=alert.workspace),)


def _lead(alert: Alert) -> tuple[Button, ...]:
    return (*_view(alert, menu=True), *_removal(alert))


def _view(alert: Alert, *, menu: bool) -> tuple[Button, ...]:
    return (_alert_button(alert, "lead", "View lead", menu=menu),) if alert.event.lead.email else ()


def _removal(alert: Alert) -> tuple[Button, ...]:
    email = alert.event.lead.email
    if not email:
        return ()
    remove = Remove(who=email, status=kind_of(alert.event.kind).lead_status)
    return (Button(label="Remove lead …", action=remove, workspace=alert.workspace, menu=True),)
