"""The card of an interested reply: who, where, when, their words, and buttons that follow from how it stands. Pure."""

from __future__ import annotations

from datetime import datetime

from bot.alerts.model import Alert
from bot.alerts.wording import about, campaign_of, facts_of, footer, line_of, show_time, when
from shared.domain.card import Button, Card, Fact, Tone
from shared.text.formats import show_exact_span, show_number

QUOTED = 1_500
"""Letters of a reply that the card shows."""


def card(alert: Alert) -> Card:
    """Headline, standing, place and time, the reply, the buttons."""
    event = alert.event
    quote, cut = excerpt(event.reply or "")
    return Card(
        title=f"{about(event)} is interested",
        tone=_tone(alert),
        text=(*_status_line(alert), *_paused(alert)),
        facts=(
            *facts_of(
                ("From", event.lead.email if event.lead.name != event.lead.email else None),
                ("Campaign", campaign_of(event)),
            ),
            when("Received", alert.received_at),
            *_snoozed_until(alert),
        ),
        quote=quote,
        buttons=buttons(alert),
        footer=" · ".join(filter(None, (cut, footer(alert)))),
    )


def excerpt(reply: str) -> tuple[str, str]:
    """The beginning of a reply, cut between words, and how much is not shown."""
    text = reply.strip()
    if len(text) <= QUOTED:
        return text, ""
    shown = text[: QUOTED - 1]
    shown = shown[: shown.rfind(" ")] if " " in shown[-80:] else shown
    return f"{shown}…", f"{show_number(len(text) - len(shown), 'more letter')} not shown"


def _tone(alert: Alert) -> Tone:
    if alert.handled or alert.claim or alert.snooze:
        return Tone.INFO
    return Tone.WARN if alert.nudges else Tone.GOOD


def _status_line(alert: Alert) -> tuple[str, ...]:
    """One line that says whose move it is."""
    if alert.handled:
        return (f"✓ Handled by @{alert.handled.name} after {_time_taken(alert, alert.handled.at)}",)
    if alert.claim:
        return (f"✓ Claimed by @{alert.claim.name} after {_time_taken(alert, alert.claim.at)}",)
    if alert.snooze:
        return (f"Snoozed by @{alert.snooze.name}; it comes back by itself",)
    if alert.nudges:
        return (
            ("Still waiting: somebody was reminded", "Still waiting: it was escalated")[alert.nudges > 1],
        )
    return ()


def _time_taken(alert: Alert, at: datetime) -> str:
    return show_exact_span(at - alert.received_at)


def _paused(alert: Alert) -> tuple[str, ...]:
    return ("Sequence paused: nothing more is sent from it",) if alert.sequence_paused else ()


def _snoozed_until(alert: Alert) -> tuple[Fact, ...]:
    if alert.snooze is None or alert.claim or alert.handled:
        return ()
    return (Fact(label="Snoozed until", value=show_time(alert.snooze.at), at=alert.snooze.at),)


def buttons(alert: Alert) -> tuple[Button, ...]:
    """What can be done with an alert as it stands: a pure function of its state."""
    if alert.handled:
        return (_alert_button(alert, "reopen", "Reopen"), *_lead(alert))
    if alert.claim:
        return (_alert_button(alert, "release", "Release"), *_sequence(alert), _handled(alert), *_lead(alert))
    claim = _alert_button(alert, "claim", "Claim", tone=Tone.GOOD)
    if alert.snooze:
        return (claim, _alert_button(alert, "wake", "Wake now"), _handled(alert), *_lead(alert))
    return (claim, *_sequence(alert), _handled(alert), *_snoozes(alert), *_lead(alert))


def _alert_button(
    alert: Alert, verb: str, label: str, *, tone: Tone = Tone.INFO, menu: bool = False
) -> Button:
    return Button(label=label, command=f"{verb} {alert.id}", tone=tone, menu=menu)


def _handled(alert: Alert) -> Button:
    return _alert_button(alert, "handled", "Mark as handled", menu=True)


def _snoozes(alert: Alert) -> tuple[Button, ...]:
    hour = Button(label="Snooze for an hour", command=f"snooze {alert.id} 1h", menu=True)
    return (hour, _alert_button(alert, "snooze", "Snooze until …", menu=True))


def _sequence(alert: Alert) -> tuple[Button, ...]:
    name = alert.event.sequence
    if not name:
        return ()
    verb = "resume" if alert.sequence_paused else "pause"
    return (Button(label=f"{verb.capitalize()} sequence", command=line_of(alert, verb, name)),)


def _lead(alert: Alert) -> tuple[Button, ...]:
    email = alert.event.lead.email
    if not email:
        return ()
    return (
        Button(label="Show lead", command=line_of(alert, "lead", email), menu=True),
        Button(label="Remove lead …", command=line_of(alert, "remove", email), menu=True),
    )
