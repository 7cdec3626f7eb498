"""What each kind of event becomes in Slack: where it goes, how urgent it is, and its Card (contract, section 5).

Pure: an alert's Card follows from its event, its claim and how often it came, so that any process can draw it
at any time and a repaint is the same act as the first painting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bot.alerts import interested, paused_domain
from bot.alerts.interested import Mark
from bot.alerts.wording import about, facts_of, footer, said_at, said_day, when
from shared.api.events import Event
from shared.domain.card import Card, Tone
from shared.domain.records import Subscription

INTERESTED = "reply.interested"
PAUSED = "domain.paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An event with what has become of it."""

    id: str
    event: Event
    received_at: datetime
    seen: int = 1
    found: bool = False
    """Read from the API: its delivery never came."""
    claim: Mark | None = None
    handled: Mark | None = None
    snooze: Mark | None = None
    """By whom, and until when."""
    nudges: int = 0
    """1: somebody was reminded of it; 2: it was escalated."""
    standing: Mapping[str, Any] = field(default_factory=dict)
    """How what it is about stands, as `bot.jobs.card_refresh` last saw it."""
    recovered_at: datetime | None = None
    workspace: str = ""
    """Named only where there are several."""

    @property
    def sequence_paused(self) -> bool:
        """Whether its sequence was paused when that was last asked."""
        return self.standing.get("sequence") == "paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One entry per kind of event."""

    title: str
    """What a count of them is called."""
    card: Callable[[Alert], Card]
    at_once: bool = False
    """Posted to the alert channel without anybody having subscribed."""
    urgency: int = 0


def wants(one: Subscription, event: Event) -> bool:
    """Whether an event is what somebody subscribed to."""
    return (
        one.event in {event.kind, "*"}
        and _fits(one.sequence, event.sequence)
        and (_fits(one.inbox, event.inbox) or _fits(one.inbox, domain_of(event)))
    )


def _fits(wanted: str, given: str | None) -> bool:
    return not wanted or wanted.casefold() == (given or "").casefold()


def domain_of(event: Event) -> str | None:
    """The sending domain an event is about, as far as it tells."""
    return event.domain or (event.inbox or "").rpartition("@")[2] or None


def card(alert: Alert) -> Card:
    """What to say about an alert, as it stands."""
    return kind_of(alert.event.kind).card(alert)


def title(kind: str) -> str:
    """What alerts of a kind are called where they are counted."""
    return kind_of(kind).title


def condensed(alert: Alert) -> Card:
    """An alert in one line: what it is called, and the first thing that can be done with it."""
    whole = card(alert)
    said = [
        *whole.text[:1],
        *(fact.value for fact in whole.facts if fact.label in {"Campaign", "Back on", "Reason"}),
    ]
    quote = " ".join(whole.quote.split())
    short = quote if len(quote) <= 140 else f"{quote[:139]}…"
    text = " · ".join(filter(None, (*said, f"“{short}”" if short else "")))
    return Card(title=whole.title, tone=whole.tone, text=(text,) if text else (), buttons=whole.buttons[:1])


def kind_of(kind: str) -> Kind:
    """The table's entry; an unknown kind has one too."""
    return KINDS.get(kind, _OTHER)


def again(alert: Alert, *, at: datetime) -> Card:
    """What goes into the thread, and to the channel, when a paused domain is reported anew."""
    return Card(
        title=f"Paused again: {domain_of(alert.event) or 'a domain'}",
        tone=Tone.BAD,
        text=(f"Reported again on {said_at(at)}; the card above is of {said_at(alert.received_at)}.",),
    )


def _brief(word: str, tone: Tone) -> Callable[[Alert], Card]:
    def draw(alert: Alert) -> Card:
        event = alert.event
        return Card(
            title=f"{word}: {about(event)}",
            tone=tone,
            facts=(
                *facts_of(
                    ("From", event.lead.email if event.lead.name != event.lead.email else None),
                    ("Campaign", _place(event)),
                    ("Back on", said_day(event.return_date or "")),
                    ("Bounce", event.bounce_type),
                    ("Reason", event.reason),
                ),
                when("Received", alert.received_at),
            ),
            quote=event.reply or "",
            footer=footer(alert),
        )

    return draw


def _place(event: Event) -> str | None:
    step = None if event.step is None else f"step {event.step}"
    return " · ".join(filter(None, (event.sequence, step, event.inbox))) or None


def _other(alert: Alert) -> Card:
    return _brief(alert.event.kind, Tone.UNKNOWN)(alert)


KINDS: Mapping[str, Kind] = {
    INTERESTED: Kind(title="interested replies", card=interested.card, at_once=True, urgency=2),
    PAUSED: Kind(title="paused domains", card=paused_domain.card, at_once=True, urgency=1),
    "lead.replied": Kind(title="replies", card=_brief("Reply", Tone.INFO)),
    "reply.ooo": Kind(title="out-of-office replies", card=_brief("Out of office", Tone.INFO)),
    "lead.bounced": Kind(title="bounces", card=_brief("Bounced", Tone.WARN)),
    "lead.unsubscribed": Kind(title="opt-outs", card=_brief("Opted out", Tone.WARN)),
    "sequence.completed": Kind(title="completions", card=_brief("Completed", Tone.INFO)),
}
_OTHER = Kind(title="other events", card=_other)
